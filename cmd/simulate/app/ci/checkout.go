package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// checkout is the working tree of a commit, in a folder of its own. As a file system it takes paths of the working directory, also absolute
// ones and ones with "..", and opens the commit's file in their place. Files outside of the repository are the same in both.
type checkout struct {
	*repository
	root string // the top of the tree
	id   string // the commit
	// notes say which commit it is if that is not obvious.
	notes []string
	// remover is a process that removes the tree when alive is closed, which also happens if this process is killed.
	remover *exec.Cmd
	alive   io.Closer
}

// newCheckout makes the working tree of a commit. The error says so if an argument lies outside of the repository.
func newCheckout(c *command.Call, commit string) (*checkout, error) {
	found, err := findRepository(c.Context())
	switch {
	case exit.Interrupted(err):
		return nil, err
	case err != nil:
		return nil, exit.InvalidInput(fmt.Errorf("--base: %w; run it in a git repository", err))
	}
	id, err := found.git(c.Context(), "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	switch {
	case exit.Interrupted(err):
		return nil, err
	case err != nil:
		return nil, exit.InvalidInput(fmt.Errorf("--base: git knows no commit %q here; fetch it, or name another", commit))
	}
	for _, path := range c.Args {
		if _, inside := found.relativePath(path); !inside {
			return nil, exit.InvalidInput(fmt.Errorf("--base: %s is outside of the git repository %s, so no commit has it; name folders and files in the repository", path, found.top))
		}
	}
	id, notes, err := found.mergeBase(c.Context(), commit, id)
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp("", "simulate-gate-")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	made := &checkout{repository: found, root: root, id: id, notes: notes}
	made.removeAtEnd()
	if _, err := found.git(c.Context(), "worktree", "add", "--quiet", "--detach", "--force", root, id); err != nil {
		made.remove()
		if exit.Interrupted(err) {
			return nil, err
		}
		return nil, fmt.Errorf("--base %s: %w", commit, err)
	}
	return made, nil
}

// mergeBase returns the commit at which the working tree's branch has left the history of the commit id, and a note if it is not id. What others have
// added to main since then is no part of the change. If git finds no such commit, as in a shallow clone, mergeBase returns id.
func (r *repository) mergeBase(ctx context.Context, commit, id string) (base string, notes []string, err error) {
	base, err = r.git(ctx, "merge-base", "HEAD", id)
	switch {
	case exit.Interrupted(err):
		return "", nil, err
	case err != nil:
		return id, []string{fmt.Sprintf("Compared with %s itself: git finds no commit that this branch has in common with it. Fetch the history to compare with the commit where the branch began.", commit)}, nil
	case base == id:
		return id, nil, nil
	}
	return base, []string{fmt.Sprintf("Compared with %s, where this branch left %s.", base[:min(len(base), 10)], commit)}, nil
}

// removeScript is a shell script that waits for the end of its standard input, then removes a working tree and git's record of this one tree.
const removeScript = `cat; git worktree remove --force --force "$1"; rm -rf "$1"`

// removeAtEnd starts a process that removes the tree when this one has ended, also by a second signal or by kill -9.
func (o *checkout) removeAtEnd() {
	remover := exec.Command("sh", "-c", removeScript, "sh", o.root)
	remover.Dir, remover.Env = o.top, o.environ
	useOwnSession(remover)
	alive, err := remover.StdinPipe()
	if err == nil && remover.Start() == nil {
		o.remover, o.alive = remover, alive
	}
}

// remove removes the working tree.
func (o *checkout) remove() {
	if o.remover != nil {
		_ = o.alive.Close()
		_ = o.remover.Wait()
		return
	}
	remover := exec.Command("git", "worktree", "remove", "--force", "--force", o.root) // without a shell there is no remover
	remover.Dir, remover.Env = o.top, o.environ
	_ = remover.Run()
	_ = os.RemoveAll(o.root)
}

// Open opens the commit's file or folder at a path of the working directory.
func (o *checkout) Open(name string) (fs.File, error) {
	file, err := os.Open(o.pathInTree(name))
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return nil, &fs.PathError{Op: failed.Op, Path: name, Err: failed.Err}
	}
	return file, err
}

// pathInTree returns the path in the tree for a path of the working directory.
func (o *checkout) pathInTree(path string) string {
	inside, is := o.relativePath(path)
	if !is {
		return path
	}
	place := filepath.Join(o.root, inside)
	real, err := filepath.EvalSymlinks(place)
	if err != nil { // the commit lacks the path; but it may have the target of a new link
		if led, err := filepath.EvalSymlinks(o.absolute(path)); err == nil {
			if inside, is := relativeTo(o.top, led); is {
				return filepath.Join(o.root, inside)
			}
		}
		return place
	}
	if _, is := relativeTo(o.root, real); is {
		return place
	}
	if inside, is := relativeTo(o.top, real); is { // the path leads there through an absolute link
		return filepath.Join(o.root, inside)
	}
	return place
}

// hasAll reports whether the commit has the files and folders. A pattern counts as there.
func (o *checkout) hasAll(paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Stat(o.pathInTree(path))
		return errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(path, "*?[")
	})
}

// hasSame reports whether the files of the paths have the same content in the commit and in the working tree.
func (o *checkout) hasSame(paths []string) bool {
	for _, path := range paths {
		here, err := manifest.ListFiles(nil, path)
		there, thereErr := manifest.ListFiles(o, path)
		if err != nil || thereErr != nil || !slices.Equal(here, there) {
			return false
		}
		for _, file := range here {
			now, err := os.ReadFile(file)
			was, wasErr := fs.ReadFile(o, file)
			if err != nil || wasErr != nil || !bytes.Equal(now, was) {
				return false
			}
		}
	}
	return true
}

// hasFolder reports whether the commit has the working directory.
func (o *checkout) hasFolder() bool {
	info, err := os.Stat(o.pathInTree("."))
	return err == nil && info.IsDir()
}

// scenarios returns the scenario files that the tree has at or below a path, as paths of the working directory.
func (o *checkout) scenarios(path string) []string {
	place := o.pathInTree(path)
	files, _ := scenarioFiles([]string{place}) // the commit may have none
	for i, file := range files {
		if inside, is := relativeTo(place, file); is {
			files[i] = filepath.Join(path, inside)
		}
	}
	return files
}

// movedFiles returns where the commit has the files that git knows to be moved in the working tree, as paths of the working directory. The keys are
// the files' paths now, relative to the top of the tree.
func (o *checkout) movedFiles(ctx context.Context) (map[string]string, error) {
	moves, err := o.git(ctx, "-C", o.top, "diff", "--name-status", "--find-renames", "--diff-filter=R", "-z", o.id)
	if err != nil {
		return nil, err
	}
	old := map[string]string{}
	fields := strings.Split(moves, "\x00") // R087, the old path, the new path, and so on
	for i := 2; i < len(fields); i += 3 {
		before, err := filepath.Rel(o.folder, filepath.Join(o.top, filepath.FromSlash(fields[i-1])))
		if err != nil {
			return nil, err
		}
		old[filepath.FromSlash(fields[i])] = before
	}
	return old, nil
}

// withoutTreeName removes the name of the tree's folder from a text, since the name changes from call to call.
func (o *checkout) withoutTreeName(text string) string {
	folder := o.pathInTree(".")
	return strings.NewReplacer(folder+string(filepath.Separator), "", folder, ".", o.root+string(filepath.Separator), "").Replace(text)
}
