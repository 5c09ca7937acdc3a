package ship

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// stepsFile is action.yml, as far as a runner of its steps needs it.
type stepsFile struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, ID, If, Uses, Shell, Run string
			Env, With                      map[string]string
		}
	}
}

// job is a job of a workflow with one step, which uses the action.
type job struct {
	t        *testing.T
	dir      string            // has temp for RUNNER_TEMP, bin for programs and work for the repository
	contexts map[string]string // github.event_name, inputs.lint, steps.gate.outputs.status, …
	log      string
	used     []string // the actions that steps use
	failed   string   // the step that failed
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// fill puts in what expressions stand for. An unknown context is empty, as on GitHub.
func (j *job) fill(text string) string {
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		return j.contexts[expression.FindStringSubmatch(found)[1]]
	})
}

// holds evaluates a condition of comparisons that are joined by &&.
func (j *job) holds(condition string) bool {
	for _, term := range strings.Split(condition, "&&") {
		if term = strings.TrimSpace(term); term == "" {
			continue
		}
		equal := true
		context, value, found := strings.Cut(term, " == ")
		if !found {
			equal = false
			if context, value, found = strings.Cut(term, " != "); !found {
				j.t.Fatalf("the test does not know the condition %q", term)
			}
		}
		if (j.contexts[context] == strings.Trim(value, "'")) != equal {
			return false
		}
	}
	return true
}

// run runs the steps of action.yml in order, as a runner does: each with its shell, its environment, and files for its outputs. Steps that use
// other actions are only noted.
func (j *job) run(inputs map[string]string) {
	j.t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, "action.yml"))
	if err != nil {
		j.t.Fatal(err)
	}
	var a stepsFile
	if err := yaml.Unmarshal(data, &a); err != nil {
		j.t.Fatal(err)
	}
	path, err := filepath.Abs(repo)
	if err != nil {
		j.t.Fatal(err)
	}
	j.contexts["runner.temp"], j.contexts["runner.os"], j.contexts["runner.arch"] = filepath.Join(j.dir, "temp"), "Linux", "X64"
	j.contexts["github.action_path"], j.contexts["github.token"] = path, "none"
	if _, given := j.contexts["github.action_ref"]; !given {
		j.contexts["github.action_ref"] = "v0.1.0"
	}
	for name, input := range a.Inputs {
		j.contexts["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		if _, known := a.Inputs[name]; !known {
			j.t.Fatalf("action.yml has no input %q", name)
		}
		j.contexts["inputs."+name] = value
	}
	for _, step := range a.Runs.Steps {
		if !j.holds(step.If) {
			continue
		}
		if step.Uses != "" {
			j.used = append(j.used, step.Uses)
			for _, value := range step.With {
				if file := j.fill(value); strings.HasSuffix(file, ".sarif") {
					if _, err := os.Stat(file); err != nil {
						j.t.Errorf("%s: %s", step.Uses, err)
					}
				}
			}
			continue
		}
		if step.Shell != "bash" {
			j.t.Fatalf("%s: the test does not know the shell %q", step.Name, step.Shell)
		}
		output := filepath.Join(j.dir, "output")
		write(j.t, output, "")
		write(j.t, filepath.Join(j.dir, "step.sh"), j.fill(step.Run))
		env := []string{"GITHUB_ACTIONS=true", "GITHUB_OUTPUT=" + output, "GITHUB_STEP_SUMMARY=" + filepath.Join(j.dir, "summary"), "GITHUB_REPOSITORY=a/b",
			"GITHUB_ACTION_PATH=" + path, "RUNNER_TEMP=" + j.contexts["runner.temp"], "RUNNER_OS=Linux", "RUNNER_ARCH=X64",
			"PATH=" + filepath.Join(j.dir, "bin") + ":" + os.Getenv("PATH")}
		for name, value := range step.Env {
			env = append(env, name+"="+j.fill(value))
		}
		log, ok := shell(j.t, filepath.Join(j.dir, "work"), "bash --noprofile --norc -eo pipefail "+filepath.Join(j.dir, "step.sh"), env...)
		j.log += log + "\n"
		for line := range strings.Lines(succeed(j.t, j.dir, "cat output")) {
			if name, value, is := strings.Cut(strings.TrimSpace(line), "="); is {
				j.contexts["steps."+step.ID+".outputs."+name] = value
			}
		}
		if !ok { // the steps after it are skipped
			j.failed = step.Name
			return
		}
	}
}

const asSomebody = "git -c user.name=a -c user.email=a@example.com "

// newJob is a clone of a repository with a commit that has these files of this one, and its id.
func newJob(t *testing.T, files string) (*job, string) {
	t.Helper()
	dir := t.TempDir()
	succeed(t, dir, "git init -q --bare origin && git -C origin config uploadpack.allowAnySHA1InWant true && git clone -q origin work 2>/dev/null && mkdir -p temp bin work/scenarios")
	succeed(t, repo, "cp -r "+files+" "+dir+"/work/scenarios")
	base := succeed(t, dir+"/work", asSomebody+"add -A && "+asSomebody+"commit -qm base && git push -q origin HEAD && git rev-parse HEAD")
	write(t, filepath.Join(dir, "bin", "gh"), `#!/usr/bin/env bash
if [ -n "$READS" ]; then exit 1; fi
case "$*" in *--paginate*) ;; *) echo "$*" >> "$RUNNER_TEMP/requests" ;; esac
`)
	return &job{t: t, dir: dir, contexts: map[string]string{}}, base
}

// pullRequest is the event of a pull request against the commit.
func (j *job) pullRequest(base string) *job {
	j.contexts["github.event_name"], j.contexts["github.event.pull_request.base.sha"], j.contexts["github.event.pull_request.number"] = "pull_request", base, "7"
	return j
}

// program is simulate, built once as the action builds it.
func program(t *testing.T, j *job) {
	t.Helper()
	if built == "" {
		dir, err := os.MkdirTemp("", "ship")
		if err != nil {
			t.Fatal(err)
		}
		succeed(t, repo, "go build -ldflags '-s -w' -o "+dir+"/ ./cmd/simulate")
		built = dir
		if info, err := os.Stat(filepath.Join(dir, "simulate")); err != nil {
			t.Fatal(err)
		} else if info.Size() > 96<<20 {
			t.Errorf("the program has more than 96 MiB (%d bytes): does it import plugin, or run a template? The linker then keeps every method of every type", info.Size())
		}
	}
	succeed(t, j.dir, "mkdir -p temp/faultline-bin && cp "+built+"/simulate temp/faultline-bin/")
	j.contexts["steps.cache.outputs.cache-hit"] = "true"
}

var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// report is the first line of the report, and the whole of it.
func (j *job) report() (first, all string) {
	all = succeed(j.t, j.dir, "cat temp/faultline/report.md")
	first, _, _ = strings.Cut(all, "\n")
	if summary := succeed(j.t, j.dir, "cat summary"); summary != all {
		j.t.Errorf("the summary of the job is not the report:\n%s", summary)
	}
	if files, found := shell(j.t, j.dir, "grep -rl "+j.dir+" temp/faultline"); found || strings.Contains(files, j.dir) {
		j.t.Errorf("files have the path of a temporary folder: %s", files)
	}
	if strings.Contains(all+j.log, j.dir) {
		j.t.Errorf("a text has the path of a temporary folder:\n%s\n%s", j.log, all)
	}
	return first, all
}

func mustContain(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not have %q:\n%s", what, want, text)
		}
	}
}

// A pull request that changes nothing passes: the comment is written, and findings are uploaded if that is asked for. The program is built, unless
// the cache has it.
func TestActionPasses(t *testing.T) {
	j, base := newJob(t, "scenarios/ci scenarios/zone-failure")
	write(t, filepath.Join(j.dir, "bin", "go"), "#!/usr/bin/env bash\necho \"go $1 ${*: -1}\"\n")
	program(t, j)
	j.contexts["steps.cache.outputs.cache-hit"] = ""
	j.pullRequest(base).run(map[string]string{"scenarios": "scenarios", "sarif": "true", "version": "source"})
	first, all := j.report()
	if j.failed != "" || first != "✅ every expectation is met, and nothing is worse than in the base" {
		t.Errorf("step %q failed: %s\n%s", j.failed, all, j.log)
	}
	mustContain(t, "the log", j.log, "go build ./cmd/simulate", "::stop-commands::")
	mustContain(t, "the steps", strings.Join(j.used, " "), "actions/cache@", "actions/setup-go@", "github/codeql-action/upload-sarif@")
	mustContain(t, "gh", succeed(t, j.dir, "cat temp/requests"), "--method POST repos/a/b/issues/7/comments")
	mustContain(t, "the comment", succeed(t, j.dir, "head -1 temp/faultline/comment.md"), first+" <!-- faultline -->")
}

// The program is the release by whose tag the action is used. It is built only if that is asked for.
func TestActionChoosesProgram(t *testing.T) {
	for name, test := range map[string]struct{ ref, version, want, key string }{
		"the action's tag": {"v1.2.3", "", "v1.2.3", "v1.2.3"},
		"another release":  {"v1.2.3", "v1.2.2", "v1.2.2", "v1.2.2"},
		"a branch":         {"main", "", "", ""},
		"a folder":         {"", "", "", ""},
		"source":           {"main", "source", "source", ""},
	} {
		t.Run(name, func(t *testing.T) {
			j, base := newJob(t, "scenarios/zone-failure")
			write(t, filepath.Join(j.dir, "bin", "curl"), "#!/usr/bin/env bash\nexit 1\n")
			write(t, filepath.Join(j.dir, "bin", "go"), "#!/usr/bin/env bash\nexit 1\n")
			j.contexts["github.action_ref"] = test.ref
			j.pullRequest(base).run(map[string]string{"version": test.version})
			if got := j.contexts["steps.program.outputs.version"]; got != test.want || test.key != "" && j.contexts["steps.program.outputs.key"] != test.key {
				t.Errorf("version %q, key %q", got, j.contexts["steps.program.outputs.key"])
			}
			failed := "Install simulate"
			if test.want == "" {
				failed = "Choose the program"
				mustContain(t, "the log", j.log, "version: source to build it")
			}
			if builds := strings.Contains(strings.Join(j.used, " "), "actions/setup-go@"); j.failed != failed || builds != (test.want == "source") {
				t.Errorf("step %q fails, and steps use %q", j.failed, j.used)
			}
		})
	}
}

// A pull request that drops a rule fails in its last step, after the comment and the annotations. simulate gate says the same, byte by byte.
func TestActionFails(t *testing.T) {
	j, base := newJob(t, "scenarios/ci scenarios/zone-failure")
	program(t, j)
	succeed(t, j.dir+"/work", "cp scenarios/ci/pull-request/web.yaml scenarios/ci/rendered/web.yaml && git mv scenarios/zone-failure scenarios/zone")
	j.pullRequest(base).run(map[string]string{"scenarios": "scenarios"})
	first, all := j.report()
	if j.failed != "Verdict" || j.contexts["steps.gate.outputs.status"] != "3" ||
		first != "❌ scenarios/ci: after deploy want the failure of any zone takes at most 34% of deployment/web, got 66.7%, 2 of 3 of deployment/web, by zone a; web: a zone takes 2 of 3 (1 if spread evenly)" {
		t.Errorf("step %q failed, the first line is %s\n%s", j.failed, first, j.log)
	}
	mustContain(t, "the report", all, "takes at most 34% of deployment/web", "### `scenarios/ci`\n\n❌ scenarios/ci: after deploy want ",
		"deployment/web drops spread over topology.kubernetes.io/zone", "### `scenarios/zone`\n\nMoved: the base has it as `scenarios/zone-failure`.\n")
	mustContain(t, "the log", j.log, "\n::error file=scenarios/ci/scenario.yaml,line=23,title=Faultline%3A expectation-not-met::",
		"\n::warning file=scenarios/ci/rendered/web.yaml,line=1,title=Faultline%3A rule-removed::")
	for _, file := range []string{"junit.xml", "findings.sarif", "gl-code-quality-report.json"} {
		if _, err := os.Stat(filepath.Join(j.dir, "temp/faultline", file)); err != nil {
			t.Error(err)
		}
	}
	if local, ok := shell(t, j.dir+"/work", "../temp/faultline-bin/simulate gate scenarios --base "+base+" 2>/dev/null"); ok || local != all {
		t.Errorf("simulate gate prints\n%s", local)
	}
	if strings.Contains(first, "✅") || len(j.used) != 1 {
		t.Errorf("the first line of what fails has a tick, or steps used %q:\n%s", j.used, all)
	}
}

// What a command renders is compared without a scenario: a rule that is gone is a warning, and fails if that is asked for. Another command that
// cannot run fails.
func TestActionRenders(t *testing.T) {
	j, base := newJob(t, "scenarios/ci/rendered")
	program(t, j)
	write(t, j.dir+"/work/render.sh", "sed \"s/replicas: 3/replicas: $1/\" scenarios/rendered/web.yaml\n")
	succeed(t, j.dir+"/work", asSomebody+"add -A && "+asSomebody+"commit -qm render && git push -q origin HEAD")
	base = succeed(t, j.dir+"/work", "git rev-parse HEAD")
	succeed(t, repo, "cp scenarios/ci/pull-request/web.yaml "+j.dir+"/work/scenarios/rendered/web.yaml")
	inputs := map[string]string{"render": "sh render.sh 3\n\nsh render.sh 6\n"}
	j.pullRequest(base).run(inputs)
	first, all := j.report()
	if j.failed != "" || !strings.HasPrefix(first, "⚠️ web: drops spread over topology.kubernetes.io/zone") {
		t.Errorf("step %q failed, the first line is %s\n%s", j.failed, first, j.log)
	}
	mustContain(t, "the report", all, "### `sh render.sh 3`\n\n⚠️ web: drops spread over topology.kubernetes.io/zone")

	succeed(t, j.dir, "rm -r summary")
	inputs["fail-on"] = "rules-removed"
	j.run(inputs)
	if first, _ := j.report(); j.failed != "Verdict" || !strings.HasPrefix(first, "❌ web: drops spread over topology.kubernetes.io/zone") {
		t.Errorf("step %q failed, the first line is %s\n%s", j.failed, first, j.log)
	}

	succeed(t, j.dir, "rm -r summary")
	j.run(map[string]string{"render": "echo is missing >&2; exit 7"})
	if first, _ := j.report(); j.failed != "Verdict" || j.contexts["steps.gate.outputs.status"] != "2" || !strings.HasPrefix(first, "❌ `echo is missing >&2; exit 7`: cannot be rendered: exit status 7: is missing") {
		t.Errorf("step %q failed, the first line is %s\n%s", j.failed, first, j.log)
	}
	mustContain(t, "the log", j.log, "exit status 7: is missing")
}

// The token of a pull request from a fork may only read: the summary has the report, and the check passes.
func TestActionOfFork(t *testing.T) {
	t.Setenv("READS", "only")
	j, base := newJob(t, "scenarios/ci")
	program(t, j)
	j.pullRequest(base).run(map[string]string{"scenarios": "scenarios"})
	if first, _ := j.report(); j.failed != "" || !strings.HasPrefix(first, "✅ ") {
		t.Errorf("step %q failed, the first line is %s\n%s", j.failed, first, j.log)
	}
	mustContain(t, "the log", j.log, "::notice::The comment could not be written")
}

// The first commit has no base: nothing is compared, and lint only annotates.
func TestActionOfFirstCommit(t *testing.T) {
	j, _ := newJob(t, "scenarios/ci scenarios/rollout-deadlock")
	program(t, j)
	j.contexts["github.event_name"] = "push"
	j.run(map[string]string{"scenarios": "scenarios/ci"})
	first, all := j.report()
	if j.failed != "" || first != "✅ every expectation is met" || all != first {
		t.Errorf("step %q failed: %s\n%s", j.failed, all, j.log)
	}
	if requests, ok := shell(t, j.dir, "cat temp/requests"); ok {
		t.Errorf("a push has no comment, and gh is asked %q", requests)
	}
}

// What a pull request names starts no workflow command, ends no block of code and is no Markdown: the scenarios' text, and the names of their
// folders.
func TestActionHostile(t *testing.T) {
	j, base := newJob(t, "scenarios/ci")
	program(t, j)
	folders := []string{"line\n::error::forged", "@mention [x](example.com) <!-- faultline -->", "``` x`"}
	for _, folder := range folders {
		write(t, filepath.Join(j.dir, "work", "scenarios", folder, "scenario.yaml"), "apiVersion: faultline/v1alpha1\nkind: Scenario\nmetadata:\n  name: \"n\\n::error::forged by a name\\n````\\n# heading\"\nsteps: [{name: \"::error::forged by a step\", scale: {target: deployment/none, replicas: 1}}]\n")
	}
	j.pullRequest(base).run(map[string]string{"scenarios": "scenarios"})
	token := ""
	for line := range strings.Lines(j.log) {
		if line = strings.TrimSpace(line); token == "" && strings.HasPrefix(line, "::stop-commands::") {
			token = "::" + strings.TrimPrefix(line, "::stop-commands::") + "::"
		} else if line == token {
			token = ""
		} else if token == "" && strings.HasPrefix(line, "::") && strings.Contains(line, "forged") && !strings.HasPrefix(line, "::error file=") {
			t.Errorf("the runner takes the line %q for a command", line)
		} else if len(token) > 0 && len(token) < len("::")+32 {
			t.Errorf("the token %q can be guessed", token)
		}
	}
	if token != "" || j.failed != "Verdict" {
		t.Errorf("commands stay off after the gate, or step %q failed:\n%s", j.failed, j.log)
	}
	_, all := j.report()
	mustContain(t, "the report", all, "### `scenarios/@mention [x](example.com) <!-- faultline -->`\n", "### <code>scenarios/&#96;&#96;&#96; x&#96;</code>\n")
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "::") || strings.HasPrefix(line, "# ") {
			t.Errorf("the report has the line %q", line)
		}
	}
}
