package ci

import (
	"bytes"
	"cmp"
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
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/format/findings"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/lint"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// gateRun is a run of simulate gate.
type gateRun struct {
	tests
	command.Unwanted
	base, lint, folder string
	renders, cluster   []string
	plugins            command.Streams

	found findings.Findings
	// Each reason to fail has an exit code; that of the first reason is the command's. Warnings do not fail.
	status            int
	reasons, warnings []string
	uncompared        []string        // subjects that the base has but that are not compared, and why
	compared          strings.Builder // the differences, as Markdown
}

func newGate(s command.Streams) *cobra.Command {
	g := &gateRun{tests: tests{opts: s.LoaderOptions()}, plugins: s}
	cmd := &cobra.Command{
		Use:   "gate [DIR|FILE...]",
		Short: "Test scenarios and manifests, compare them with a commit, and write a comment on the change",
		Long: `Run every scenario below the folders as "simulate test" does. With --base, also run what the commit has, and compare: what failures
take, what workloads declare, and what lint finds. The report is Markdown, for a comment on the change: it begins with the verdict.

With --render, a shell command runs in the folder of this and of the other commit, such as helm template or kubectl kustomize. The
manifests that it prints are placed on the nodes of --cluster, and compared alike. A command that prints nothing has written files that
scenarios name.

It fails, with exit code 3, if an expectation is not met, if something that --fail-on names got worse, or if lint finds something new
of the severity --lint. What else got worse is a warning, and so is a base that cannot be run or rendered: then what there is now is
judged as if it were new. Without --base there is nothing to compare, and lint does not fail.`,
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
			return g.run(command.NewCall(cmd, s, &input.Flags{Federated: true}, args))
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
	nested     string          // the folder of a git repository within this one that has the subject, if any
}

// subjectSide is one side of a subject after it was run.
type subjectSide struct {
	result *simulation.Result
	blast  *blast.Report
	lint   *lint.Report
	run    *run.Report
}

func (g *gateRun) run(c *command.Call) error {
	defer c.Bar.Done()
	var base *checkout
	if g.base != "" {
		var err error
		if base, err = newCheckout(c, g.base); err != nil {
			return err
		}
		defer base.remove()
	}
	subjects, err := g.renderSubjects(c, base)
	if err != nil {
		return err
	}
	all, err := g.testScenarios(c, len(subjects) > 0)
	if err != nil {
		return err
	}
	subjects = append(g.pairScenarios(c, all, base), subjects...)
	for _, one := range subjects {
		if err := g.judgeSubject(c, one); err != nil {
			return err
		}
	}
	c.Bar.Done()
	report := g.comment(all)
	if err := g.writeFiles(report, all); err != nil {
		return err
	}
	if _, err := io.WriteString(c.Streams.Out, report); err != nil {
		return err
	}
	switch g.status {
	case 0:
		return nil
	case exit.Unmet:
		return exit.ErrUnmet
	case exit.Invalid:
		return exit.InvalidInput(errors.New(g.reasons[0]))
	}
	return errors.New(g.reasons[0])
}

// fail adds a reason to fail. The first status is the exit code.
func (g *gateRun) fail(status int, reason string, args ...any) {
	g.status = cmp.Or(g.status, status)
	g.reasons = append(g.reasons, fmt.Sprintf(reason, args...))
}

// testScenarios tests the scenarios below the folders. It accepts that there is none if others says that there is something else to compare.
func (g *gateRun) testScenarios(c *command.Call, others bool) ([]*testedScenario, error) {
	all, err := exit.CallInterruptibly(c.Context(), func() ([]*testedScenario, error) { return g.load(c.Args, regexp.MustCompile("")) })
	if err != nil && others && len(c.Args) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	if err := g.test(c.Command, c.Streams, all); err != nil {
		return nil, err
	}
	switch err := worstError(all); {
	case err == nil:
	case errors.Is(err, exit.ErrUnmet):
		g.fail(exit.Unmet, "an expectation is not met")
	default:
		g.fail(exit.Invalid, "a scenario could not be tested")
	}
	return all, nil
}

// pairScenarios returns the scenarios of both sides, sorted by path. A nil base has none.
func (g *gateRun) pairScenarios(c *command.Call, all []*testedScenario, base *checkout) []*subject {
	subjects := map[string]*subject{}
	for _, one := range all {
		subjects[one.path] = &subject{name: one.path, outcome: one, head: func() (*scenario.Scenario, error) { return one.Scenario, one.Err }}
		if base != nil {
			subjects[one.path].nested = base.nestedRepository(one.path)
		}
	}
	folders := c.Args
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		if base == nil {
			break
		}
		for _, file := range base.scenarios(folder) {
			path := file
			if filepath.Base(file) == loader.FileName {
				path = filepath.Dir(file)
			}
			if subjects[path] == nil {
				subjects[path] = &subject{name: path}
			}
			subjects[path].base = func() (*scenario.Scenario, error) { return loader.LoadContext(c.Context(), base, file, g.opts) }
		}
	}
	return slices.SortedFunc(maps.Values(subjects), func(a, b *subject) int { return cmp.Compare(a.name, b.name) })
}

// renderSubjects runs the commands on both sides. It runs all of them before anything is read, since they may write files.
func (g *gateRun) renderSubjects(c *command.Call, base *checkout) ([]*subject, error) {
	var subjects []*subject
	for _, command := range g.renders {
		one := &subject{name: command}
		head, err := renderHead(c, base, command)
		switch {
		case exit.Interrupted(err):
			return nil, err
		case err != nil:
			return nil, exit.InvalidInput(fmt.Errorf("--render %s: %w", command, err))
		}
		load := func(manifests []byte) (*scenario.Scenario, error) {
			in := input.Flags{Federated: true, Cluster: g.cluster, Files: []string{"-"}, Options: g.opts}
			in.AssumeNodes()
			return in.Load(c.Command, bytes.NewReader(manifests), g.plugins.Plugins, c.Bar, nil)
		}
		if one.text = head; len(bytes.TrimSpace(head)) > 0 {
			one.head = func() (*scenario.Scenario, error) { return load(head) }
		}
		if base != nil && base.hasFolder() {
			manifests, err := renderBase(c, base, command)
			if exit.Interrupted(err) {
				return nil, err
			}
			if err != nil || len(bytes.TrimSpace(manifests)) > 0 {
				one.base = func() (*scenario.Scenario, error) {
					if err != nil {
						return nil, err
					}
					return load(manifests)
				}
			}
		}
		if one.head != nil {
			subjects = append(subjects, one)
		}
	}
	return subjects, nil
}

// judgeSubject runs both sides of a subject, and adds the differences to the comment.
func (g *gateRun) judgeSubject(c *command.Call, one *subject) error {
	section := func(format string, args ...any) { fmt.Fprintf(&g.compared, format+"\n", args...) }
	if g.base != "" {
		section("\n### %s\n", markdown.CodeSpan(one.name))
	}
	if one.head == nil {
		section("Removed: the base has this scenario.")
		return nil
	}
	head, err := g.runSide(c, one.head, one.outcome)
	switch {
	case exit.Interrupted(err):
		return err
	case err != nil:
		if one.outcome == nil || one.outcome.Err == nil { // otherwise the test reports the error
			g.fail(exit.Invalid, "%s cannot be run", markdown.CodeSpan(one.name))
		}
		if g.base != "" {
			section("It cannot be run:\n\n%s", markdown.CodeBlock(strings.Split(err.Error(), "\n")))
		}
		return nil
	}
	if head.run != nil {
		g.found.Add(findings.New(head.run.Head, head.run.Findings()))
	}
	add := func(found findings.Findings) {
		locateTemplates(&found, one.text)
		g.found.Add(found)
	}
	defer func() { add(head.lint.Found()) }()
	if g.base == "" {
		return nil
	}
	if one.base == nil && one.nested != "" {
		g.judgeUncompared(one, head, fmt.Sprintf("%s is in %s, a git repository of its own, of which the base has no files; run the gate there", markdown.CodeSpan(one.name), markdown.CodeSpan(one.nested)), "")
		return nil
	}
	if one.base == nil {
		g.judgeNew(one, head)
		return nil
	}
	base, err := g.runSide(c, one.base, nil)
	if exit.Interrupted(err) {
		return err
	}
	if err != nil {
		reason, details := explainUnusable(one, err)
		g.judgeUncompared(one, head, reason, details)
		return nil
	}
	compared := diff.NewBlast(base.blast, head.blast, c.ToolVersion)
	compared.FailOn = g.FailOn
	add(compared.Found())
	switch {
	case len(compared.Failed()) > 0:
		g.fail(exit.Unmet, "%s is worse than in the base", markdown.CodeSpan(one.name))
	case compared.Worse:
		g.warnings = append(g.warnings, markdown.CodeSpan(one.name)+" got worse in something that does not fail the check")
	}
	head.lint.SetKnown(base.lint)
	if err := diff.Formats.Write(&g.compared, compared, "markdown", report.Options{}); err != nil {
		return err
	}
	g.addLint(one.name, head.lint)
	return nil
}

// addLint adds the findings of lint to the comment.
func (g *gateRun) addLint(name string, found *lint.Report) {
	if len(found.Findings) == 0 {
		return
	}
	if found.Fails(g.lint) {
		g.fail(exit.Unmet, "lint finds something new in %s", markdown.CodeSpan(name))
	} else if found.Summary.Errors+found.Summary.Warnings > 0 {
		g.warnings = append(g.warnings, "lint finds something new in "+markdown.CodeSpan(name))
	}
	g.compared.WriteString("\n")
	_ = lint.Formats.Write(&g.compared, found, "markdown", report.Options{}) // a write to memory cannot fail
}

// runSide runs one side of a subject. It takes the result from the test if the test has run it.
func (g *gateRun) runSide(c *command.Call, load func() (*scenario.Scenario, error), ran *testedScenario) (*subjectSide, error) {
	s, err := load()
	if err != nil {
		return nil, err
	}
	if err := sched.SetRelease(s.Config.Release()); err != nil {
		return nil, err
	}
	side := &subjectSide{}
	var result *simulation.Result
	if ran != nil {
		result, side.run = ran.Result, ran.report
	} else if result, err = simulation.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")}); err != nil {
		return nil, err
	}
	if side.blast, err = (&basic.FailureFlags{}).Analyze(c, result, true); err != nil {
		return nil, err
	}
	linted, err := asklint.Run(c.Context(), result, asklint.Options{Progress: c.Bar.Counts("workloads")})
	if err != nil {
		return nil, err
	}
	side.result, side.lint = result, lint.New(linted, c.ToolVersion)
	side.lint.Locate(os.ReadFile)
	return side, nil
}

// comment returns the comment: the verdict, the tests if one fails, and the differences.
func (g *gateRun) comment(all []*testedScenario) string {
	var out strings.Builder
	switch {
	case g.status != 0:
		fmt.Fprintf(&out, "❌ **Fails**: %s.\n", strings.Join(slices.Concat(g.reasons, g.uncompared), "; "))
	case len(g.uncompared)+len(g.warnings) > 0:
		fmt.Fprintf(&out, "⚠️ **Passes**, but %s.\n", strings.Join(slices.Concat(g.uncompared, g.warnings), "; "))
	case g.base == "":
		fmt.Fprintf(&out, "✅ **Passes**: every expectation is met.\n")
	default:
		fmt.Fprintf(&out, "✅ **Passes**: every expectation is met, and nothing is worse than in the base.\n")
	}
	if worstError(all) != nil {
		fmt.Fprintf(&out, "\n%s\n", markdown.CodeBlock(strings.Split(strings.TrimSuffix(g.text(all), "\n"), "\n")))
	}
	out.WriteString(g.compared.String())
	return out.String()
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
