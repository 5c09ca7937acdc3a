// Package ship checks the deliverables besides the program: the image, the GitHub action, the workflows.
package ship

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

const repo = "../.."

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The image's last stage is distroless and does not run as root, and all files to copy exist.
func TestDockerfile(t *testing.T) {
	parsed, err := parser.Parse(bytes.NewReader(read(t, "Dockerfile")))
	if err != nil {
		t.Fatal(err)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, at []parser.Range) {
		t.Errorf("Dockerfile: %v: %s: %s", at, rule, message)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	copied := 0
	for _, stage := range stages {
		for _, command := range stage.Commands {
			files, ok := command.(*instructions.CopyCommand)
			if !ok || files.From != "" {
				continue
			}
			for _, source := range files.SourcePaths {
				copied++
				if _, err := os.Stat(filepath.Join(repo, source)); err != nil {
					t.Errorf("the Dockerfile copies %s: %v", source, err)
				}
				if !strings.Contains(string(read(t, ".dockerignore")), "!"+source+"\n") {
					t.Errorf(".dockerignore keeps %s out", source)
				}
			}
		}
	}
	if copied == 0 {
		t.Error("the Dockerfile copies nothing")
	}
	last := stages[len(stages)-1]
	if !strings.HasPrefix(last.BaseName, "gcr.io/distroless/static") {
		t.Errorf("the image is built on %s", last.BaseName)
	}
	user := ""
	for _, command := range last.Commands {
		if as, ok := command.(*instructions.UserCommand); ok {
			user = as.User
		}
	}
	if user != "nonroot:nonroot" {
		t.Errorf("the image runs as %q", user)
	}
}

// The workflows are valid, and call the project's own action with inputs that it has.
func TestWorkflows(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{Shellcheck: "", Pyflakes: ""})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := linter.LintRepository(repo)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// action has the fields of action.yml that this package reads.
type action struct {
	Inputs map[string]struct{ Description string }
	Runs   struct {
		Using string
		Steps []struct {
			ID, Name, Run, Shell, If string
			Env                      map[string]string
		}
	}
}

// Every input of the action is described and used, and its scripts are bash.
func TestAction(t *testing.T) {
	data := read(t, "action.yml")
	var a action
	if err := yaml.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Inputs) == 0 {
		t.Fatalf("the action runs by %q and has %d inputs", a.Runs.Using, len(a.Inputs))
	}
	for name, input := range a.Inputs {
		if input.Description == "" {
			t.Errorf("input %s has no description", name)
		}
		if !bytes.Contains(data, []byte("inputs."+name)) {
			t.Errorf("input %s is not used", name)
		}
	}
	var scripts []string
	for _, step := range a.Runs.Steps {
		if step.Run == "" {
			continue
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %q puts an expression into its script, where a hostile name would run; hand it over by env", step.Name)
		}
		bash := exec.Command("bash", "-n")
		bash.Stdin = strings.NewReader(step.Run)
		if out, err := bash.CombinedOutput(); err != nil || step.Shell != "bash" {
			t.Errorf("step %q, shell %q: %v: %s", step.Name, step.Shell, err, out)
		}
		if _, script, found := strings.Cut(step.Run, "$GITHUB_ACTION_PATH/"); found && strings.HasPrefix(step.Run, "bash ") {
			scripts = append(scripts, strings.TrimSuffix(strings.TrimSpace(script), `"`))
		}
	}
	shipped, err := fs.Glob(os.DirFS(repo), "action/*.sh")
	slices.Sort(scripts)
	if err != nil || len(shipped) == 0 || !slices.Equal(scripts, shipped) {
		t.Errorf("the action runs %q and ships %q: %v", scripts, shipped, err)
	}
	for _, script := range shipped {
		if out, err := exec.Command("bash", "-n", filepath.Join(repo, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
}
