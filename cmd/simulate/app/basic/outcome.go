package basic

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askoutcome "github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/report/outcome"
	"github.com/faultline/faultline/pkg/scenario"
)

// outcomeFlags are the flags that ask for every outcome instead of one.
type outcomeFlags struct {
	method string
	trials int
	until  string
}

// untilTrials is how many trials --until runs if --trials is not given. That always suffices for an interval of ±1 %.
const untilTrials = 100_000

// maxTrials is the largest number of trials. It brings any interval to ±0.1 %, which is [narrowestInterval], the narrowest interval that --until
// accepts.
const (
	maxTrials         = 1_000_000
	narrowestInterval = 0.1
)

func (o *outcomeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.method, "outcomes", "", "report every outcome that ties among nodes lead to, with its probability; `METHOD` is exact")
	flags.IntVar(&o.trials, "trials", 0, "`NUMBER` of runs with random ties, at most 1000000, whose outcomes are reported; trial i uses the seed plus i")
	flags.StringVar(&o.until, "until", "", "stop the trials once the shares are known within ±`PERCENT`, 0.1% to 50% (after at most --trials, default 100000)")
	output.CompleteValues(cmd, "outcomes", []string{"exact"})
}

// anyFlagGiven reports whether any of the flags is given.
func (o *outcomeFlags) anyFlagGiven(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"outcomes", "trials", "until"}, cmd.Flags().Changed)
}

// check checks the flags, and returns the half width of the widest interval that --until allows; 0 is no limit.
func (o *outcomeFlags) check(cmd *cobra.Command, in *input.Flags) (until float64, err error) {
	flags := cmd.Flags()
	trials := flags.Changed("trials") || flags.Changed("until")
	for _, other := range []string{"baseline", "fail-on", "explain", "step", "prove", "proof"} {
		if flags.Changed(other) {
			return 0, exit.Usage(cmd, "--%s is about one run, and cannot be used with --outcomes or --trials", other)
		}
	}
	switch {
	case flags.Changed("outcomes") && trials:
		return 0, exit.Usage(cmd, "--outcomes exact and trials answer the same question; give one of them")
	case flags.Changed("outcomes") && o.method != "exact":
		return 0, exit.Usage(cmd, "--outcomes: unknown method %q: use exact, or give --trials N instead", o.method)
	case flags.Changed("outcomes") && (flags.Changed("seed") || in.File.Ties == "random" || in.File.Arrivals == "random"):
		return 0, exit.Usage(cmd, "--seed and random ties or arrivals have no effect on --outcomes exact; give --trials N instead")
	case flags.Changed("trials") && (o.trials < 1 || o.trials > maxTrials):
		return 0, exit.Usage(cmd, "--trials: %d is out of range; give 1 to %d trials", o.trials, maxTrials)
	case trials && in.File.Ties == "upstream":
		return 0, exit.Usage(cmd, "trials break ties at random; leave out --ties upstream")
	}
	if flags.Changed("until") {
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(o.until, "±"), "+-"), "%")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= narrowestInterval && value <= 50) {
			return 0, exit.Usage(cmd, "--until: %q is not an interval; give a percentage from %g%% to 50%%, for example 1%% or ±1%%", o.until, narrowestInterval)
		}
		until = value / 100
		if o.trials == 0 {
			o.trials = untilTrials
		}
	}
	if trials {
		return until, flags.Set("ties", "random") // so that --seed applies
	}
	return until, nil
}

// trialsGC is the garbage collector's target percentage while trials run. Each trial leaves a few megabytes of garbage and keeps almost
// nothing, so that the default would collect a small heap all the time.
const trialsGC = 1000

// question returns the question for every outcome.
func (o *outcomeFlags) question(in *input.Flags, out *output.Flags, timeout *command.Timeout) command.Question[outcome.Report] {
	var until float64
	return command.Question[outcome.Report]{
		Input: in, Output: out, Formats: outcome.Formats, Timeout: timeout,
		Check: func(c *command.Call) (err error) {
			until, err = o.check(c.Command, in)
			return err
		},
		Ask: command.AskScenario(func(c *command.Call, loaded *scenario.Scenario) (*outcome.Report, error) {
			if loaded.Federated() {
				return nil, input.FederationError(c.CommandPath()+" with --outcomes or --trials", loaded)
			}
			if loaded.Autoscaler != nil && o.trials == 0 {
				return nil, c.Usage("--outcomes exact follows ties among nodes that are there, and the scenario has an autoscaler, which adds nodes; give --trials 100 instead")
			}
			if len(loaded.Deciders) > 0 && o.trials == 0 {
				return nil, c.Usage("--outcomes exact follows the scheduler's ties alone, and a decider leaves more to chance; give --trials 20 instead")
			}
			defer debug.SetGCPercent(debug.SetGCPercent(trialsGC))
			opts := askoutcome.Options{Progress: c.Bar.Counts("runs")}
			if o.trials > 0 {
				set, stopped := askoutcome.RunTrials(c.Context(), loaded, o.trials, until, opts)
				if set == nil {
					return nil, stopped
				}
				return outcome.NewTrials(set, c.ToolVersion), stopped
			}
			// An interrupted search has no answer: no probability is known before every outcome is.
			exact, err := askoutcome.RunExact(c.Context(), loaded, opts)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", loaded.Name, err)
			}
			return outcome.NewExact(exact, c.ToolVersion), nil
		}),
	}
}
