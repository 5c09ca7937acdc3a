package operation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askroll "github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/roll"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// rollFlags are the flags of simulate roll.
type rollFlags struct {
	askroll.Options
	operation
	proof     command.Proof
	order     string
	labels    []string
	size      string
	terminate int64
	compare   []string
	plan      bool
}

func newRoll(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var f rollFlags
	cmd := &cobra.Command{
		Use:   "roll [SCENARIO | MANIFEST...] --pool KEY=VALUE",
		Short: "Replace the nodes of a pool in turn, as an upgrade does, and show what it costs",
		Long: `Run a scenario to its end, then replace the nodes of a pool in turn. A turn adds as many new nodes as --surge, cordons and drains as many
old ones as --surge and --max-unavailable together, by evictions that budgets can refuse, removes them, and adds the rest of the new
nodes. Controllers, the scheduler and the autoscaler of the scenario act all the time. A new node is like the one that it replaces.

The report shows whether it ends, how often pods move and how long they are Pending, the moment at which fewest are ready, which
budgets delay or stop it, and how the pods are spread at the end. When a drain does not end by --timeout the roll stops, as most
upgrades do: the report says because of which pod or budget, and is about the time until then. With --keep-going the turns of the
others come. With --plan the nodes that do not answer are removed first, and the budgets that block a drain are patched, each
so that it allows an eviction in a run; the report lists the commands, and is about the roll after them.

--compare tries several values of surge, max-unavailable and order, and sets them side by side. --steps writes what was done as the
steps of a scenario, which gives the same. The exit code is 0 whatever the answer is.`,
		Example: `  simulate roll dump.json --pool pool=general
  simulate roll dump.json --pool instance-type=m5.large --surge 2 --order zone --size cpu=8,memory=32Gi
  simulate roll scenario.yaml --pool pool=general --compare surge=0,1,2 --compare order=name,fewest-pods
  simulate roll dump.json --pool pool=general --plan
  simulate roll dump.json --pool pool=general --steps rolled.yaml --report html=roll.html`,
		RunE: command.Question[roll.Report]{
			Input: &in, Output: &out, Formats: roll.Formats,
			Check: f.check,
			Ask:   f.ask,
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.Pool, "pool", "", "the label of the nodes to replace, as `KEY=VALUE`; instance-type and zone are short keys;\nor the name of a node group")
	flags.IntVar(&f.Surge, "surge", 1, "`NUMBER` of new nodes that a turn adds before it drains")
	flags.IntVar(&f.MaxUnavailable, "max-unavailable", 0, "`NUMBER` of nodes that a turn drains without a new one before\n(default 0, or 1 without a surge)")
	flags.StringVar(&f.order, "order", askroll.Orders()[0], "`ORDER` of the nodes: "+strings.Join(askroll.Orders(), ", "))
	output.CompleteValues(cmd, "order", askroll.Orders())
	flags.StringVar(&f.New.Like, "like", "", "the `NODE` that new nodes are like, in the zones of the old ones (default the node that each replaces)")
	flags.StringArrayVar(&f.labels, "label", nil, "`KEY=VALUE` that new nodes have besides, or in place of another value (repeatable)")
	flags.StringVar(&f.size, "size", "", "`SIZE` of a new node, as cpu=8,memory=32Gi, and pods=110 if that changes\n(default that of the node that it is like)")
	flags.StringVar(&f.New.After, "ready-after", "2m", "`TIME` that a new node takes to be ready")
	flags.StringVar(&f.Drain.Timeout, "timeout", "15m", "`TIME` that the drain of a turn can take")
	flags.BoolVar(&f.Drain.Force, "force", false, "also evict pods without a controller, which nothing replaces")
	flags.BoolVar(&f.Drain.DeleteEmptyDirData, "delete-emptydir-data", true, "also evict pods with emptyDir volumes, whose data is lost")
	flags.BoolVar(&f.KeepGoing, "keep-going", false, "go on with the next node after a drain that does not end, to see what blocks each")
	flags.Int64Var(&f.terminate, "termination-seconds", 0, "`SECONDS` that a pod takes to end, if its grace period is not shorter\n(default as the scenario says, or 1)")
	flags.BoolVar(&f.plan, "plan", false, "first remove the nodes that do not answer and patch the budgets that block a drain, as far as that helps")
	flags.StringArrayVar(&f.compare, "compare", nil, "try several `VALUES`: surge=0,1,2, max-unavailable=0,1 or order=name,zone (repeatable)")
	f.register(cmd, "nodes are replaced")
	f.proof.Register(cmd)
	out.Register(cmd, roll.Formats.Names(), "the answer, on one line", "list every turn")
	return cmd
}

// check checks the flags that do not depend on the scenario.
func (f *rollFlags) check(c *command.Call) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if key, value, found := strings.Cut(f.Pool, "="); key == "" || found && value == "" {
		wrong("--pool: %q is not KEY=VALUE; give a label of the nodes to replace, such as pool=general, or the name of a node group", f.Pool)
	}
	if f.Surge < 0 {
		wrong("--surge: %d is negative; give 0 or more", f.Surge)
	}
	if f.MaxUnavailable < 0 {
		wrong("--max-unavailable: %d is negative; give 0 or more", f.MaxUnavailable)
	}
	if f.Surge == 0 && f.MaxUnavailable == 0 && c.Flags().Changed("max-unavailable") {
		wrong("--surge and --max-unavailable are both 0, and no node could go; give 1 or more for one of them")
	}
	if !slices.Contains(askroll.Orders(), f.order) {
		wrong("--order: %q is no order; give one of %s", f.order, strings.Join(askroll.Orders(), ", "))
	}
	if f.terminate < 0 || f.terminate > 3600 {
		wrong("--termination-seconds: %d is not between 0 and 3600", f.terminate)
	}
	if f.steps != "" && len(f.compare) > 0 {
		wrong("--steps is for one way, and --compare tries several; leave out one of them")
	}
	if f.plan && len(f.compare) > 0 {
		wrong("--plan is for one way, and --compare tries several; leave out one of them")
	}
	f.New.Labels = map[string]string{}
	for _, label := range f.labels {
		key, value, found := strings.Cut(label, "=")
		if !found {
			wrong("--label: %q is not KEY=VALUE; give a label of the new nodes, such as version=2", label)
		}
		f.New.Labels[key] = value
	}
	if f.size != "" && !input.ParseSize(f.size, &f.New.CPU, &f.New.Memory, &f.New.Pods) {
		wrong("--size: %q is no size; give one as cpu=8,memory=32Gi", f.size)
	}
	if f.proof.Runs() && len(f.compare) > 0 {
		wrong("--prove and --proof are for one way, and --compare tries several; leave out one of them")
	}
	if _, err := f.rollOptions(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(exit.UsageProblems(c.Command, problems...), f.proof.Check(c))
}

// rollOptions returns the options of each requested roll: one, or one for each combination of the values of --compare.
func (f *rollFlags) rollOptions() ([]askroll.Options, error) {
	f.Order = askroll.Order(f.order)
	all := []askroll.Options{f.Options}
	var problems []error
	for _, given := range f.compare {
		name, values, _ := strings.Cut(given, "=")
		var next []askroll.Options
		for _, before := range all {
			for _, value := range strings.Split(values, ",") {
				one := before
				n, err := strconv.Atoi(value)
				switch {
				case name == "order" && slices.Contains(askroll.Orders(), value):
					one.Order = askroll.Order(value)
				case name == "surge" && err == nil && n >= 0:
					one.Surge = n
				case name == "max-unavailable" && err == nil && n >= 0:
					one.MaxUnavailable = n
				default:
					problems = append(problems, fmt.Errorf("--compare: %q; give surge=0,1,2, max-unavailable=0,1 or order=%s", given, strings.Join(askroll.Orders(), ",")))
					return nil, errors.Join(problems...)
				}
				next = append(next, one)
			}
		}
		all = next
	}
	for i := range all {
		if all[i].Surge+all[i].MaxUnavailable == 0 {
			all[i].MaxUnavailable = 1
		}
	}
	if len(all) > maxRolls {
		return nil, fmt.Errorf("--compare: %d ways are more than %d; give fewer values", len(all), maxRolls)
	}
	return all, nil
}

// maxRolls is the largest number of rolls to compare.
const maxRolls = 48

func (f *rollFlags) ask(c *command.Call) (*roll.Report, error) {
	s, err := f.load(c)
	if err != nil {
		return nil, err
	}
	if c.Flags().Changed("termination-seconds") {
		changed := *s
		changed.TerminationSeconds = f.terminate
		s = &changed
	}
	result, err := simulation.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")})
	if err != nil {
		return nil, err
	}
	if err := f.checkCluster(c, s, result.State()); err != nil {
		return nil, err
	}
	ways, err := f.rollOptions()
	if err != nil {
		return nil, err
	}
	defer c.Bar.Clear()
	if len(ways) > 1 {
		counts := c.Bar.Counts("ways")
		answers, err := askroll.Compare(c.Context(), result, ways, func(done, total int) { counts("roll", done, total) })
		if err != nil {
			return nil, err
		}
		return roll.New(result, answers, c.ToolVersion), nil
	}
	counts := c.Bar.Counts("nodes")
	ways[0].Progress = func(done, total int) { counts("roll", done, total) }
	run := askroll.Run
	if f.plan {
		run = askroll.RunPlanned
	}
	answer, err := rehearse(&f.operation, s, func(w *world.Cluster) (*askroll.Answer, []scenario.Step, error) {
		answer, err := run(c.Context(), w, result, ways[0])
		if err != nil {
			return nil, nil, err
		}
		return answer, answer.Steps, nil
	})
	if err != nil {
		return nil, err
	}
	found := roll.New(result, []*askroll.Answer{answer}, c.ToolVersion)
	return found, f.proof.Prove(c, s, c.Args, answer.Claims(), &found.Head)
}

// checkCluster checks the flags that name objects of the cluster, and the size of a new node.
func (f *rollFlags) checkCluster(c *command.Call, s *scenario.Scenario, state *cluster.State) error {
	var problems []error
	var err error
	if f.Pool, err = poolSelector(state, f.Pool); err == nil {
		err = scenario.CheckMatches(f.Pool, "node", scenario.NodeLabels(state.Nodes))
	}
	if err != nil {
		problems = append(problems, fmt.Errorf("--pool: %w", err))
	}
	if f.New.Like != "" && state.Node(f.New.Like) == nil {
		problems = append(problems, fmt.Errorf("--like: there is no node %q; give the name of a node", f.New.Like))
	}
	if problems != nil {
		return exit.UsageProblems(c.Command, problems...)
	}
	add, drain := f.New, f.Drain
	add.Count, add.Like = 1, state.Nodes[0].Name
	drain.Names = []string{state.Nodes[0].Name}
	turn := s.AppendQuestion(scenario.Step{Name: "turn: add", AddNodes: &add}, scenario.Step{Name: "turn: drain", Drain: &drain})
	at := turn.StepPath(len(turn.Steps) - 2).Child("addNodes")
	p := &scenario.Problems{File: s.File, Flags: map[string]string{
		at.String(): "size", at.Child("cpu").String(): "size", at.Child("memory").String(): "size", at.Child("pods").String(): "size", at.Child("after").String(): "ready-after",
		turn.StepPath(len(turn.Steps)-1).Child("drain", "timeout").String(): "timeout",
	}}
	for label := range f.New.Labels {
		p.Flags[at.Child("labels").Key(label).String()] = "label"
	}
	scenario.ValidateQuestionSteps(p, turn)
	return exit.InvalidInput(p.Err())
}
