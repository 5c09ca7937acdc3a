package ci

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// repository is the git repository of the working directory.
type repository struct {
	top     string   // of the working tree; a real path
	folder  string   // the working directory; a real path
	own     string   // the folder that git calls GIT_DIR
	environ []string // with which git finds this repository, and the index of it that is no hook's
	outside []string // the environment without anything that says which repository it is about
}

// findRepository asks git for the repository of the working directory. In a hook the environment says which repository and which index git is
// busy with: another command of git that sees them, such as worktree add, overwrites the index that is being committed, and takes a folder
// for the top of the working tree. An environment that names a repository that the working directory does not lead to is the user's choice.
func findRepository(ctx context.Context) (*repository, error) {
	given := &repository{environ: os.Environ()}
	local, err := given.git(ctx, "rev-parse", "--local-env-vars")
	if err != nil {
		return nil, err
	}
	outside := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !strings.HasPrefix(name, "GIT_CONFIG") && slices.Contains(strings.Fields(local), name) // settings, such as safe.directory, stay
	})
	found := &repository{environ: outside, outside: outside}
	err = found.locate(ctx)
	if os.Getenv("GIT_DIR") == "" || ctx.Err() != nil {
		return found, err
	}
	given.outside = outside
	if chosen := given.locate(ctx); chosen != nil || err == nil && given.own == found.own {
		return found, err
	}
	given.environ = append(slices.Clone(outside), "GIT_DIR="+given.own, "GIT_WORK_TREE="+given.top)
	return given, nil
}

// locate asks git where the repository is.
func (r *repository) locate(ctx context.Context) error {
	var err error
	for _, asked := range []struct {
		of     *string
		option string
	}{{&r.own, "--absolute-git-dir"}, {&r.top, "--show-toplevel"}} {
		if *asked.of, err = r.git(ctx, "rev-parse", asked.option); err != nil {
			return err
		}
		if *asked.of, err = filepath.EvalSymlinks(filepath.FromSlash(*asked.of)); err != nil {
			return err
		}
	}
	if r.folder, err = os.Getwd(); err != nil {
		return err
	}
	r.folder, err = filepath.EvalSymlinks(r.folder)
	return err
}

// git runs a command of git in the working directory and returns what it prints. The user's hooks, such as that after a checkout, are not meant
// for a tree that nobody works in.
func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	program := exec.Command("git", slices.Concat([]string{"-c", "core.hooksPath=" + os.DevNull}, args)...)
	program.Env = r.environ
	printed, err := capture(ctx, program)
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(printed), "\n"), nil
}

// absolute is a path of the working directory as an absolute one.
func (r *repository) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.folder, path)
}

// within returns a path relative to the top of the working tree, and whether it is in the tree. Links in the tree stay what they are, since
// the commit may have others. Links outside of it, such as /tmp on macOS, are followed.
func (r *repository) within(path string) (inside string, is bool) {
	path = r.absolute(path)
	if inside, is := below(r.top, path); is {
		return inside, true
	}
	if inside, is := r.follow(path, func(real string) bool { return real == r.top }); is {
		return inside, true
	}
	return r.follow(path, func(real string) bool { _, is := below(r.top, real); return is })
}

// follow is within by the real path of the lowest folder above the path, or of the path itself, that leads there.
func (r *repository) follow(path string, leads func(real string) bool) (inside string, is bool) {
	for above := path; ; above = filepath.Dir(above) {
		if real, err := filepath.EvalSymlinks(above); err == nil && leads(real) {
			folder, _ := below(r.top, real)
			rest, _ := below(above, path)
			return filepath.Join(folder, rest), true
		}
		if above == filepath.Dir(above) {
			return "", false
		}
	}
}

// nested returns the folder of the repository within this one, such as a submodule, that has the path; "" if none has.
func (r *repository) nested(path string) string {
	inside, is := r.within(path)
	for folder := inside; is && folder != "."; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(r.top, folder, ".git")); err == nil {
			return folder
		}
	}
	return ""
}

// below returns a path relative to a folder above it.
func below(folder, path string) (inside string, is bool) {
	inside, err := filepath.Rel(folder, path)
	return inside, err == nil && filepath.IsLocal(inside)
}
