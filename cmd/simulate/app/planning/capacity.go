package planning

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askcapacity "github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/usage"
	"github.com/faultline/faultline/pkg/report/capacity"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

func newCapacity(s command.Streams) *cobra.Command {
	var in input.Flags
	var workloads, mixes, cronJobs, usages []string
	var survive input.Survival
	var step string
	var upTo int
	var out output.Flags
	var timeout command.Timeout
	var proof command.Proof
	cmd := &cobra.Command{
		Use:   "capacity [TYPE/NAME|NAME...] [SCENARIO | MANIFEST...]",
		Short: "Show how many more replicas fit, even if a zone or a node fails, and what the limit is",
		Long: `Run a scenario to its end, then let the scheduler find how many more replicas fit before the first pod stays Pending: of each
workload alone, or of a mix. With --survive they must also come back when any one domain of the level fails, and the report shows
whether the cluster is safe now; simulate plan finds what to add if not. It also shows what keeps the next pod off every node, and where
the free resources are; without a workload also the free CPU and memory that no workload can use, by node group and reason. Where a
search would take minutes, of many workloads in a large cluster, of hundreds more of a StatefulSet or of thousands more with --survive,
it ends at 50 more, or twice the present ones; the report then says "at least 50", and --up-to goes on. The tightest workloads are
listed first.

Pods that no controller replaces after a failure, such as those of StatefulSets on unreachable nodes, need no room; the report
counts them. HorizontalPodAutoscalers are ignored.`,
		Example: `  simulate capacity scenario.yaml
  simulate capacity deploy/web scenario.yaml --survive zone
  simulate capacity scenario.yaml --with-cronjobs all
  simulate capacity scenario.yaml --mix deployment/web=2,deployment/api=1 --survive zone --survive node
  simulate capacity dump.json deploy/web -n shop --usage top.txt
  simulate capacity dump.json --workload shop/deployment/web --survive rack --mode out-of-service -o json`,
		ValidArgsFunction: input.CompleteTargets(scenario.ReplicatedKinds[:4]), // the kinds that can grow
		RunE: command.Question[capacity.Report]{
			Input: &in, Output: &out, Formats: capacity.Formats, Timeout: &timeout, Check: func(c *command.Call) error { return errors.Join(survive.Check(c.Command), proof.Check(c)) },
			Ask: func(c *command.Call) (*capacity.Report, error) {
				if upTo < 0 {
					return nil, c.Usage("--up-to: %d is negative; give a number of replicas, or 0 for no limit", upTo)
				}
				targets, files := input.SplitTargets(c.Args)
				for name, rest := input.SplitName(files); name != ""; name, rest = input.SplitName(rest) {
					targets, files = append(targets, name), rest
				}
				loaded, err := c.Load(files)
				if err != nil {
					return nil, err
				}
				if step != "" {
					loaded = loaded.CutAfter(step)
				}
				loaded, running, err := withCronJobs(c, loaded, cronJobs)
				if err != nil {
					return nil, err
				}
				result, err := simulation.Run(c.Context(), askcapacity.Base(loaded, ""), simulation.Options{Progress: c.Bar.Counts("pods")})
				if err != nil {
					return nil, err
				}
				state := result.State()
				named, grown, err := resolveGrowth(c, result, append(targets, workloads...), mixes)
				if err != nil {
					return nil, err
				}
				asked, wrong := askcapacity.Mixes(state, named, grown)
				opts, wrongLevels := survive.Options(state.Nodes, result.Scenario)
				if err := errors.Join(wrong, wrongLevels); err != nil {
					return nil, c.Usage("%s", err)
				}
				if c.Flags().Changed("up-to") {
					opts.UpTo = cmp.Or(upTo, askcapacity.NoLimit)
				}
				opts.Progress = c.Bar.Counts("workloads")
				answers, stopped := askcapacity.Find(c.Context(), result, asked, opts)
				if answers == nil {
					return nil, stopped
				}
				var used []askcapacity.Usage
				if len(usages) > 0 && stopped == nil {
					used, stopped = fitByUsage(c, loaded, state, usages, answers, asked, opts)
				}
				var safety []askcapacity.Safety
				if stopped == nil {
					opts.Progress = c.Bar.Counts("tries")
					safety, stopped = askcapacity.CheckSafety(c.Context(), result, opts)
				}
				if stopped != nil && !exit.Interrupted(stopped) {
					return nil, stopped
				}
				found := capacity.New(result, answers, safety, opts, c.ToolVersion)
				found.CronJobs, found.Usage = askcapacity.CronJobs(state, running), used
				if len(targets)+len(workloads)+len(mixes) == 0 {
					if found.Stranded, err = askcapacity.FindStranded(state, result.Scenario.LevelKeys); err != nil {
						return nil, err
					}
				}
				if stopped != nil || !proof.Requested(c) {
					return found, stopped
				}
				claims, err := askcapacity.Claims(result, answers, opts)
				if err != nil {
					return nil, err
				}
				return found, proof.Prove(c, loaded, files, claims, &found.Head)
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	in.Namespace.Register(cmd, true)
	flags.StringArrayVar(&workloads, "workload", nil, "`WORKLOAD` to add replicas to, as kind/name or namespace/kind/name, or NAME\nif no other has it (repeatable; default every Deployment, ReplicaSet, StatefulSet and\nReplicationController)")
	flags.StringArrayVar(&mixes, "mix", nil, "workloads that grow together, as `WORKLOAD=PROPORTION,…` (repeatable)")
	registerWithCronJobs(cmd, &cronJobs)
	flags.StringArrayVar(&usages, "usage", nil, "show how much of their requests workloads use, and what fits if they requested that, by this `FILE`:\n"+
		"what kubectl top pods -A --containers prints, or a Prometheus instant vector as JSON (repeatable)")
	survive.Register(cmd, &in)
	flags.IntVar(&upTo, "up-to", 0, "look for at most this `NUMBER` more; 0 for no limit (default 50, or twice the present ones, where all would take\nminutes, and else no limit)")
	flags.StringVar(&step, "step", "", "the `STEP` after which replicas are added (default the last)")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, capacity.Formats.Names(), "the summary", "list every workload, however many there are")
	return cmd
}

// fitByUsage reads how much containers use, and adds to the answers how many replicas would fit if requests were equal to that usage.
func fitByUsage(c *command.Call, s *scenario.Scenario, state *cluster.State, files []string, answers []askcapacity.Mix, asked [][]askcapacity.Share, opts askcapacity.Options) ([]askcapacity.Usage, error) {
	used := usage.Usage{}
	for _, file := range files {
		data, err := manifest.ReadFile(output.ProgressFS{Bar: c.Bar}, nil, file)
		if err == nil {
			err = used.AddFile(file, data, cmp.Or(c.Input.Namespace.Name, v1.NamespaceDefault))
		}
		if err != nil {
			return nil, exit.InvalidInput(err)
		}
	}
	sums := askcapacity.UsageOf(state, used)
	if len(sums) == 0 {
		return nil, c.Usage("--usage: no pod of %s runs in the cluster; give the usage of its pods, and their namespaces", strings.Join(files, ", "))
	}
	result, err := simulation.Run(c.Context(), askcapacity.Base(askcapacity.RequestAsUsed(s, state, used), ""), simulation.Options{Progress: c.Bar.Counts("pods")})
	if err != nil {
		return sums, err
	}
	opts.Survive = nil
	found, err := askcapacity.Find(c.Context(), result, asked, opts)
	for j := range answers {
		for k := range found {
			if found[k].Name == answers[j].Name {
				answers[j].IfUsed = &found[k].Fit
			}
		}
	}
	return sums, err
}

// resolveGrowth returns the named workloads and mixes, qualified by their namespace. If none is named, it returns every workload of the namespace
// of -n.
func resolveGrowth(c *command.Call, result *simulation.Result, workloads, mixes []string) (named, grown []string, err error) {
	var known []string
	for _, owner := range askcapacity.Workloads(result.State()) {
		known = append(known, owner.Namespace)
		if owner.Namespace == c.Input.Namespace.Listed() && len(workloads)+len(mixes) == 0 {
			named = append(named, owner.Namespace+"/"+owner.String())
		}
	}
	slices.Sort(known)
	if err := c.Input.Namespace.Check(c.Command, "workload", slices.Compact(known)); err != nil {
		return nil, nil, err
	}
	single, problem := c.Input.Namespace.QualifyWorkloads(c.Command, "--workload", result.Scenario, workloads)
	for _, mix := range mixes {
		shares, err := c.Input.Namespace.QualifyWorkloads(c.Command, "--mix", result.Scenario, strings.Split(mix, ","))
		problem = errors.Join(problem, err)
		grown = append(grown, strings.Join(shares, ","))
	}
	return append(named, single...), grown, problem
}

// registerWithCronJobs adds --with-cronjobs, for commands that look for room.
func registerWithCronJobs(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringArrayVar(names, "with-cronjobs", nil, "count a run of this `CRONJOB` as under way, as at its hour; all is each (repeatable)")
}

// withCronJobs returns the scenario with a run of each named CronJob under way, and the CronJobs.
func withCronJobs(c *command.Call, s *scenario.Scenario, names []string) (*scenario.Scenario, []cluster.Ref, error) {
	found, err := s.CronJobs("--with-cronjobs", c.Input.Namespace.Qualify(names...))
	if err != nil {
		return nil, nil, c.Usage("%s", err)
	}
	return s.AppendRuns(found...), found, nil
}
