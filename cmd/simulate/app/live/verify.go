package live

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askverify "github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/verify"
	"github.com/faultline/faultline/pkg/scenario"
)

func newVerify(s command.Streams) *cobra.Command {
	opts := s.LoaderOptions()
	var sources askverify.Sources
	var least string
	var within input.Namespace
	var connection input.Connection
	var out output.Flags
	var timeout command.Timeout
	var watch time.Duration
	var record string
	cmd := &cobra.Command{
		Use:   "verify [DUMP... | RECORDING]",
		Short: "Count how many placements of a real cluster are on one of the scheduler's best nodes",
		Long: `Replay the dump of a real cluster in the order in which its pods were scheduled, and count how many nodes are among the
scheduler's best, each judged on the cluster as it was just before. Differences are classified by their possible cause.

A dump does not contain pods that are gone. With the cluster's events, its audit logs or an earlier dump, those pods are put where
they were, from their scheduling until their deletion.

With --watch, nothing has to be inferred: each placement is judged on the cluster as it was just before, as it happens, with a line on
standard error. Ctrl-C ends it, and prints the summary so far. --record keeps what happened in a file, which verify judges again.`,
		Example: `  ` + input.KubectlGet + ` > dump.json
  simulate verify dump.json
  simulate verify --context prod
  kubectl get events -A -o json > events.json
  simulate verify dump.json --events events.json
  simulate verify dump.json --audit audit.log --earlier yesterday.json
  simulate verify dump.json --scheduler-config scheduler.yaml --min-agreement 95%
  simulate verify --context prod --watch 10m --record prod.jsonl
  simulate verify prod.jsonl
  simulate verify - --report markdown=verify.md < dump.json`,
		RunE: command.Question[verify.Report]{
			Output: &out, Formats: verify.Formats, Timeout: &timeout,
			Ask: func(c *command.Call) (*verify.Report, error) {
				asks := input.HasLiveFlag(c.Command) || input.IsPlugin(c.Command) && len(c.Args) == 0
				if len(c.Args) == 0 && !asks {
					return nil, c.Usage("no dump given; give --context, or the file that %s wrote, or - for standard input", input.KubectlGet)
				}
				if problem := checkWatch(c, asks, watch, record, sources); problem != nil {
					return nil, problem
				}
				asked, err := minAgreement(c.Command, least)
				if err != nil {
					return nil, err
				}
				opts.Dump, opts.FS = true, output.ProgressFS{Bar: c.Bar}
				files := c.Args
				if asks {
					var name string
					if name, opts, err = connection.Load(c.Command, c.Bar, opts); err != nil {
						return nil, err
					}
					files = slices.Concat([]string{name}, files)
				}
				var recorded []byte
				if len(files) == 1 && !asks && manifest.IsRecording(opts.FS, files[0]) {
					if recorded, err = manifest.ReadFile(opts.FS, nil, files[0]); err != nil {
						return nil, exit.InvalidInput(err)
					}
				}
				loaded, err := exit.CallInterruptibly(c.Context(), func() (*scenario.Scenario, error) { return loader.FromFiles(s.In, files, nil, opts) })
				if err != nil {
					return nil, exit.InvalidInput(err)
				}
				if err := within.Check(c.Command, "pod", input.NamespacesOf(loaded)); err != nil {
					return nil, err
				}
				// Earlier dumps are admitted by the same release as this one.
				if err := sched.SetRelease(loaded.Config.Release()); err != nil {
					return nil, err
				}
				history, err := askverify.ReadHistory(sources)
				if err != nil {
					return nil, exit.InvalidInput(err)
				}
				var result *askverify.Result
				var stopped error
				switch {
				case watch > 0:
					result, stopped = verifyLive(c, &connection, loaded, watch, record)
				case recorded != nil:
					result, stopped = verifyRecording(c, loaded, files[0], recorded)
				default:
					result, stopped = askverify.Run(c.Context(), loaded, askverify.Options{History: history, Progress: c.Bar.Counts("pods")})
				}
				if errors.Is(stopped, askverify.ErrNothing) || errors.Is(stopped, askverify.ErrForeign) {
					return nil, exit.InvalidInput(stopped)
				}
				if result == nil {
					return nil, stopped
				}
				if stopped != nil {
					asked = nil // the flag is about a complete result
				}
				if only := within.Listed(); only != "" {
					result = result.In(only)
				}
				found := verify.New(result, asked, c.ToolVersion)
				return found, command.UnmetUnless(found.Met(), stopped)
			},
		}.Run(s),
	}
	flags := cmd.Flags()
	within.Register(cmd, true)
	connection.Register(cmd)
	flags.StringArrayVar(&sources.Events, "events", nil, "`FILE` of the cluster's events, as kubectl get events -A -o json writes it (repeatable)")
	flags.StringArrayVar(&sources.Audit, "audit", nil, "`FILE` of the API server's audit log, one line per event of audit.k8s.io/v1 (repeatable)")
	flags.StringArrayVar(&sources.Earlier, "earlier", nil, "`FILE` of an earlier dump of the cluster (repeatable)")
	flags.StringVar(&opts.SchedulerConfig, "scheduler-config", "", "`FILE` of the cluster's KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)")
	flags.StringVar(&opts.FeatureGates, "feature-gates", "", "feature `GATES` of kube-scheduler to set, as NAME=true,NAME=false")
	flags.DurationVar(&watch, "watch", 0, "watch a live cluster for this `TIME`, and judge each placement as it happens")
	output.FileVar(cmd, &record, "record", "", "`FILE` to which --watch writes what happens, which verify and run read")
	input.RegisterStrict(cmd, &opts.Strict)
	input.RegisterScheduler(cmd, &opts)
	flags.StringVar(&least, "min-agreement", "", "exit with 3 if fewer than this `PERCENT` of the choices that can be judged, those explained and the contradictions, are explained")
	timeout.Register(cmd)
	out.Register(cmd, verify.Formats.Names(), "the summary", "list every pod, however many there are")
	return cmd
}

// checkWatch checks the flags that depend on --watch.
func checkWatch(c *command.Call, live bool, watch time.Duration, record string, sources askverify.Sources) error {
	switch given := c.Flags().Changed("watch"); {
	case given && watch <= 0:
		return c.Usage("--watch: %s is not longer than 0; give a time such as 10m", watch)
	case given && !live:
		return c.Usage("--watch needs a live cluster; give --context, or leave it out to verify a dump or a recording")
	case record != "" && !given:
		return c.Usage("--record has no effect without --watch; give both")
	case given && len(sources.Events)+len(sources.Audit)+len(sources.Earlier) > 0:
		return c.Usage("--events, --audit and --earlier have no effect with --watch, which sees everything itself; leave them out")
	}
	return nil
}

// minAgreement parses "95%" or "95". It returns nil if the flag is not given.
func minAgreement(cmd *cobra.Command, given string) (*float64, error) {
	if !cmd.Flags().Changed("min-agreement") {
		return nil, nil
	}
	least, err := strconv.ParseFloat(strings.TrimSuffix(given, "%"), 64)
	if err != nil || !(least >= 0 && least <= 100) {
		return nil, exit.Usage(cmd, "--min-agreement: %q is not a percentage; give a number from 0 to 100, for example 95%%", given)
	}
	return &least, nil
}
