package input

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// Steps are the flags that ask one question about a cluster, such as --add-nodes. Each adds a last step to the scenario, or makes variants
// of it.
type Steps struct {
	addNodes     []string
	like         string
	removeNodes  []string
	replaceNodes []string
	count        int
	scale        []string
	replicas     []string
	deleted      []string
}

// Register adds the flags. With several, each flag takes several values, and each value makes a variant.
func (a *Steps) Register(cmd *cobra.Command, several bool) {
	add, each := "add a last step", ""
	if several {
		add, each = "add a variant for each number", ",…"
	}
	withoutField(cmd, func() { a.register(cmd.Flags(), add, each) })
}

func (a *Steps) register(flags *pflag.FlagSet, add, each string) {
	flags.StringArrayVar(&a.addNodes, "add-nodes", nil, add+" that adds this `NUMBER`"+each+" of nodes like the one that --like names")
	flags.StringVar(&a.like, "like", "", "the `NODE` that the nodes of --add-nodes are like")
	flags.StringArrayVar(&a.removeNodes, "remove-nodes", nil, add+" that removes these `NODES`: NAME,…; LABEL=VALUE; or only a number of the emptiest, of\n"+
		"LABEL=VALUE=NUMBER"+each+" or of all as emptiest=NUMBER"+each+" (repeatable)")
	flags.StringArrayVar(&a.replaceNodes, "replace-nodes", nil, add+" that puts nodes of another type in the place of some: `LABEL=OLD:NEW`, such as\n"+
		"instance-type=m5.2xlarge:m5.4xlarge, or LABEL=OLD:NEW=NUMBER"+each+"; with ,cpu=16,memory=64Gi where no node is of the new type (repeatable)")
	flags.IntVar(&a.count, "count", 0, "put `N` nodes there with --replace-nodes (default as many as have the cpu and memory of the old)")
	flags.StringArrayVar(&a.scale, "scale", nil, add+" that multiplies the replicas of all workloads, of those of -n, or of one, by this `FACTOR`"+each+":\n"+
		"1.2 for 20 % more traffic, or WORKLOAD=FACTOR"+each+" (repeatable)")
	flags.StringArrayVar(&a.replicas, "set-replicas", nil, add+" that scales this workload, as kubectl scale does, as `WORKLOAD=NUMBER`"+each+" (repeatable)")
	flags.StringArrayVar(&a.deleted, "delete", nil, add+" that deletes this `OBJECT`, as kubectl delete does: kind/name or namespace/kind/name (repeatable)")
}

// askedStep is the step that a flag adds. flags maps the paths of its fields to the flags that give them.
type askedStep struct {
	scenario.Step
	flags map[string]string
}

// apply returns the scenario with the steps of the flags at its end. It returns an error if a step is impossible.
func (a *Steps) apply(cmd *cobra.Command, s *scenario.Scenario, namespace string) (*scenario.Scenario, error) {
	steps, err := a.steps(cmd, s, namespace)
	if err != nil || len(steps) == 0 {
		return s, err
	}
	return appendSteps(cmd, s, steps...)
}

// Variants returns one variant of the scenario for each value of the flags.
func (a *Steps) Variants(cmd *cobra.Command, s *scenario.Scenario, namespace string) ([]scenario.LoadedVariant, error) {
	each := *a
	var err error
	if each.replaceNodes, err = a.replacementsWithCount(cmd); err != nil {
		return nil, err
	}
	each.count = 0
	for _, given := range []*[]string{&each.addNodes, &each.removeNodes, &each.replaceNodes, &each.scale, &each.replicas} {
		var all []string
		for _, one := range *given {
			all = append(all, splitAlternatives(one)...)
		}
		*given = all
	}
	steps, err := each.steps(cmd, s, namespace)
	var made []scenario.LoadedVariant
	for i := 0; i < len(steps) && err == nil; i++ {
		name := steps[i].Name
		if slices.ContainsFunc(append(made, s.Variants...), func(v scenario.LoadedVariant) bool { return v.Name == name }) {
			return nil, exit.Usage(cmd, "two variants are called %q; give it once", name)
		}
		v := scenario.NewVariant(s, &scenario.Variant{Name: steps[i].Name})
		v.Scenario, err = appendSteps(cmd, v.Scenario, steps[i])
		made = append(made, *v)
	}
	return made, err
}

// splitAlternatives splits NAME=1,2 into NAME=1 and NAME=2. It leaves a list alone that is not of numbers.
func splitAlternatives(given string) []string {
	name, list := "", given
	if i := strings.LastIndex(given, "="); i >= 0 {
		name, list = given[:i+1], given[i+1:]
	}
	var all []string
	for _, value := range strings.Split(list, ",") {
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return []string{given}
		}
		all = append(all, name+value)
	}
	return all
}

// appendSteps returns the scenario with the steps at its end. It returns an error if a step is impossible.
func appendSteps(cmd *cobra.Command, s *scenario.Scenario, steps ...askedStep) (*scenario.Scenario, error) {
	var added []scenario.Step
	for _, step := range steps {
		if s.StepIndex(step.Name) >= 0 || slices.ContainsFunc(added, func(other scenario.Step) bool { return other.Name == step.Name }) {
			return nil, exit.Usage(cmd, "--%s: there is a step of this name already; give it once", step.Name)
		}
		added = append(added, step.Step)
	}
	s = s.AppendQuestion(added...)
	p := &scenario.Problems{File: s.File, Flags: map[string]string{}}
	for i, step := range steps {
		path := s.StepPath(len(s.Steps) - len(steps) + i)
		for field, flag := range step.flags {
			p.Flags[path.Child(field).String()] = flag
		}
	}
	if scenario.ValidateQuestionSteps(p, s); p.Len() == 0 {
		check.Check(cmd.Context(), p, s)
	}
	return s, exit.InvalidInput(p.Err())
}

func (a *Steps) steps(cmd *cobra.Command, s *scenario.Scenario, namespace string) ([]askedStep, error) {
	if asks := cmd.Flags().Lookup("add-nodes") != nil; asks && cmd.Flags().Changed("add-nodes") != cmd.Flags().Changed("like") {
		return nil, exit.Usage(cmd, "--add-nodes and --like: one has no effect without the other; give both, for example --add-nodes 5 --like worker-1")
	}
	var steps []askedStep
	for _, given := range a.addNodes {
		count, err := strconv.Atoi(given)
		if err != nil {
			return nil, exit.Usage(cmd, "--add-nodes %q: give a number of nodes", given)
		}
		steps = append(steps, askedStep{
			scenario.Step{Name: fmt.Sprintf("add %d like %s", count, a.like), AddNodes: &scenario.AddNodes{Count: count, Like: a.like}},
			map[string]string{"addNodes.count": "add-nodes", "addNodes.like": "like"},
		})
	}
	replaceNodes, err := a.replacementsWithCount(cmd)
	if err != nil {
		return nil, err
	}
	nodes := s.Nodes()
	for _, given := range a.removeNodes {
		removed, err := parseRemoval(nodes, given)
		if err != nil {
			return nil, exit.Usage(cmd, "%s", err)
		}
		flags := map[string]string{"removeNodes": "remove-nodes", "removeNodes.count": "remove-nodes", "removeNodes.selector": "remove-nodes"}
		for i := range removed.Names {
			flags[fmt.Sprintf("removeNodes.names[%d]", i)] = "remove-nodes"
		}
		steps = append(steps, askedStep{scenario.Step{Name: "remove " + given, RemoveNodes: removed}, flags})
	}
	for _, given := range replaceNodes {
		replaced, err := parseReplacement(nodes, given)
		if err != nil {
			return nil, exit.Usage(cmd, "%s", err)
		}
		flags := map[string]string{"replaceNodes": "replace-nodes"}
		for _, field := range []string{"selector", "label", "count", "cpu", "memory", "pods"} {
			flags["replaceNodes."+field] = "replace-nodes"
		}
		steps = append(steps, askedStep{scenario.Step{Name: "replace " + given, ReplaceNodes: replaced}, flags})
	}
	for _, given := range a.scale {
		step := &scenario.ScaleBy{Namespace: namespace}
		factor := given
		if workload, of, found := strings.Cut(given, "="); found {
			step.Workloads, factor = []string{workload}, of
		}
		var err error
		if step.Factor, err = strconv.ParseFloat(factor, 64); err != nil {
			return nil, exit.Usage(cmd, "--scale %q: give a factor such as 1.2 for 20 %% more, or a workload and its factor, such as deployment/web=1.5", given)
		}
		steps = append(steps, askedStep{scenario.Step{Name: "scale " + given, ScaleBy: step}, map[string]string{
			"scaleBy.factor": "scale", "scaleBy.workloads[0]": "scale", "scaleBy.namespace": "namespace",
		}})
	}
	for _, given := range a.replicas {
		workload, number, _ := strings.Cut(given, "=")
		replicas, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return nil, exit.Usage(cmd, "--set-replicas %q: give a workload and its replicas, such as deployment/web=5", given)
		}
		target, err := parseStepTarget(workload, namespace)
		if err != nil {
			return nil, exit.Usage(cmd, "--set-replicas %w", err)
		}
		steps = append(steps, askedStep{scenario.Step{Name: "scale " + given, Scale: &scenario.Scale{Target: target, Replicas: int32(replicas)}}, map[string]string{
			"scale.target": "set-replicas", "scale.namespace": "set-replicas", "scale.replicas": "set-replicas",
		}})
	}
	for _, given := range a.deleted {
		target, err := parseStepTarget(given, namespace)
		if err != nil {
			return nil, exit.Usage(cmd, "--delete %w", err)
		}
		steps = append(steps, askedStep{scenario.Step{Name: "delete " + given, Delete: &scenario.Delete{Targets: []string{target.Target}, Namespace: target.Namespace}}, map[string]string{
			"delete.targets[0]": "delete", "delete.namespace": "delete",
		}})
	}
	return steps, nil
}

// parseStepTarget parses an object that is given as kind/name, in the namespace, or as namespace/kind/name.
func parseStepTarget(given, namespace string) (scenario.Target, error) {
	ref, err := scenario.ParseWorkload(given)
	if cluster.Namespaced(ref.Kind) {
		ref.Namespace = cmp.Or(ref.Namespace, namespace)
	}
	return scenario.Target{Target: ref.String(), Namespace: ref.Namespace}, err
}

// replacementsWithCount returns the values of --replace-nodes with the number of --count in them: LABEL=OLD:NEW=NUMBER, then sizes if any.
func (a *Steps) replacementsWithCount(cmd *cobra.Command) ([]string, error) {
	if a.count == 0 {
		return a.replaceNodes, nil
	}
	if len(a.replaceNodes) == 0 {
		return nil, exit.Usage(cmd, "--count has no effect without --replace-nodes; give both, for example --replace-nodes instance-type=m5.2xlarge:m5.4xlarge --count 3")
	}
	var all []string
	for _, given := range a.replaceNodes {
		types, sizes, sized := strings.Cut(given, ",")
		types = fmt.Sprintf("%s=%d", types, a.count)
		if sized {
			types += "," + sizes
		}
		all = append(all, types)
	}
	return all, nil
}

// parseRemoval parses NAME,…, LABEL=VALUE, LABEL=VALUE=NUMBER or emptiest=NUMBER.
func parseRemoval(nodes []*v1.Node, given string) (*scenario.RemoveNodes, error) {
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
		removed.Selector = topology.ResolveKey(nodes, parts[0]) + "=" + parts[1]
		return removed, nil
	case len(parts) == 3:
		removed.Selector, count = topology.ResolveKey(nodes, parts[0])+"="+parts[1], parts[2]
	}
	var err error
	if removed.Count, err = strconv.Atoi(count); err != nil || removed.Count < 1 {
		return nil, fmt.Errorf("--remove-nodes %q: give names such as worker-1,worker-2, emptiest=10, or a label as role=batch or role=batch=3", given)
	}
	return removed, nil
}

// parseReplacement parses LABEL=OLD:NEW or LABEL=OLD:NEW=NUMBER, with sizes after it such as ,cpu=16,memory=64Gi.
func parseReplacement(nodes []*v1.Node, given string) (*scenario.ReplaceNodes, error) {
	parts := strings.Split(given, ",")
	label, values, _ := strings.Cut(parts[0], "=")
	was, is, _ := strings.Cut(values, ":")
	is, count, counted := strings.Cut(is, "=")
	number, err := strconv.Atoi(count)
	wrong := fmt.Errorf("--replace-nodes %q: give LABEL=OLD:NEW such as instance-type=m5.2xlarge:m5.4xlarge, or LABEL=OLD:NEW=NUMBER, and ,cpu=16,memory=64Gi where no node is of the new type", given)
	if label == "" || was == "" || is == "" || counted && (err != nil || number < 1) {
		return nil, wrong
	}
	key := topology.ResolveKey(nodes, label)
	replaced := &scenario.ReplaceNodes{Nodes: scenario.Nodes{Selector: key + "=" + was}, Label: key + "=" + is, Count: number}
	if len(parts) > 1 && !ParseSize(strings.Join(parts[1:], ","), &replaced.CPU, &replaced.Memory, &replaced.Pods) {
		return nil, wrong
	}
	return replaced, nil
}

// ParseSize parses the size of a node, such as cpu=16,memory=64Gi. It reports whether the text is one.
func ParseSize(text string, cpu, memory, pods *topology.Quantity) bool {
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		resource := map[string]*topology.Quantity{"cpu": cpu, "memory": memory, "pods": pods}[name]
		if resource == nil || value == "" {
			return false
		}
		*resource = topology.Quantity(value)
	}
	return true
}

// stepsOf returns the names of the steps that a run has.
func stepsOf(s *scenario.Scenario) []string {
	var names []string
	for _, step := range simulation.StepsOf(s) {
		names = append(names, step.Name)
	}
	return names
}
