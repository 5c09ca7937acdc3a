// Package ship checks what the project ships besides its program: the image, the GitHub action, the workflows.
package ship

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// The image's last stage is distroless, runs as nobody in particular, and everything that is copied is there.
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

// action is what this package reads of action.yml.
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

// The action's gate is green on the base branch, and red on a pull request that drops a rule, with a comment that says why.
func TestActionOnAPullRequest(t *testing.T) {
	var a action
	if err := yaml.Unmarshal(read(t, "action.yml"), &a); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, step := range a.Runs.Steps {
		if step.ID == "gate" {
			script = step.Run
		}
	}
	dir := t.TempDir()
	work, temp := filepath.Join(dir, "work"), filepath.Join(dir, "temp")
	run := func(in, command string, env ...string) string {
		t.Helper()
		bash := exec.Command("bash", "-eo", "pipefail", "-c", command)
		bash.Dir, bash.Env = in, append(os.Environ(), env...)
		out, err := bash.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	program := filepath.Join(temp, "simulate")
	run(repo, "go build -ldflags '-s -w' -o "+program+" ./cmd/simulate")
	if info, err := os.Stat(program); err != nil {
		t.Fatal(err)
	} else if info.Size() > 80<<20 {
		t.Errorf("the program has more than 80 MiB (%d bytes): does it import plugin, or run a template? The linker then keeps every method of every type", info.Size())
	}
	git := "git -c user.name=a -c user.email=a@example.com "
	run(dir, "git init -q --bare origin && git -C origin config uploadpack.allowAnySHA1InWant true && git clone -q origin work 2>/dev/null")
	run(repo, "cp -r scenarios "+work)
	base := run(work, git+"add -A && "+git+"commit -qm base && git push -q origin HEAD && git rev-parse HEAD")
	gate := func(base string) (status, comment string) {
		t.Helper()
		output := filepath.Join(dir, "output")
		if err := os.WriteFile(output, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		run(dir, "rm -rf temp/faultline temp/base; git -C work worktree prune")
		run(work, script, "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"),
			"SCENARIOS=scenarios/ci", "FAIL_ON=pending,radius,stranded", "BASE="+base)
		said, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		_, status, _ = strings.Cut(string(said), "status=")
		report, err := os.ReadFile(filepath.Join(temp, "faultline", "report.md"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(status), string(report)
	}
	if status, comment := gate(base); status != "0" || !strings.Contains(comment, "Every expectation is met") {
		t.Errorf("on the base branch the status is %q:\n%s", status, comment)
	}
	run(work, "cp scenarios/ci/pull-request/web.yaml scenarios/ci/rendered/web.yaml") // the pull request
	status, comment := gate(base)
	if status != "3" {
		t.Errorf("on the pull request the status is %q", status)
	}
	for _, want := range []string{"An expectation is not met", "takes at most 34% of deployment/web", "Radius of zone 50% → 67% in deploy", "2 of 3 of deployment/web in a"} {
		if !strings.Contains(comment, want) {
			t.Errorf("the comment does not say %q:\n%s", want, comment)
		}
	}
	for _, file := range []string{"junit.xml", "sarif/scenarios-ci.sarif"} {
		if _, err := os.Stat(filepath.Join(temp, "faultline", file)); err != nil {
			t.Error(err)
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
	}
}
