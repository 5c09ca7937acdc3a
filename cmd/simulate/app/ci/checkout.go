package ci

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

// checkout is the working tree of a commit in a folder of its own.
type checkout struct {
	root   string // the top of the tree; "" for none
	prefix string // the working directory within it
}

// checkOut makes the working tree of a commit.
func checkOut(c *command.Call, commit string) (checkout, error) {
	prefix, err := git(c, "rev-parse", "--show-prefix")
	if err != nil {
		return checkout{}, exit.Input(fmt.Errorf("--base: %w; run it in a git repository", err))
	}
	if _, err := git(c, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}"); err != nil {
		return checkout{}, exit.Input(fmt.Errorf("--base: git knows no commit %q here; fetch it, or name another", commit))
	}
	root, err := os.MkdirTemp("", "simulate-gate-")
	if err != nil {
		return checkout{}, err
	}
	of := checkout{root: root, prefix: prefix}
	if _, err := git(c, "worktree", "add", "--quiet", "--detach", "--force", root, commit); err != nil {
		of.remove()
		return checkout{}, fmt.Errorf("--base %s: %w", commit, err)
	}
	return of, nil
}

func (o checkout) folder() string { return filepath.Join(o.root, filepath.FromSlash(o.prefix)) }

func (o checkout) files() fs.FS { return os.DirFS(o.folder()) }

// remove removes the working tree. Git forgets it with the next command that prunes.
func (o checkout) remove() {
	_ = os.RemoveAll(o.root)
	_ = exec.Command("git", "worktree", "prune").Run()
}

// scenarios are the scenario files below the folders, as scenarioFiles finds them in the working directory.
func (o checkout) scenarios(args []string) []string {
	if o.root == "" {
		return nil
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	var found []string
	for _, arg := range args {
		files, _ := scenarioFiles([]string{filepath.Join(o.folder(), arg)}) // the commit may have none
		for _, file := range files {
			if path, err := filepath.Rel(o.folder(), file); err == nil && filepath.IsLocal(path) {
				found = append(found, path)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// git runs a command of git in the working directory and returns what it prints.
func git(c *command.Call, args ...string) (string, error) {
	run := exec.CommandContext(c.Context(), "git", args...)
	var problems bytes.Buffer
	run.Stderr = &problems
	out, err := run.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
