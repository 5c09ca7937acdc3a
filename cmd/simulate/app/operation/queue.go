package operation

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askqueue "github.com/faultline/faultline/pkg/ask/queue"
	"github.com/faultline/faultline/pkg/report/queue"
	"github.com/faultline/faultline/pkg/simulation"
)

func newQueue(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var timeout command.Timeout
	var jobs []string
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "queue [SCENARIO | MANIFEST...]",
		Short: "Show when Kueue admits jobs, whom it preempts, and how long queues wait",
		Long: `Run a scenario to its end, in which the real Kueue decides when its jobs start, and show the order and the time of their admission, the
flavors that they get, whom Kueue preempts for them, what still waits and why, the waiting time of each queue, and what is used of each quota.
Kueue's program faultline-kueue must be beside simulate or in the PATH (see docs/kueue.md).

Pods run until somebody ends them, so that queues stand still. Give pods of Jobs the annotation faultline.dev/completes-after, or all jobs
without it a --job-duration, and the queues move.`,
		Example: `  simulate queue --cluster dump.json -f queues.yaml -f jobs.yaml
  simulate queue --cluster dump.json -f queues.yaml -f jobs.yaml --job-duration 40m --workload train-7
  simulate queue scenario.yaml -o csv`,
		RunE: command.Question[queue.Report]{
			Input: &in, Output: &out, Formats: queue.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if c.Flags().Changed("job-duration") && duration < time.Second {
					return exit.UsageProblems(c.Command, fmt.Errorf("--job-duration: %s is less than a second; give the time for which pods of Jobs run, such as 10m", duration))
				}
				return in.AddDecider(c.Command, "kueue")
			},
			Ask: func(c *command.Call) (*queue.Report, error) {
				s, err := c.Load(c.Args)
				if err != nil {
					return nil, err
				}
				if duration > 0 {
					s = askqueue.WithJobDuration(s, duration)
				}
				result, answer, err := askqueue.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")})
				if answer == nil {
					return nil, err
				}
				if len(jobs) > 0 && len(answer.Find(jobs...)) == 0 {
					return nil, c.Usage("--workload: no workload of Kueue has the name %q; give the name of a job that has a queue", jobs[0])
				}
				r := queue.New(result, answer, jobs, c.ToolVersion)
				if about := answer.Find(jobs...); err == nil && len(jobs) > 0 && len(about) == 1 && about[0].State == "pending" {
					r.Helps, err = askqueue.Advise(c.Context(), result, about[0])
				}
				return r, err
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	cmd.Flags().StringArrayVar(&jobs, "workload", nil, "answer for this `WORKLOAD` alone, such as train or job/train (repeatable; default all that had no quota before)")
	cmd.Flags().DurationVar(&duration, "job-duration", 0, "how `LONG` the pods of Jobs run, unless the annotation faultline.dev/completes-after says otherwise")
	timeout.Register(cmd)
	out.Register(cmd, queue.Formats.Names(), "the answer, on one line", "list every workload")
	return cmd
}
