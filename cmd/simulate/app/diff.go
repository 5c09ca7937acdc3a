package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/run"
)

func newDiff(s streams) *cobra.Command {
	var fails unwanted
	var out output.Flags
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what differs between two stored reports, and fail on unwanted differences",
		Long: `Compare two reports written by "simulate run -o json", or two by "simulate blast -o json": which pods moved and which score
decided, which are newly Pending and why, and which failures take more. Reports may also be YAML; - is standard input.

The exit code is 0 whatever differs. With --fail-on it is 3 if there are differences of these kinds:
  moved          a pod runs on another node (run)
  pending        a workload has more Pending pods after any step (run, blast)
  expectations   an expectation is newly unmet (run)
  radius         a workload of several replicas loses more beyond an even spread, or has one replica left (blast)
  stranded       a failure leaves more pods of a workload stranded than any did before (blast)
  rules-removed  a workload drops or weakens a placement rule, a budget or its priority, or drops a request (run, blast)
  any            any of these, or anything else that is worse (run, blast)

A blast radius that is larger only because there are more replicas is shown, but is not worse: no placement would lose fewer.
Steps are matched by name; one that is new is compared with nothing. Different versions, ties, feature gates or clusters are
reported, but do not count as differences.`,
		Example: `  simulate diff old.json new.json
  simulate run scenario.yaml -o json | simulate diff main.json - --fail-on pending,expectations
  simulate diff old.json new.json -o markdown --fail-on any`,
		RunE: question[diff.Report]{
			out: &out, formats: diff.Formats,
			ask: func(c *call) (*diff.Report, error) {
				if len(c.args) != 2 {
					return nil, c.usage("got %d reports, want two; give the old one and the new one", len(c.args))
				}
				if c.args[0] == manifest.Stdin && c.args[1] == manifest.Stdin {
					return nil, c.usage("standard input can only be read once; give - for one of the reports")
				}
				found, err := compareFiles(c, c.args[0], c.args[1])
				if err != nil {
					return nil, err
				}
				if err := fails.check(c.Command, found.Of); err != nil {
					return nil, err
				}
				return fails.judge(found)
			},
		}.run(s),
	}
	fails.register(cmd, []string{expect.FailOnMoved, expect.FailOnPending, expect.FailOnExpectations, expect.FailOnRadius, expect.FailOnStranded, expect.FailOnRules, expect.FailOnAny})
	out.Register(cmd, diff.Formats.Names(), "the verdict, on one line", "list every difference, however many there are")
	return cmd
}

// compareFiles reads and compares two reports of one kind.
func compareFiles(c *call, oldFile, newFile string) (*diff.Report, error) {
	var kinds [2]string
	var data [2][]byte
	for i, file := range []string{oldFile, newFile} {
		var err error
		if data[i], err = c.readReport(file); err != nil {
			return nil, err
		}
		if kinds[i], err = report.KindOf(file, data[i]); err != nil {
			return nil, exit.Input(err)
		}
		if kinds[i] != run.Kind && kinds[i] != blast.Kind {
			return nil, c.usage("%s: kind %q cannot be compared; give reports of simulate run -o json or simulate blast -o json, of kind %s or %s",
				file, kinds[i], run.Kind, blast.Kind)
		}
	}
	if kinds[0] != kinds[1] {
		return nil, c.usage("%s is a %s and %s a %s; give two reports of one kind", oldFile, kinds[0], newFile, kinds[1])
	}
	files := [2]string{oldFile, newFile}
	if kinds[0] == run.Kind {
		return compareAs(files, data, run.Decode, diff.New)
	}
	return compareAs(files, data, blast.Decode, diff.NewBlast)
}

// compareAs compares two reports of a kind.
func compareAs[R any](files [2]string, data [2][]byte, decode func(file string, data []byte) (*R, error), compare func(old, new *R, version string) *diff.Report) (*diff.Report, error) {
	old, err := decode(files[0], data[0])
	if err != nil {
		return nil, exit.Input(err)
	}
	new, err := decode(files[1], data[1])
	if err != nil {
		return nil, exit.Input(err)
	}
	found := compare(old, new, version)
	found.Old.File, found.New.File = files[0], files[1]
	return found, nil
}

func (c *call) readReport(file string) ([]byte, error) {
	data, err := exit.UnlessInterrupted(c.Context(), func() ([]byte, error) { return manifest.ReadFile(nil, c.streams.in, file) })
	return data, exit.Input(err)
}

// unwanted is the flag that selects the differences to fail on.
type unwanted struct{ failOn []string }

func (u *unwanted) register(cmd *cobra.Command, kinds []string) {
	cmd.Flags().StringSliceVar(&u.failOn, "fail-on", nil,
		"exit with 3 if there are `DIFFERENCES` of these kinds: "+strings.Join(kinds, ", ")+"\n(repeatable, or comma-separated)")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
}

// check rejects differences that two reports of the kind cannot have, since a gate that never fails is useless.
func (u *unwanted) check(cmd *cobra.Command, of string) error {
	var problems []error
	for _, kind := range u.failOn {
		if !slices.Contains(diff.FailOns(of), kind) {
			problems = append(problems, fmt.Errorf("--fail-on: %q is not a difference between reports of kind %s: use one of %s", kind, of, strings.Join(diff.FailOns(of), ", ")))
		}
	}
	return exit.Wrong(cmd, problems...)
}

// judge fails on unwanted differences.
func (u *unwanted) judge(found *diff.Report) (*diff.Report, error) {
	found.FailOn = u.failOn
	return found, unless(len(found.Failed()) == 0, nil)
}

// baseline are the flags that compare a command's result with a stored report, and report the differences instead.
type baseline struct {
	unwanted
	file string
}

func (b *baseline) register(cmd *cobra.Command, of string) {
	cmd.Flags().StringVar(&b.file, "baseline", "", "compare with the report that -o json wrote to this `FILE`, and print the differences, as simulate diff does")
	b.unwanted.register(cmd, diff.FailOns(of))
}

// check rejects flags that have no effect, and differences that two reports of the kind cannot have.
func (b *baseline) check(c *call, of string) error {
	switch {
	case b.file == "" && len(b.failOn) > 0:
		return c.usage("--fail-on has no effect without --baseline; give both")
	case b.file == "":
		return nil
	case b.file == manifest.Stdin && slices.Contains(slices.Concat(c.in.Cluster, c.in.Files, c.args), manifest.Stdin):
		return c.usage("standard input can only be read once; give - to --baseline or to the scenario, not both")
	}
	return b.unwanted.check(c.Command, of)
}

// since asks how the answer to a question differs from a stored report, which is read first, so that a bad one costs no time. A part of an
// answer is not compared with a whole one.
func since[R any](b *baseline, asked question[R], decode func(file string, data []byte) (*R, error), compare func(old, new *R, version string) *diff.Report) question[diff.Report] {
	return question[diff.Report]{
		in: asked.in, out: asked.out, formats: diff.Formats, check: asked.check,
		ask: func(c *call) (*diff.Report, error) {
			data, err := c.readReport(b.file)
			if err != nil {
				return nil, err
			}
			old, err := decode(b.file, data)
			if err != nil {
				return nil, exit.Input(err)
			}
			new, err := asked.ask(c)
			if err != nil {
				return nil, err
			}
			found := compare(old, new, version)
			found.Old.File = b.file
			return b.judge(found)
		},
	}
}
