package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/basic"
	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/ask/look"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/metrics"
	"github.com/faultline/faultline/pkg/web"
	"github.com/faultline/faultline/pkg/words"
)

// minInterval is the shortest time between two looks, which spares the API server.
const minInterval = time.Second

func newWatch(s command.Streams) *cobra.Command {
	var in input.Flags
	var opts look.Options
	var every time.Duration
	var address string
	var workloads int
	cmd := &cobra.Command{
		Use:   "watch [SCENARIO | MANIFEST...]",
		Short: "Look at a cluster again and again, and serve what would be lost as metrics for Prometheus",
		Long: `Read a live cluster, or a dump, again and again, and serve as metrics for Prometheus: the pods that would not come back if a region,
zone, rack or node failed, and the worst of these; how many more replicas of each workload fit; which pods are Pending, by plugin; how many
findings lint has; how many placements contradict the simulation.

A look that fails is noted on standard error and counted; the figures stay those of the last good one. Interrupt the command to end it:
that is success, exit code 0.`,
		Example: `  simulate watch --context prod
  simulate watch --context prod --every 10m --metrics 127.0.0.1:9464 --level zone
  simulate watch dump.json --every 1m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(in.Cluster)+len(in.Files) == 0 && !input.HasLiveFlag(cmd) && !input.IsPlugin(cmd) {
				return exit.Usage(cmd, "no cluster given; give --context, or a dump, which is read anew each time")
			}
			var problems []error
			if every < minInterval {
				problems = append(problems, fmt.Errorf("--every: %s is shorter than %s; give a time such as 5m", every, minInterval))
			}
			if workloads < 1 {
				problems = append(problems, fmt.Errorf("--workloads: %d is less than 1; give the number of workloads with a series of their own", workloads))
			}
			if opts.UpTo < 1 {
				problems = append(problems, fmt.Errorf("--up-to: %d is less than 1; give the number of replicas to look for", opts.UpTo))
			}
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				problems = append(problems, fmt.Errorf("--metrics %s: give HOST:PORT, such as 127.0.0.1:9464", address))
			}
			if err := exit.UsageProblems(cmd, problems...); err != nil {
				return err
			}
			w := &watcher{exporter: metrics.New(s.ToolVersion, workloads), look: func(ctx context.Context) (*look.Look, error) {
				again := in // each look reads everything again
				c := command.NewCall(cmd, s, &again, args)
				defer c.Bar.Done()
				loaded, err := c.Load(args)
				if err != nil {
					return nil, err
				}
				return look.At(ctx, loaded, opts)
			}}
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return fmt.Errorf("--metrics %s: %w; give another address, or port 0 for any that is free", address, err)
			}
			fmt.Fprintf(s.Err, "metrics are at http://%s/metrics; interrupt to end it\n", listener.Addr())
			server := &http.Server{Handler: web.HostsOf(host).CheckService(w.exporter.Handler()), ReadHeaderTimeout: 10 * time.Second}
			served := make(chan error, 1)
			go func() { served <- server.Serve(listener) }()
			defer server.Close()
			say := func(text string) {
				fmt.Fprintf(s.Err, "%s %s\n", time.Now().UTC().Format(time.RFC3339), manifest.Clean(text))
			}
			return w.run(cmd.Context(), every, served, say)
		},
	}
	in.Register(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&every, "every", 5*time.Minute, "the `TIME` from the beginning of one look to that of the next")
	flags.StringVar(&address, "metrics", "127.0.0.1:9464", "`ADDRESS` to serve the metrics at; anybody who can reach it can read them")
	flags.StringArrayVar(&opts.Levels, "level", nil, "topology `KEY` whose domains fail, such as rack; cluster, region, zone and node are short names\n(repeatable; default every level of the nodes)")
	flags.IntVar(&opts.Worst, "worst", basic.DefaultWorst, "`NUMBER` of the worst failures of each level to recover from; 0 for all")
	flags.IntVar(&opts.UpTo, "up-to", 10, "look for at most this `NUMBER` more replicas of each workload")
	flags.IntVar(&workloads, "workloads", 20, "`NUMBER` of workloads with a series of their own: the worst; the others are in one")
	return cmd
}

// watcher looks at a cluster in a loop.
type watcher struct {
	exporter *metrics.Exporter
	look     func(context.Context) (*look.Look, error)
}

// run looks until the context ends, which is not an error, or until the server fails.
func (w *watcher) run(ctx context.Context, every time.Duration, served <-chan error, say func(string)) error {
	for {
		begun := time.Now()
		switch l, err := w.look(ctx); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			w.exporter.CountFailure()
			say("the look failed: " + err.Error())
		default:
			took := time.Since(begun)
			w.exporter.Set(l, begun, took)
			say(summarizeLook(l) + fmt.Sprintf(" (%s)", took.Round(time.Millisecond)))
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return fmt.Errorf("metrics are served no more: %w", err)
		case <-time.After(time.Until(begun.Add(every))):
		}
	}
}

// summarizeLook returns a line about a look.
func summarizeLook(l *look.Look) string {
	pending := 0
	for _, n := range l.Pending {
		pending += n
	}
	worst := l.Worst()
	text := fmt.Sprintf("%s and %s, %d Pending", words.Count(l.Nodes, "node"), words.Count(l.Running, "pod"), pending)
	switch {
	case l.Running == 0:
		return text + "; no pod has a node: there is nothing that a failure could take"
	case worst.NotBack == 0:
		return text + "; every pod comes back from any failure that was looked at"
	}
	return text + fmt.Sprintf("; %s would not come back if %s=%s failed", words.Count(worst.NotBack, "pod"), worst.Key, worst.Domain)
}
