package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/run"
)

func newDiff(s streams) *cobra.Command {
	var fails unwanted
	var out output
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
  any            anything differs (run, blast)

A blast radius that is larger only because there are more replicas is shown, but is not worse: no placement would lose fewer.
Steps are matched by name; one that is new is compared with nothing. Different versions, ties, feature gates or clusters are
reported, but do not count as differences.`,
		Example: `  simulate diff old.json new.json
  simulate run scenario.yaml -o json | simulate diff main.json - --fail-on pending,expectations
  simulate diff old.json new.json -o markdown --fail-on any`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(cmd); err != nil {
				return err
			}
			if len(args) != 2 {
				return usage(cmd, "got %d reports, want two; give the old one and the new one", len(args))
			}
			if args[0] == manifest.Stdin && args[1] == manifest.Stdin {
				return usage(cmd, "standard input can only be read once; give - for one of the reports")
			}
			found, err := compareFiles(cmd, s, args[0], args[1])
			if err != nil {
				return err
			}
			if err := fails.check(cmd, found.Of); err != nil {
				return err
			}
			return fails.write(s, &out, found)
		},
	}
	fails.register(cmd, []string{expect.FailOnMoved, expect.FailOnPending, expect.FailOnExpectations, expect.FailOnRadius, expect.FailOnStranded, expect.FailOnAny})
	out.register(cmd, diff.Formats.Names())
	cmd.Flags().BoolVarP(&out.opts.Quiet, "quiet", "q", false, "print only the verdict, on one line")
	cmd.Flags().BoolVar(&out.opts.All, "all", false, "list every difference, however many there are")
	return cmd
}

// compareFiles reads and compares two reports of one kind.
func compareFiles(cmd *cobra.Command, s streams, oldFile, newFile string) (*diff.Report, error) {
	var kinds [2]string
	var data [2][]byte
	for i, file := range []string{oldFile, newFile} {
		var err error
		if data[i], err = readReport(cmd.Context(), s, file); err != nil {
			return nil, err
		}
		if kinds[i], err = report.KindOf(file, data[i]); err != nil {
			return nil, asInput(err)
		}
		if kinds[i] != run.Kind && kinds[i] != blast.Kind {
			return nil, usage(cmd, "%s: kind %q cannot be compared; give reports of simulate run -o json or simulate blast -o json, of kind %s or %s",
				file, kinds[i], run.Kind, blast.Kind)
		}
	}
	if kinds[0] != kinds[1] {
		return nil, usage(cmd, "%s is a %s and %s a %s; give two reports of one kind", oldFile, kinds[0], newFile, kinds[1])
	}
	var found *diff.Report
	if kinds[0] == run.Kind {
		old, err := run.Decode(oldFile, data[0])
		if err != nil {
			return nil, asInput(err)
		}
		new, err := run.Decode(newFile, data[1])
		if err != nil {
			return nil, asInput(err)
		}
		found = diff.New(old, new, version)
	} else {
		old, err := blast.Decode(oldFile, data[0])
		if err != nil {
			return nil, asInput(err)
		}
		new, err := blast.Decode(newFile, data[1])
		if err != nil {
			return nil, asInput(err)
		}
		found = diff.NewBlast(old, new, version)
	}
	found.Old.File, found.New.File = oldFile, newFile
	return found, nil
}

func readReport(ctx context.Context, s streams, file string) ([]byte, error) {
	data, err := unlessInterrupted(ctx, func() ([]byte, error) { return manifest.ReadFile(nil, s.in, file) })
	if interrupted(err) {
		return nil, err
	}
	return data, inputOrNil(err)
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
	if err := errors.Join(problems...); err != nil {
		return usage(cmd, "%s", err)
	}
	return nil
}

// write writes the comparison, and fails on unwanted differences.
func (u *unwanted) write(s streams, out *output, found *diff.Report) error {
	found.FailOn = u.failOn
	err := out.write(s, func(w io.Writer, format string, opts report.Options) error {
		return diff.Formats.Write(w, found, format, opts)
	})
	if err == nil && len(found.Failed()) > 0 {
		return errUnmet
	}
	return err
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

// check reads the stored report before the run, so that a bad one costs no time. The output formats become those of a comparison.
func (b *baseline) check(cmd *cobra.Command, s streams, in *input, args []string, out *output, of string) ([]byte, error) {
	switch {
	case b.file == "" && len(b.failOn) > 0:
		return nil, usage(cmd, "--fail-on has no effect without --baseline; give both")
	case b.file == "":
		return nil, out.check(cmd)
	case b.file == manifest.Stdin && slices.Contains(slices.Concat(in.cluster, in.files, args), manifest.Stdin):
		return nil, usage(cmd, "standard input can only be read once; give - to --baseline or to the scenario, not both")
	}
	out.formats = diff.Formats.Names()
	if err := out.check(cmd); err != nil {
		return nil, err
	}
	if err := b.unwanted.check(cmd, of); err != nil {
		return nil, err
	}
	return readReport(cmd.Context(), s, b.file)
}

// report returns the stored Report, or nil if none is given.
func (b *baseline) report(cmd *cobra.Command, s streams, in *input, args []string, out *output) (*run.Report, error) {
	data, err := b.check(cmd, s, in, args, out, run.Kind)
	if err != nil || b.file == "" {
		return nil, err
	}
	stored, err := run.Decode(b.file, data)
	return stored, inputOrNil(err)
}

// blastReport is like report, for a BlastReport.
func (b *baseline) blastReport(cmd *cobra.Command, s streams, in *input, args []string, out *output) (*blast.Report, error) {
	data, err := b.check(cmd, s, in, args, out, blast.Kind)
	if err != nil || b.file == "" {
		return nil, err
	}
	stored, err := blast.Decode(b.file, data)
	return stored, inputOrNil(err)
}

func inputOrNil(err error) error {
	if err == nil {
		return nil
	}
	return asInput(err)
}

// write writes the comparison with the stored report.
func (b *baseline) write(s streams, out *output, found *diff.Report) error {
	found.Old.File = b.file
	return b.unwanted.write(s, out, found)
}
