package basic

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/simulation"
)

// Values of --failures: what the page of a run shows of failures, the least work first.
const (
	failuresNone    = "none"    // the pods that a failure takes, which the placements show
	failuresLost    = "lost"    // also budgets, quorums and the worst failures of each level
	failuresRecover = "recover" // also the pods that come back
)

var failuresShown = []string{failuresNone, failuresLost, failuresRecover}

// pageFailures is the flag --failures.
type pageFailures struct{ shown string }

func (f *pageFailures) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.shown, "failures", "", "what html shows of failures: `WHAT` is none, lost (what they take) or recover (also what comes back)\n(default recover, or lost for a large cluster, or what the scenario says)")
	output.CompleteValues(cmd, "failures", failuresShown)
}

func (f *pageFailures) check(cmd *cobra.Command, out *output.Flags) error {
	switch {
	case !cmd.Flags().Changed("failures"):
		return nil
	case !slices.Contains(failuresShown, f.shown):
		return exit.Usage(cmd, "--failures: unknown value %q: use one of %s", f.shown, strings.Join(failuresShown, ", "))
	case !out.Has("html"):
		return exit.Usage(cmd, "--failures has no effect without an html report; give -o html or --report html=FILE, or use simulate blast")
	}
	return nil
}

// analyze returns a report on the failures after each step, or nil if the page shows none.
func (f *pageFailures) analyze(c *command.Call, result *simulation.Result) (*blast.Report, error) {
	if f.shown == failuresNone {
		return nil, nil
	}
	return (&FailureFlags{startTime: askblast.DefaultStartTime}).Analyze(c, result, f.showsRecoveries(result))
}

// maxRecovered is the size of a run, in nodes times pods summed over all steps, up to which its page shows recoveries by default.
const maxRecovered = 2_000_000

// showsRecoveries reports whether the page shows which pods come back. The flag decides, then the scenario, then the size of the run: a recovery
// places each lost pod again on all other nodes, for up to a dozen failures of each level.
func (f *pageFailures) showsRecoveries(result *simulation.Result) bool {
	if f.shown != "" {
		return f.shown == failuresRecover
	}
	if asked := result.Scenario.Failures.Recover; asked != nil {
		return *asked
	}
	size := 0
	for _, step := range result.Steps {
		size += len(step.State.Nodes) * len(step.State.Pods)
	}
	return size <= maxRecovered
}
