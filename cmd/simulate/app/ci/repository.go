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
	top     string   // of the working tree, without symbolic links
	folder  string   // the working directory, without symbolic links
	own     string   // git's folder, as in GIT_DIR
	environ []string // the environment in which git finds this repository, with its usual index and not that of a hook
	outside []string // the environment without any variable that names a repository
}

// findRepository asks git for the repository of the working directory. In a hook, the environment names the repository and the index that
// git works on. Another git command that sees these variables, such as worktree add, overwrites the index of the commit that is being made,
// and takes any folder for the top of the working tree. So they are removed. If they name another repository than the working directory
// lies in, the user has chosen it, and they stay.
func findRepository(ctx context.Context) (*repository, error) {
	given := &repository{environ: os.Environ()}
	local, err := given.git(ctx, "rev-parse", "--local-env-vars")
	if err != nil {
		return nil, err
	}
	outside := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !strings.HasPrefix(name, "GIT_CONFIG") && slices.Contains(strings.Fields(local), name) // settings such as safe.directory stay
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

// locate asks git for the folders of the repository.
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

// git runs a git command in the working directory and returns its output. It disables the user's hooks, such as post-checkout, which are
// not meant for a tree that nobody works in.
func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	program := exec.Command("git", slices.Concat([]string{"-c", "core.hooksPath=" + os.DevNull}, args)...)
	program.Env = r.environ
	printed, err := capture(ctx, program)
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(printed), "\n"), nil
}

// absolute returns a path of the working directory as an absolute path.
func (r *repository) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.folder, path)
}

// relativePath returns a path relative to the top of the working tree, and whether the tree has it. It does not follow links inside the tree,
// since the commit may have other ones. It follows links outside of the tree, such as /tmp on macOS.
func (r *repository) relativePath(path string) (inside string, is bool) {
	path = r.absolute(path)
	if inside, is := relativeTo(r.top, path); is {
		return inside, true
	}
	if inside, is := r.relativeByLinks(path, func(real string) bool { return real == r.top }); is {
		return inside, true
	}
	return r.relativeByLinks(path, func(real string) bool { _, is := relativeTo(r.top, real); return is })
}

// relativeByLinks does the work of [repository.relativePath] for a path with links: it takes the lowest folder at or above the path whose real path satisfies leads.
func (r *repository) relativeByLinks(path string, leads func(real string) bool) (inside string, is bool) {
	for above := path; ; above = filepath.Dir(above) {
		if real, err := filepath.EvalSymlinks(above); err == nil && leads(real) {
			folder, _ := relativeTo(r.top, real)
			rest, _ := relativeTo(above, path)
			return filepath.Join(folder, rest), true
		}
		if above == filepath.Dir(above) {
			return "", false
		}
	}
}

// nestedRepository returns the folder of a repository inside this one, such as a submodule, that contains the path, or "".
func (r *repository) nestedRepository(path string) string {
	inside, is := r.relativePath(path)
	for folder := inside; is && folder != "."; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(r.top, folder, ".git")); err == nil {
			return folder
		}
	}
	return ""
}

// relativeTo returns a path relative to a folder, and whether it lies in the folder.
func relativeTo(folder, path string) (inside string, is bool) {
	inside, err := filepath.Rel(folder, path)
	return inside, err == nil && filepath.IsLocal(inside)
}
