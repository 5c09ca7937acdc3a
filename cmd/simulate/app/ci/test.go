package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/words"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/gate"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// tests are the flags of simulate test.
type tests struct {
	run     string
	verbose bool
	junit   string
	update  bool
	opts    loader.Options
	stdin   io.Reader // nil: it may not be read
	partial string    // how many scenarios an interrupted test has run
}

func newTest(s command.Streams) *cobra.Command {
	t := tests{opts: s.LoaderOptions(), stdin: s.In}
	cmd := &cobra.Command{
		Use:   "test [DIR|FILE|-...]",
		Short: "Run scenarios and check their expectations",
		Long: `Run every scenario.yaml below the folders, and the named scenario files, and report which expectations are not met, and why.
The default is the working directory; - is a scenario on standard input. Folders whose names begin with a dot are skipped.

Of a scenario with variants whose steps expect something, such as what --proof writes, each of these variants is run and checked, too.

If there is a placements.golden.yaml beside a scenario.yaml, the placements after each step are compared with it; --update writes
it. Exit codes: 0 every expectation is met, 3 one is not, 2 a scenario is invalid or none is found, 1 one could not be run.`,
		Example: `  simulate test
  simulate test scenarios --junit test.xml
  simulate test scenarios --run 'zone|rack' -v
  simulate test scenarios/kind-walkthrough --update`,
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern, err := regexp.Compile(t.run)
			if err != nil {
				return exit.Usage(cmd, "--run: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
			if err := output.CheckFiles(cmd); err != nil {
				return err
			}
			all, err := exit.CallInterruptibly(cmd.Context(), func() ([]*testedScenario, error) { return t.loadScenarios(args, pattern) })
			if err != nil {
				return exit.InvalidInput(err)
			}
			for _, one := range all {
				if one.Scenario != nil {
					if err := output.CheckRead(cmd, one.file, one.Scenario.Named); err != nil {
						return err
					}
				}
			}
			if err := t.runScenarios(cmd, s, all); err != nil {
				return err
			}
			stopped := context.Cause(cmd.Context())
			if ready := len(all); stopped != nil {
				all = slices.DeleteFunc(all, func(one *testedScenario) bool { return exit.Interrupted(one.Err) })
				if len(all) == 0 {
					return stopped
				}
				t.partial = fmt.Sprintf("interrupted after %d of %s", len(all), words.Count(ready, "scenario"))
			}
			if t.junit != "" {
				if err := writeJUnit(t.junit, all); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(s.Out, t.formatResults(all)); err != nil {
				return err
			}
			if stopped != nil {
				return stopped
			}
			return worstError(all)
		},
	}
	cmd.Flags().StringVar(&t.run, "run", "", "run only scenarios whose path or name matches this `REGEXP`")
	cmd.Flags().BoolVarP(&t.verbose, "verbose", "v", false, "list every step and expectation")
	output.FileVar(cmd, &t.junit, "junit", "", "also write a JUnit report to this `FILE`, one suite per scenario")
	cmd.Flags().BoolVar(&t.update, "update", false, "write placements.golden.yaml beside each scenario instead of comparing with it")
	input.RegisterStrict(cmd, &t.opts.Strict)
	input.RegisterScheduler(cmd, &t.opts)
	return cmd
}

// testedScenario is a scenario and the result of its test.
type testedScenario struct {
	file, path string // path is the folder of a file that is named scenario.yaml
	gate.Case
	gate.Outcome
	report *run.Report
	status int // the exit code if this were the only scenario
}

// pathOfScenario returns the name of a scenario on reports: its folder, if the file is named scenario.yaml.
func pathOfScenario(file string) string {
	if filepath.Base(file) == loader.FileName {
		return filepath.Dir(file)
	}
	return file
}

// scenarioFiles returns the named files and the scenario files below the folders, sorted and without duplicates.
func scenarioFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var files []string
	var problems []error
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == manifest.Stdin:
			files = append(files, arg)
			continue
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: no such file or folder; give scenario files, or folders that contain a %s", arg, loader.FileName))
			continue
		case !info.IsDir():
			files = append(files, filepath.Clean(arg))
			continue
		}
		before := len(files)
		root := arg
		if link, err := os.Lstat(arg); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			root += string(filepath.Separator) // WalkDir follows a link only before a separator
		}
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case !entry.IsDir() && entry.Name() == loader.FileName:
				files = append(files, filepath.Clean(path))
				if err := checkRegular(path); err != nil {
					problems = append(problems, err)
				}
			}
			return nil
		})
		if err != nil {
			problems = append(problems, err)
		} else if len(files) == before {
			problems = append(problems, fmt.Errorf("%s: no %s found; give scenario files, or folders that contain one", arg, loader.FileName))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), errors.Join(problems...)
}

// checkRegular rejects files in a folder that might never end, such as pipes.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return manifest.CheckRegular(path, info)
}

// loadScenarios reads the scenarios of the arguments that match the pattern. It keeps an invalid scenario with its error. Its name is unknown, so
// that only its path can match.
func (t *tests) loadScenarios(args []string, pattern *regexp.Regexp) ([]*testedScenario, error) {
	files, err := scenarioFiles(args)
	if err != nil {
		return nil, err
	}
	var all []*testedScenario
	for _, file := range files {
		one := &testedScenario{file: file, path: pathOfScenario(file)}
		if file == manifest.Stdin {
			one.path = "standard input"
			one.Scenario, one.Err = loader.LoadStdin(t.stdin, t.opts)
		} else {
			one.GoldenFile = expect.GoldenFile(file)
			one.Scenario, one.Err = loader.Load(file, t.opts)
		}
		if !pattern.MatchString(one.path) && (one.Scenario == nil || !pattern.MatchString(one.Scenario.Name)) {
			continue
		}
		if one.Err != nil {
			one.status = exit.Invalid
		}
		var variants []*testedScenario
		if one.Err == nil {
			variants = variantsOf(one)
		}
		if len(variants) == 0 || hasExpectations(one) {
			all = append(all, one)
		}
		all = append(all, variants...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--run %s: none of %s matches", pattern, words.Count(len(files), "scenario"))
	}
	// Sort by the path that the report shows, not by that of the file.
	slices.SortStableFunc(all, func(a, b *testedScenario) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// hasExpectations reports whether the scenario without variants has expectations or golden placements.
func hasExpectations(one *testedScenario) bool {
	_, err := os.Stat(one.GoldenFile)
	return err == nil || one.Scenario.Expect != nil || slices.ContainsFunc(one.Scenario.Steps, func(step scenario.LoadedStep) bool { return step.Expect != nil })
}

// variantsOf returns the scenario's variants whose own steps have expectations, without the other expectations.
func variantsOf(of *testedScenario) []*testedScenario {
	var all []*testedScenario
	for i := range of.Scenario.Variants {
		v := &of.Scenario.Variants[i]
		alone := expect.KeepAskedExpectations(v.Scenario)
		if slices.ContainsFunc(alone.Steps, func(step scenario.LoadedStep) bool { return step.Expect != nil }) {
			all = append(all, &testedScenario{file: of.file, path: of.path + ": " + v.Name, Case: gate.Case{Scenario: alone}})
		}
	}
	return all
}

// runScenarios runs the scenarios that were loaded without an error.
func (t *tests) runScenarios(cmd *cobra.Command, s command.Streams, all []*testedScenario) error {
	var ready []*testedScenario
	var cases []gate.Case
	for _, one := range all {
		if one.Err == nil && !t.update && one.GoldenFile != "" {
			if one.Golden, one.Err = expect.ReadGolden(one.GoldenFile); one.Err != nil {
				one.status = exit.Invalid
			}
		}
		if one.Err == nil {
			ready, cases = append(ready, one), append(cases, one.Case)
		}
	}
	bar := output.NewProgress(s.Err)
	defer bar.Done()
	outcomes, err := exit.CallPatiently(cmd.Context(), func() ([]gate.Outcome, error) {
		return gate.Test(cmd.Context(), cases, time.Now, func(last, done int) { bar.Counts("scenarios")(ready[last].path, done, len(cases)) }), nil
	})
	if err != nil {
		return err
	}
	for i, one := range ready {
		if one.Outcome = outcomes[i]; one.Err != nil {
			one.status = exit.Failed
			if errors.As(one.Err, new(*simulation.StepError)) || errors.As(one.Err, new(*world.InputError)) {
				one.status = exit.Invalid
			}
			one.Err = fmt.Errorf("%s: %w", one.file, one.Err)
			continue
		}
		if t.update && one.GoldenFile != "" {
			if err := expect.NewGolden(one.Result).Write(one.GoldenFile); err != nil {
				return fmt.Errorf("--update: %w", err)
			}
		}
		one.report = run.New(one.Result, one.Judged, s.ToolVersion)
		if !one.report.Met() {
			one.status = exit.Unmet
		}
	}
	return nil
}

func writeJUnit(file string, all []*testedScenario) error {
	var scenarios []run.Tested
	for _, one := range all {
		scenarios = append(scenarios, run.Tested{Path: one.path, Report: one.report, Err: one.Err, Took: one.Took})
	}
	if err := output.WriteFile(file, func(w io.Writer) error { return run.WriteJUnit(w, scenarios) }); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}

// formatResults returns one line per scenario, followed by its unmet expectations, and a last line with the verdict.
func (t *tests) formatResults(all []*testedScenario) string {
	var out lines
	width := 0
	for _, one := range all {
		width = max(width, len(manifest.Clean(one.path)))
	}
	if t.partial != "" {
		out.writeLine("Partial: %s", t.partial)
		out.writeLine("")
	}
	var failed []string
	for _, one := range all {
		path := manifest.Clean(one.path)
		verdict, summary := "ok", ""
		switch {
		case one.Err != nil:
			verdict, summary = "FAIL", "cannot be run"
		default:
			total, unmet := one.Counts()
			expectations := words.Count(total, "expectation")
			switch {
			case total == 0:
				verdict, expectations = "?", "no expectations"
			case unmet > 0:
				verdict, expectations = "FAIL", fmt.Sprintf("%d of %s not met", unmet, expectations)
			}
			summary = words.Count(len(one.report.Steps), "step") + ", " + expectations
		}
		if verdict == "FAIL" {
			failed = append(failed, path)
		}
		if t.update && one.Err == nil && one.GoldenFile != "" {
			summary += "; wrote " + filepath.Base(one.GoldenFile)
		}
		out.writeLine("%-4s  %-*s   %s", verdict, width, path, summary)
		if one.Err != nil {
			for line := range strings.Lines(one.Err.Error()) {
				out.writeLine("      %s", strings.TrimSpace(line))
			}
			continue
		}
		for i := range one.report.Steps {
			t.writeStep(&out, &one.report.Steps[i])
		}
	}
	if len(failed) > 0 {
		out.writeLine("FAIL: %d of %s: %s", len(failed), words.Count(len(all), "scenario"), strings.Join(failed, ", "))
	} else {
		out.writeLine("ok: %s", words.Count(len(all), "scenario"))
	}
	return out.String()
}

// writeStep writes the unmet expectations of a step; with -v, all of them.
func (t *tests) writeStep(out *lines, step *run.Step) {
	shown := step.Expectations
	if !t.verbose {
		shown = slices.DeleteFunc(slices.Clone(shown), func(e expect.Judged) bool { return e.Met })
	}
	if len(shown) == 0 && !t.verbose {
		return
	}
	out.writeLine("      %s", step.Name)
	for _, e := range shown {
		where := ""
		if e.Source != nil {
			where = fmt.Sprintf(" (%s:%d)", e.Source.File, e.Source.Line)
		}
		if e.Met {
			out.writeLine("        ok    %s%s", e.Want, where)
			continue
		}
		out.writeLine("        FAIL  want %s%s", e.Want, where)
		out.writeLine("              got  %s", e.Got)
		if e.Why != "" {
			out.writeLine("              why  %s", e.Why)
		}
	}
}

// lines builds text of whole lines. No name or message in it can start a line of its own.
type lines struct{ strings.Builder }

func (p *lines) writeLine(format string, args ...any) {
	p.WriteString(manifest.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// worstError returns the worst result: a scenario that could not be run, then an invalid one, then an unmet expectation. The report has the
// details.
func worstError(all []*testedScenario) error {
	has := func(status int) int {
		n := 0
		for _, one := range all {
			if one.status == status {
				n++
			}
		}
		return n
	}
	switch {
	case has(exit.Failed) > 0:
		return fmt.Errorf("%d of %s could not be run", has(exit.Failed), words.Count(len(all), "scenario"))
	case has(exit.Invalid) > 0:
		return exit.InvalidInput(fmt.Errorf("%d of %s failed validation", has(exit.Invalid), words.Count(len(all), "scenario")))
	case has(exit.Unmet) > 0:
		return exit.ErrUnmet
	}
	return nil
}
