package ci

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/basic"
	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	asklint "github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/gate"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/format/findings"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/lint"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// gateRun is a run of simulate gate.
type gateRun struct {
	tests
	command.Unwanted
	base, lint, folder string
	renders, cluster   []string
	plugins            command.Streams

	found   findings.Findings
	comment gate.Comment
	// errors are the problems that keep a subject from being judged.
	errors []error
}

func newGate(s command.Streams) *cobra.Command {
	g, in := &gateRun{tests: tests{opts: s.LoaderOptions()}, plugins: s}, &input.Flags{Federated: true}
	cmd := &cobra.Command{
		Use:   "gate [DIR|FILE...]",
		Short: "Test scenarios and manifests, compare them with a commit, and write a comment on the change",
		Long: `Run every scenario below the folders as "simulate test" does. With --base, also run what the commit has, and compare: what failures
take, what workloads declare, and what lint finds. Of a branch, the commit where it began is compared. The change is also applied to the
cluster that runs the base: the API server may refuse it, and a rollout may never end. The report is Markdown, for a comment on the
change: its first line has the verdict, the workloads and the reasons.

With --render, a shell command runs in the folder of this and of the other commit, such as helm template or kubectl kustomize. The
manifests that it prints are placed on the nodes of --cluster, and compared alike. A command that prints nothing has written files that
scenarios name.

It fails, with exit code 3, if an expectation is not met, if something that --fail-on names got worse, if the API server refuses the
change, or if lint finds something new of the severity --lint. What else got worse is a warning, and so is a base that cannot be run or
rendered: then what there is now is judged as if it were new. Without --base there is nothing to compare, and lint does not fail.`,
		Example: `  simulate gate scenarios --base main
  simulate gate --base HEAD
  simulate gate scenarios --base origin/main --reports out
  simulate gate --base main --cluster nodes.yaml --render 'helm template shop ./chart -f prod.yaml'
  simulate gate --base main --render 'kubectl kustomize overlays/eu' --render 'kubectl kustomize overlays/us'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(g.Unwanted.Check(cmd, blast.Kind), checkSeverity(cmd, "--lint", g.lint), output.CheckFiles(cmd)); err != nil {
				return err
			}
			switch {
			case g.base == "" && cmd.Flags().Changed("base"):
				return exit.Usage(cmd, "--base is empty; name a commit, such as main, or leave --base out to compare with nothing")
			case g.base == "" && cmd.Flags().Changed("fail-on"):
				return exit.Usage(cmd, "--fail-on has no effect without --base; give both")
			}
			return g.writeComment(command.NewCall(cmd, s, in, args))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&g.base, "base", "", "compare with this `COMMIT`, such as main or HEAD")
	flags.StringArrayVar(&g.renders, "render", nil, "also compare the manifests that this shell `COMMAND` prints (repeatable)")
	flags.StringArrayVar(&g.cluster, "cluster", nil, "read nodes, and what else is there at the start of --render, from this `FILE`, folder or glob (repeatable)\n(default nine nodes in three zones)")
	g.Unwanted.Register(cmd, diff.FailOns(blast.Kind))
	g.FailOn = []string{expect.FailOnPending, expect.FailOnRadius, expect.FailOnStranded}
	flags.Lookup("fail-on").DefValue = strings.Join(g.FailOn, ",")
	flags.StringVar(&g.lint, "lint", string(asklint.Error), "fail on new findings of lint of this `SEVERITY` or higher: "+strings.Join(severityNames(), ", "))
	output.CompleteValues(cmd, "lint", severityNames())
	output.FolderVar(cmd, &g.folder, "reports", "also write report.md, junit.xml, findings.sarif, annotations.txt (GitHub's workflow commands) and\ngl-code-quality-report.json (GitLab's) to this `FOLDER`",
		"report.md", "junit.xml", "findings.sarif", "annotations.txt", "gl-code-quality-report.json")
	in.RegisterHooks(cmd)
	input.RegisterStrict(cmd, &g.opts.Strict)
	input.RegisterScheduler(cmd, &g.opts)
	return cmd
}

// subject is a scenario, or the output of a command, that a change can make worse.
type subject struct {
	name string
	// head and base load the subject from this and from the other side; nil if the side does not have it.
	head, base func() (*scenario.Scenario, error)
	outcome    *testedScenario // nil for the output of a command
	text       []byte          // the output of a command
	unchanged  bool            // the command prints the same on both sides
	nested     string          // the folder of a git repository within this one that has the subject, if any
	moved      string          // the path of the scenario in the base, if it is another one
}

// writeComment judges the change and writes the comment on it, and the files of --reports.
func (g *gateRun) writeComment(c *command.Call) error {
	defer c.Bar.Done()
	var err error
	if g.opts.Flags, err = c.Input.Overlays(c.Command); err != nil {
		return err
	}
	var base *checkout
	if g.base != "" {
		if base, err = newCheckout(c, g.base); err != nil {
			return err
		}
		defer base.remove()
		g.comment.Compared = true
		g.comment.Notes = base.notes
	}
	subjects, err := g.renderSubjects(c, base)
	if err != nil {
		return err
	}
	all, err := g.testScenarios(c, len(g.renders) > 0)
	if err != nil {
		return err
	}
	scenarios, err := g.pairScenarios(c, all, base)
	if err != nil {
		return err
	}
	subjects = append(scenarios, subjects...)
	for _, one := range subjects {
		section, err := g.judgeSubject(c, one)
		if err != nil {
			return err
		}
		g.comment.Sections = append(g.comment.Sections, *section)
	}
	c.Bar.Done()
	text := g.comment.Markdown()
	if err := g.writeFiles(text, all); err != nil {
		return err
	}
	if _, err := io.WriteString(c.Streams.Out, text); err != nil {
		return err
	}
	switch worst := worstError(all); {
	case worst != nil && !errors.Is(worst, exit.ErrUnmet):
		return worst
	case len(g.errors) > 0:
		return exit.InvalidInput(errors.Join(g.errors...))
	case slices.ContainsFunc(g.comment.Statements(), func(s gate.Statement) bool { return s.Fails }):
		return exit.ErrUnmet
	}
	return nil
}

// testScenarios tests the scenarios below the folders. It accepts that there is none if others says that there is something else to compare.
func (g *gateRun) testScenarios(c *command.Call, others bool) ([]*testedScenario, error) {
	all, err := exit.CallInterruptibly(c.Context(), func() ([]*testedScenario, error) { return g.loadScenarios(c.Args, regexp.MustCompile("")) })
	switch {
	case exit.Interrupted(err):
		return nil, err
	case err != nil && others && len(c.Args) == 0:
		return nil, nil
	case err != nil:
		return nil, exit.InvalidInput(err)
	}
	if err := g.runScenarios(c.Command, c.Streams, all); err != nil {
		return nil, err
	}
	for _, one := range all {
		n, _ := one.Counts()
		g.comment.Expectations += n
	}
	if worstError(all) != nil {
		g.comment.Tests = strings.Split(strings.TrimSuffix(g.formatResults(all), "\n"), "\n")
	}
	return all, nil
}

// pairScenarios returns the scenarios of both sides, sorted by path. A nil base has none. A scenario that git knows to be moved is compared with
// the one where it was.
func (g *gateRun) pairScenarios(c *command.Call, all []*testedScenario, base *checkout) ([]*subject, error) {
	subjects := map[string]*subject{}
	for _, one := range all {
		subjects[one.path] = &subject{name: one.path, outcome: one, head: func() (*scenario.Scenario, error) { return one.Scenario, one.Err }}
	}
	if base == nil {
		return sortSubjects(subjects), nil
	}
	load := func(file string) func() (*scenario.Scenario, error) {
		return func() (*scenario.Scenario, error) { return loader.LoadContext(c.Context(), base, file, g.opts) }
	}
	folders := c.Args
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		for _, file := range base.scenarios(folder) {
			path := pathOfScenario(file)
			if subjects[path] == nil {
				subjects[path] = &subject{name: path}
			}
			subjects[path].base = load(file)
		}
	}
	moved, err := base.movedFiles(c.Context())
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		added := subjects[one.path]
		if added.nested = base.nestedRepository(one.path); added.base != nil {
			continue
		}
		inside, _ := base.relativePath(one.file)
		old := moved[inside]
		if from := subjects[pathOfScenario(old)]; old != "" && (from == nil || from.head == nil) {
			added.base, added.moved = load(old), pathOfScenario(old)
			delete(subjects, added.moved)
		}
	}
	return sortSubjects(subjects), nil
}

func sortSubjects(subjects map[string]*subject) []*subject {
	return slices.SortedFunc(maps.Values(subjects), func(a, b *subject) int { return cmp.Compare(a.name, b.name) })
}

// renderSubjects runs the commands on both sides, the sides at the same time. It runs all of them before anything is read, since they may
// write files. A command that prints no object is no subject, unless the base has one.
func (g *gateRun) renderSubjects(c *command.Call, base *checkout) ([]*subject, error) {
	heads, bases := make([]rendered, len(g.renders)), make([]rendered, len(g.renders))
	sides := []func(){func() {
		for i, command := range g.renders {
			heads[i] = newRendered(renderHead(c, base, command))
		}
	}}
	if base != nil && base.hasFolder() {
		sides = append(sides, func() {
			for i, command := range g.renders {
				bases[i] = newRendered(renderBase(c, base, command))
			}
		})
	}
	err := parallel.Each(c.Context(), len(sides), parallel.Options{}, func(_ context.Context, _, i int) error {
		sides[i]()
		return nil
	})
	if err == nil && c.Context().Err() != nil {
		err = context.Cause(c.Context())
	}
	if err != nil {
		return nil, err
	}
	var clusterChanged bool
	if base != nil && len(g.renders) > 0 { // without these files in the base, both sides read them in the working tree
		clusterChanged = base.hasAll(g.cluster) && !base.hasSame(g.cluster)
	}
	var subjects []*subject
	for i, command := range g.renders {
		head, before := heads[i], bases[i]
		for _, side := range []rendered{head, before} {
			if exit.Interrupted(side.err) {
				return nil, side.err
			}
		}
		if head.err == nil && before.err == nil && base != nil && !bytes.Equal(head.text, before.text) {
			if head.text, err = g.withoutRandom(c, base, command, head.text, before.text); err != nil {
				return nil, err
			}
		}
		one := &subject{name: command, text: head.text, unchanged: base != nil && !clusterChanged && head.err == nil && before.err == nil && bytes.Equal(head.text, before.text)}
		switch {
		case head.err != nil:
			one.head = func() (*scenario.Scenario, error) { return nil, head.err }
		case head.isEmpty() && (before.err != nil || before.isEmpty()):
			continue
		case head.isEmpty():
			one.head = func() (*scenario.Scenario, error) { return nil, &check.NoWorkloadError{File: manifest.Stdin} }
		default:
			one.head = func() (*scenario.Scenario, error) { return g.loadRendered(c, head.text, nil) }
		}
		if !before.isEmpty() {
			one.base = func() (*scenario.Scenario, error) {
				if before.err != nil {
					return nil, before.err
				}
				return g.loadRendered(c, before.text, base)
			}
		}
		subjects = append(subjects, one)
	}
	return subjects, nil
}

// loadRendered places what a command has printed on the nodes of --cluster, as base has them; a nil base is the working tree. A file that only the
// working tree has is read there.
func (g *gateRun) loadRendered(c *command.Call, manifests []byte, base *checkout) (*scenario.Scenario, error) {
	in := *c.Input
	in.Cluster, in.Files, in.Options = g.cluster, []string{"-"}, g.opts
	if base != nil && base.hasAll(g.cluster) {
		in.Options.FS = base
	}
	in.AssumeNodes()
	return in.Load(c.Command, bytes.NewReader(manifests), g.plugins.Plugins, c.Bar, nil)
}

// judgeSubject runs both sides of a subject and judges the change.
func (g *gateRun) judgeSubject(c *command.Call, one *subject) (*gate.Section, error) {
	section := &gate.Section{Name: one.name, Unchanged: one.unchanged}
	switch {
	case one.unchanged:
		return section, nil
	case one.head == nil:
		section.Note = "Removed: the base has this scenario."
		return section, nil
	}
	head, err := g.runSide(c, one.head, one.outcome)
	switch {
	case exit.Interrupted(err):
		return nil, err
	case findNoWorkload(err) != nil:
		section.Note = "It has no workload, so there is nothing to judge."
		if custom := findNoWorkload(err).Custom; len(custom) > 0 {
			section.Note = "It has no workload that is known, only " + words.And(custom) + ", so there is nothing to judge."
		}
		if one.base != nil {
			if base, err := one.base(); err == nil {
				section.Judgement = gate.JudgeEmptied(one.name, base)
			}
		}
		return section, nil
	case err != nil:
		var reason string
		reason, section.Lines = explainUnusable(err)
		section.Judgement = &gate.Judgement{Statements: []gate.Statement{{About: one.name, Text: reason, Fails: true}}}
		if one.outcome == nil { // of a scenario the test reports the error
			g.errors = append(g.errors, fmt.Errorf("--render %s: %w", one.name, err))
		}
		return section, nil
	}
	opts := gate.Options{FailOn: g.FailOn, LintFail: g.lint, Version: c.ToolVersion}
	if g.base == "" {
		section.Judgement = gate.JudgeAlone(head, opts)
		g.addFindings(one, section)
		return section, nil
	}
	var base *gate.Side
	var uncompared string
	switch {
	case one.base == nil && one.nested != "":
		uncompared = fmt.Sprintf("it is in %s, a git repository of its own, of which the base has no files; run the gate there", one.nested)
	case one.base == nil:
		section.Note = "New: the base does not have it, so it is compared with nothing."
	default:
		if one.moved != "" {
			section.Note = "Moved: the base has it as " + markdown.CodeSpan(one.moved) + "."
		}
		base, err = g.runSide(c, one.base, nil)
		if exit.Interrupted(err) {
			return nil, err
		}
		if findNoWorkload(err) != nil {
			section.Note, err = "New: the base has no workload here, so it is compared with nothing.", nil
		}
		if err != nil {
			uncompared, section.Lines = explainUnusable(err)
			uncompared = "the base " + uncompared
		}
	}
	if uncompared != "" {
		section.Note = "Not compared. So it is judged as if it were new."
		opts.FailOn = list.Without(opts.FailOn, func(kind string) bool { return kind == expect.FailOnPending || kind == expect.FailOnAny })
	}
	if section.Judgement, err = gate.JudgeChange(c.Context(), base, head, opts); err != nil {
		return nil, err
	}
	if uncompared != "" {
		section.Statements = slices.Insert(section.Statements, 0, gate.Statement{About: one.name, Text: "not compared, " + uncompared})
	}
	g.addFindings(one, section)
	return section, nil
}

// addFindings adds what the files of --reports have of a judged subject.
func (g *gateRun) addFindings(one *subject, section *gate.Section) {
	if one.outcome != nil {
		g.found.Add(findings.New(one.outcome.report.Head, one.outcome.report.Findings()))
	}
	found := section.Lint.Found()
	if section.Compared != nil {
		found.Add(section.Compared.Found())
	}
	locateTemplates(&found, one.name, one.text)
	g.found.Add(found)
}

// findNoWorkload returns the error that a subject has no workload, if this is its only problem; otherwise nil.
func findNoWorkload(err error) *check.NoWorkloadError {
	var none *check.NoWorkloadError
	if !errors.As(err, &none) || strings.Contains(strings.TrimSpace(err.Error()), "\n") {
		return nil
	}
	return none
}

// maxReason is how many characters of a reason the verdict has. The section about the subject has the whole reason.
const maxReason = 300

// explainUnusable returns in one line why a side of a subject cannot be used, and the lines of the whole error if there are more.
func explainUnusable(err error) (reason string, lines []string) {
	what := "run"
	if errors.As(err, new(*programError)) {
		what = "rendered"
	}
	lines = strings.Split(strings.TrimSpace(err.Error()), "\n")
	reason = fmt.Sprintf("cannot be %s: %s", what, words.Shorten(lines[0], maxReason))
	if len(lines) == 1 {
		return reason, nil
	}
	return fmt.Sprintf("%s and %d more", reason, len(lines)-1), lines
}

// runSide runs one side of a subject. It takes the result from the test if the test has run it.
func (g *gateRun) runSide(c *command.Call, load func() (*scenario.Scenario, error), ran *testedScenario) (*gate.Side, error) {
	s, err := load()
	if err != nil {
		return nil, err
	}
	if err := sched.SetRelease(s.Config.Release()); err != nil {
		return nil, err
	}
	side := &gate.Side{}
	if ran != nil {
		side.Name, side.Result, side.Judged = ran.path, ran.Result, ran.Judged
	} else if side.Result, err = simulation.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")}); err != nil {
		return nil, err
	}
	if side.Blast, err = (&basic.FailureFlags{}).Analyze(c, side.Result, true); err != nil {
		return nil, err
	}
	linted, err := asklint.Run(c.Context(), side.Result, asklint.Options{Progress: c.Bar.Counts("workloads")})
	if err != nil {
		return nil, err
	}
	side.Lint = lint.New(linted, c.ToolVersion)
	side.Lint.Locate(os.ReadFile)
	return side, nil
}

// writeFiles writes the files of --reports.
func (g *gateRun) writeFiles(text string, all []*testedScenario) error {
	if g.folder == "" {
		return nil
	}
	if err := os.MkdirAll(g.folder, 0o755); err != nil {
		return fmt.Errorf("--reports: %w", err)
	}
	if err := writeJUnit(filepath.Join(g.folder, "junit.xml"), all); err != nil {
		return err
	}
	g.found.Version = g.plugins.ToolVersion
	files := map[string]func() ([]byte, error){
		"report.md": func() ([]byte, error) { return []byte(text), nil }, "findings.sarif": g.found.SARIF, "annotations.txt": g.found.GitHub,
		"gl-code-quality-report.json": g.found.GitLab,
	}
	for name, data := range files {
		written, err := data()
		if err == nil {
			err = output.WriteFile(filepath.Join(g.folder, name), func(w io.Writer) error {
				_, err := w.Write(written)
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("--reports: %w", err)
		}
	}
	return nil
}
