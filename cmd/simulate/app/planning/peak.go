package planning

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askcapacity "github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/claim"
	askpeak "github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/peak"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

func newPeak(s command.Streams) *cobra.Command {
	var in input.Flags
	var survive input.Survival
	var step, replicas string
	var share float64
	var cronJobs []string
	var proof command.Proof
	var out output.Flags
	var timeout command.Timeout
	cmd := &cobra.Command{
		Use:   "peak [SCENARIO | MANIFEST...]",
		Short: "Show what breaks when every HorizontalPodAutoscaler is at its maximum and a zone is lost, and what helps",
		Long: `Run a scenario to its end, scale the workload of every HorizontalPodAutoscaler to its maxReplicas in one moment, and lose each
domain of --survive after that, one at a time. The report says how many pods have no node then, which ceiling binds (the maximum of a node
group, a quota, the pods that a node takes, a rule, a volume), who loses pods to whom, how much of the way from the present replicas to the
peak is safe, and which changes help, first those that no other beats in pods without a node and price: larger maxima, more or larger nodes, a
CapacityBuffer, softer rules, lower maxima, a priority. Each change is run before it is printed. A KEDA ScaledObject is the
HorizontalPodAutoscaler that KEDA makes of it.

The way is tried in steps of a tenth, and in single percent between the last tenth that is safe and the next. Whether a share is safe does
not follow from another share; the report lists the ones that were tried. Pods that are Pending before the peak are counted apart.

A Cluster Autoscaler, of the scenario or with --autoscale, adds nodes before and after each loss, within the limits of its groups.
Whether the load ever gets there is not asked: the maxima, --at and --replicas say how many replicas there are.`,
		Example: `  simulate peak dump.json
  simulate peak dump.json --survive zone --autoscale --node-group general=3:12
  simulate peak dump.json --survive zone --at 0.8
  simulate peak dump.json --replicas peak.csv
  simulate peak dump.json --with-cronjobs busiest
  simulate peak --context prod --survive zone -o json`,
		RunE: command.Question[peak.Report]{
			Input: &in, Output: &out, Formats: peak.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if !(share >= 0 && share <= 1) {
					return c.Usage("--at: %v is not from 0 to 1; give a share of the way to the peak, such as 0.8", share)
				}
				return errors.Join(survive.Check(c.Command), proof.Check(c))
			},
			Ask: func(c *command.Call) (*peak.Report, error) {
				loaded, err := loadOneCluster(c, step)
				if err != nil {
					return nil, err
				}
				asked := scenario.Peak{Share: &share}
				if asked.CronJobs, err = nameCronJobs(c, loaded, cronJobs); err != nil {
					return nil, err
				}
				if replicas != "" {
					if asked.Replicas, err = readReplicas(c, loaded, replicas); err != nil {
						return nil, err
					}
				}
				result, err := simulation.Run(c.Context(), askcapacity.Base(loaded, ""), simulation.Options{Progress: c.Bar.Counts("pods")})
				if err != nil {
					return nil, err
				}
				state := result.State()
				if _, _, err := world.FindPeak(state, &asked); err != nil {
					return nil, exit.InvalidInput(fmt.Errorf("--replicas %s: %w", replicas, err))
				}
				failing, err := survive.Options(state.Nodes, result.Scenario)
				if err != nil {
					return nil, c.Usage("%s", err)
				}
				answer, stopped := askpeak.Find(c.Context(), result, askpeak.Options{Survive: failing.Survive, Mode: failing.Mode, Peak: asked, Progress: c.Bar.Counts("tries")})
				if answer == nil {
					return nil, stopped
				}
				found := peak.New(result, answer, c.ToolVersion)
				if stopped != nil {
					return found, stopped
				}
				return found, proof.Prove(c, loaded, c.Args, answer.Claims(), &found.Head)
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.Namespace.Register(cmd, false)
	survive.Register(cmd, &in)
	cmd.Flags().Float64Var(&share, "at", 1, "how far workloads go from their present replicas to the peak, from 0 to 1: a `SHARE` such as 0.8")
	cmd.Flags().StringVar(&replicas, "replicas", "", "replicas of workloads at the peak, in place of maxReplicas: a CSV `FILE` with the columns workload and replicas")
	cmd.Flags().StringArrayVar(&cronJobs, "with-cronjobs", nil, "also run this `CRONJOB` at the peak; all is each,\nand busiest those that are due in the busiest hour of the next 31 days (repeatable)")
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` after which the load grows (default the last)")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, peak.Formats.Names(), "the answer, on one line", "list every workload")
	return cmd
}

// nameCronJobs returns the CronJobs of the flag as a step names them.
func nameCronJobs(c *command.Call, s *scenario.Scenario, given []string) ([]string, error) {
	busiest := list.Where(given, func(name string) bool { return name == scenario.BusiestCronJobs })
	named := list.Without(given, func(name string) bool { return name == scenario.BusiestCronJobs })
	found, err := s.CronJobs("--with-cronjobs", c.Input.Namespace.Qualify(named...))
	if err != nil {
		return nil, c.Usage("%s", err)
	}
	return append(busiest, list.Map(found, claim.WorkloadName)...), nil
}

// readReplicas reads the replicas of workloads from a CSV file: lines of a workload, as kind/name, namespace/kind/name or NAME, and a number.
// The first line may have titles. If a workload is there twice, as with several time series, its largest number counts.
func readReplicas(c *command.Call, s *scenario.Scenario, file string) (map[string]int32, error) {
	data, err := manifest.ReadFile(output.ProgressFS{Bar: c.Bar}, c.Streams.In, file)
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	reader := csv.NewReader(strings.NewReader(string(data)))
	reader.FieldsPerRecord, reader.TrimLeadingSpace, reader.Comment = 2, true, '#'
	replicas := map[string]int32{}
	var problems []error
	for first := true; ; first = false {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := reader.FieldPos(0)
		if err != nil {
			return nil, exit.InvalidInput(fmt.Errorf("%s: %w; give lines of a workload and its replicas, such as shop/deployment/web,12", file, err))
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(record[1]), 64)
		if err != nil && first {
			continue // titles
		}
		if err != nil || n < 0 || n != float64(int32(n)) {
			problems = append(problems, fmt.Errorf("%s:%d: %q is not a whole number of replicas, 0 or more", file, line, record[1]))
			continue
		}
		named, err := c.Input.Namespace.QualifyWorkloads(c.Command, fmt.Sprintf("%s:%d:", file, line), s, []string{strings.TrimSpace(record[0])})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		replicas[named[0]] = max(replicas[named[0]], int32(n))
	}
	return replicas, exit.InvalidInput(errors.Join(problems...))
}
