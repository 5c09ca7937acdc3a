package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/diff"
)

// Unwanted is the flag that selects the differences to fail on.
type Unwanted struct{ FailOn []string }

// Register adds the flag, which accepts these kinds of differences.
func (u *Unwanted) Register(cmd *cobra.Command, kinds []string) {
	cmd.Flags().StringSliceVar(&u.FailOn, "fail-on", nil,
		"exit with 3 if there are `DIFFERENCES` of these kinds: "+strings.Join(kinds, ", ")+"\n(repeatable, or comma-separated)")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
}

// Check rejects kinds of differences that two reports of kind of cannot have: a gate on one of them would never fail.
func (u *Unwanted) Check(cmd *cobra.Command, of string) error {
	var problems []error
	for _, kind := range u.FailOn {
		if !slices.Contains(diff.FailOns(of), kind) {
			problems = append(problems, fmt.Errorf("--fail-on: %q is not a difference between reports of kind %s: use one of %s", kind, of, strings.Join(diff.FailOns(of), ", ")))
		}
	}
	return exit.UsageProblems(cmd, problems...)
}

// Judge returns the report, with exit.ErrUnmet if it has a difference of an unwanted kind.
func (u *Unwanted) Judge(found *diff.Report) (*diff.Report, error) {
	found.FailOn = u.FailOn
	return found, UnmetUnless(len(found.Failed()) == 0, nil)
}

// Baseline are the flags that compare a command's report with a stored one, so that the command prints the differences.
type Baseline struct {
	Unwanted
	File string
}

// Register adds the flags for reports of kind of.
func (b *Baseline) Register(cmd *cobra.Command, of string) {
	cmd.Flags().StringVar(&b.File, "baseline", "", "compare with the report that -o json wrote to this `FILE`, and print the differences, as simulate diff does")
	b.Unwanted.Register(cmd, diff.FailOns(of))
}

// Check rejects flags without effect, and kinds of differences that two reports of kind of cannot have.
func (b *Baseline) Check(c *Call, of string) error {
	switch {
	case b.File == "" && len(b.FailOn) > 0:
		return c.Usage("--fail-on has no effect without --baseline; give both")
	case b.File == "":
		return nil
	case b.File == manifest.Stdin && slices.Contains(slices.Concat(c.Input.Cluster, c.Input.Files, c.Args), manifest.Stdin):
		return c.Usage("standard input can only be read once; give - to --baseline or to the scenario, not both")
	}
	return b.Unwanted.Check(c.Command, of)
}

// CompareToBaseline turns a question into another: how does its answer differ from the stored report? The stored report is read first, so that an
// unreadable file costs no time. An answer that was interrupted is not compared.
func CompareToBaseline[R any](b *Baseline, asked Question[R], decode func(file string, data []byte) (*R, error), compare func(old, new *R, version string) *diff.Report) Question[diff.Report] {
	return Question[diff.Report]{
		Input: asked.Input, Output: asked.Output, Formats: diff.Formats, Check: asked.Check, Timeout: asked.Timeout,
		Ask: func(c *Call) (*diff.Report, error) {
			data, err := c.ReadReport(b.File)
			if err != nil {
				return nil, err
			}
			old, err := decode(b.File, data)
			if err != nil {
				return nil, exit.InvalidInput(err)
			}
			new, err := asked.Ask(c)
			if err != nil {
				return nil, err
			}
			found := compare(old, new, c.ToolVersion)
			found.Old.File = b.File
			return b.Judge(found)
		},
	}
}
