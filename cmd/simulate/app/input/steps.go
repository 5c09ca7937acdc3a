package input

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// Steps are the flags that ask a question about a cluster in one line. Each adds last steps to the scenario.
type Steps struct {
	addNodes    int
	like        string
	removeNodes []string
	scale       []string
}

// Register adds the flags.
func (a *Steps) Register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&a.addNodes, "add-nodes", 0, "add a last step that adds this `NUMBER` of nodes like the one that --like names")
	cmd.Flags().StringVar(&a.like, "like", "", "the `NODE` that the nodes of --add-nodes are like")
	cmd.Flags().StringArrayVar(&a.removeNodes, "remove-nodes", nil, "add a last step that removes these `NODES`: NAME,…; LABEL=VALUE; or only a number of the emptiest, of\n"+
		"LABEL=VALUE=NUMBER or of all as emptiest=NUMBER (repeatable)")
	cmd.Flags().StringArrayVar(&a.scale, "scale", nil, "add a last step that multiplies the replicas of all workloads, of those of -n, or of one, by this `FACTOR`:\n"+
		"1.2 for 20 % more traffic, or WORKLOAD=FACTOR (repeatable)")
}

// askedStep is a step that a flag makes, and the flags that give fields of it, by their paths.
type askedStep struct {
	scenario.Step
	flags map[string]string
}

// apply returns the scenario with the steps at its end, which can be done.
func (a *Steps) apply(cmd *cobra.Command, s *scenario.Scenario, namespace string) (*scenario.Scenario, error) {
	if cmd.Flags().Changed("add-nodes") != cmd.Flags().Changed("like") {
		return nil, exit.Usage(cmd, "--add-nodes and --like: one has no effect without the other; give both, for example --add-nodes 5 --like worker-1")
	}
	steps, err := a.steps(namespace)
	if err != nil {
		return nil, exit.Usage(cmd, "%s", err)
	}
	if len(steps) == 0 {
		return s, nil
	}
	if len(s.Steps) == 0 && !s.Begins() { // what the cluster is like before
		s = s.Then(scenario.Step{Name: scenario.WorkloadsStep})
	}
	p := &scenario.Problems{File: s.File, Flags: map[string]string{}}
	for _, step := range steps {
		if s.Index(step.Name) >= 0 {
			return nil, exit.Usage(cmd, "--%s: there is a step of this name already; give it once", step.Name)
		}
		path := s.StepPath(len(s.Steps))
		for field, flag := range step.flags {
			p.Flags[path.Child(field).String()] = flag
		}
		s = s.Then(step.Step)
		scenario.ValidateStep(p, path, &step.Step, s.Federated())
	}
	if p.Len() == 0 {
		check.Check(cmd.Context(), p, s)
	}
	s.Asked = len(steps)
	return s, exit.Input(p.Err())
}

func (a *Steps) steps(namespace string) ([]askedStep, error) {
	var steps []askedStep
	if a.like != "" || a.addNodes != 0 {
		steps = append(steps, askedStep{
			scenario.Step{Name: fmt.Sprintf("add %d like %s", a.addNodes, a.like), AddNodes: &scenario.AddNodes{Count: a.addNodes, Like: a.like}},
			map[string]string{"addNodes.count": "add-nodes", "addNodes.like": "like"},
		})
	}
	for _, given := range a.removeNodes {
		removed, err := removal(given)
		if err != nil {
			return nil, err
		}
		flags := map[string]string{"removeNodes": "remove-nodes", "removeNodes.count": "remove-nodes", "removeNodes.selector": "remove-nodes"}
		for i := range removed.Names {
			flags[fmt.Sprintf("removeNodes.names[%d]", i)] = "remove-nodes"
		}
		steps = append(steps, askedStep{scenario.Step{Name: "remove " + given, RemoveNodes: removed}, flags})
	}
	for _, given := range a.scale {
		step := &scenario.ScaleBy{Namespace: namespace}
		factor := given
		if workload, of, found := strings.Cut(given, "="); found {
			step.Workloads, factor = []string{workload}, of
		}
		var err error
		if step.Factor, err = strconv.ParseFloat(factor, 64); err != nil {
			return nil, fmt.Errorf("--scale %q: give a factor such as 1.2 for 20 %% more, or a workload and its factor, such as deployment/web=1.5", given)
		}
		steps = append(steps, askedStep{scenario.Step{Name: "scale " + given, ScaleBy: step}, map[string]string{
			"scaleBy.factor": "scale", "scaleBy.workloads[0]": "scale", "scaleBy.namespace": "namespace",
		}})
	}
	return steps, nil
}

// removal reads NAME,…, LABEL=VALUE, LABEL=VALUE=NUMBER or emptiest=NUMBER.
func removal(given string) (*scenario.RemoveNodes, error) {
	parts := strings.Split(given, "=")
	count := ""
	removed := &scenario.RemoveNodes{}
	switch {
	case len(parts) == 1:
		removed.Names = strings.Split(given, ",")
		return removed, nil
	case parts[0] == "emptiest" && len(parts) == 2:
		count = parts[1]
	case len(parts) == 2:
		removed.Selector = topology.Key(parts[0]) + "=" + parts[1]
		return removed, nil
	case len(parts) == 3:
		removed.Selector, count = topology.Key(parts[0])+"="+parts[1], parts[2]
	}
	var err error
	if removed.Count, err = strconv.Atoi(count); err != nil || removed.Count < 1 {
		return nil, fmt.Errorf("--remove-nodes %q: give names such as worker-1,worker-2, emptiest=10, or a label as role=batch or role=batch=3", given)
	}
	return removed, nil
}

// stepsOf returns the names of the steps of a run.
func stepsOf(s *scenario.Scenario) []string {
	var names []string
	for _, step := range simulation.StepsOf(s) {
		names = append(names, step.Name)
	}
	return names
}
