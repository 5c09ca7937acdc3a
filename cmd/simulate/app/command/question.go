package command

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Question is a question that a command asks. Run checks the flags, shows progress, and writes the report in each requested format.
type Question[R any] struct {
	Input   *input.Flags // nil for a command that takes no scenario
	Output  *output.Flags
	Formats report.Formats[R]
	// Timeout, if set, ends the question after a time.
	Timeout *Timeout
	// Check checks the command's own flags. Its problems are reported together with those of the output flags. Default: no check.
	Check func(c *Call) error
	// Ask returns the report. If it returns an error, too, the report is incomplete or an expectation is not met.
	Ask func(c *Call) (*R, error)
	// Write writes the report in one format. Default: Formats.Write.
	Write func(w io.Writer, r *R, format string, opts report.Options) error
}

// Run returns the function that a cobra command runs to ask the question.
func (q Question[R]) Run(s Streams) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return q.answer(NewCall(cmd, s, q.Input, args)) }
}

func (q Question[R]) answer(c *Call) error {
	defer c.Bar.Done()
	problems := q.Output.Check(c.Command, q.Formats.Names())
	if q.Check != nil {
		problems = errors.Join(problems, q.Check(c))
	}
	var limit time.Duration
	if q.Timeout != nil {
		var problem error
		limit, problem = q.Timeout.limit(c.Command)
		problems = errors.Join(problems, problem)
	}
	if problems != nil {
		return problems
	}
	if limit > 0 {
		ctx, stop := exit.WithTimeLimit(c.Context(), limit)
		defer stop()
		c.SetContext(ctx)
	}
	found, stopped := exit.CallPatiently(c.Context(), func() (*R, error) { return q.Ask(c) })
	c.Bar.Done()
	if exit.Interrupted(stopped) && exit.TimeOver(c.Context()) {
		stopped = nil
		if found == nil {
			return errNothingKnown
		}
	}
	if found == nil {
		return stopped
	}
	rename := Renamer(c.Root())
	write := func(w io.Writer, format string, opts report.Options) error {
		opts.Rename = rename
		switch {
		case c.Page != nil && format == "html":
			return c.Page.WriteHTML(w)
		case q.Write != nil:
			return q.Write(w, found, format, opts)
		}
		return q.Formats.Write(w, found, format, opts)
	}
	if c.Receive != nil {
		c.Receive(&Answer{Write: write, Proof: c.proof, NoProof: c.noProof})
		return stopped
	}
	return cmp.Or(q.Output.Write(c.Streams.Out, write), stopped)
}

// AskScenario returns an Ask that first loads the scenario that the command line names.
func AskScenario[R any](ask func(c *Call, s *scenario.Scenario) (*R, error)) func(*Call) (*R, error) {
	return func(c *Call) (*R, error) {
		s, err := c.Load(c.Args)
		if err != nil {
			return nil, err
		}
		return ask(c, s)
	}
}

// AskRun returns an Ask that first runs the scenario that the command line names.
func AskRun[R any](ask func(c *Call, result *simulation.Result) (*R, error)) func(*Call) (*R, error) {
	return func(c *Call) (*R, error) {
		result, err := c.Run(c.Args)
		if err != nil {
			return nil, err
		}
		return ask(c, result)
	}
}

// UnmetUnless returns the error that goes with a report: stopped, or exit.ErrUnmet if the report is complete and does not meet the expectations.
func UnmetUnless(met bool, stopped error) error {
	if stopped == nil && !met {
		return exit.ErrUnmet
	}
	return stopped
}
