package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Answer answers the question of flags such as --scale, which add the last steps: what these steps change for the pods of the whole
// cluster. It is "" without such flags.
func Answer(result *simulation.Result) string {
	first := len(result.Steps) - result.Scenario.Asked
	if result.Scenario.Asked == 0 || result.Partial != "" || first < 1 {
		return ""
	}
	asks := func(kind func(*scenario.LoadedStep) bool) bool {
		steps := result.Scenario.Steps
		for i := range result.Scenario.Asked {
			if kind(&steps[len(steps)-1-i]) {
				return true
			}
		}
		return false
	}
	steps := result.Steps[first:]
	was, is := result.Steps[first-1].State, steps[len(steps)-1].State
	before, with := newClusterBefore(was, podsByUID(was)), withNodes(&steps[len(steps)-1])
	switch {
	case asks(func(step *scenario.LoadedStep) bool { return step.ScaleBy != nil || step.Scale != nil }):
		var held []world.Held
		for i := range steps {
			held = append(held, steps[i].Held...)
		}
		asked, fewer := compareReplicas(before.workloads, scalableByOwner(is))
		return newChange(before, steps, asked).answerScale(fewer, describeHeld(held), with)
	case asks(func(step *scenario.LoadedStep) bool { return step.Delete != nil }):
		deleted := deletedObjects(result.Scenario)
		return newChange(before, steps, deleted).answerDeletion(deleted, was, is)
	case asks(func(step *scenario.LoadedStep) bool { return step.ReplaceNodes != nil }):
		return newChange(before, steps, nil).answerRemoval(fmt.Sprintf(": with %d in place of %s", countMissingNodes(is, was), words.Count(countMissingNodes(was, is), "node")))
	case asks(func(step *scenario.LoadedStep) bool { return step.RemoveNodes != nil }):
		return newChange(before, steps, nil).answerRemoval(": without " + words.Count(countMissingNodes(was, is), "node"))
	}
	return newChange(before, steps, nil).answerAddition(countMissingNodes(is, was))
}

// compareReplicas returns the workloads that want more pods than before, and how many pods fewer the others want together.
func compareReplicas(was, is map[cluster.Ref]cluster.Object) (more map[cluster.Ref]bool, fewer int) {
	more = map[cluster.Ref]bool{}
	for ref, obj := range is {
		if was[ref] == nil {
			continue
		}
		had, _ := cluster.Replicas(was[ref])
		has, _ := cluster.Replicas(obj)
		switch {
		case has > had:
			more[ref] = true
		case has < had:
			fewer += int(had - has)
		}
	}
	return more, fewer
}

// countMissingNodes counts the nodes of one state that the other lacks.
func countMissingNodes(of, from *cluster.State) int {
	there, n := from.NodesByName(), 0
	for _, node := range of.Nodes {
		if there[node.Name] == nil {
			n++
		}
	}
	return n
}

// describeHeld says how many of the wanted replicas HorizontalPodAutoscalers allow; "" if they allow all.
func describeHeld(held []world.Held) string {
	switch workloads, replicas, wanted := world.SumHeldBack(held); workloads {
	case 0:
		return ""
	case 1:
		at := slices.IndexFunc(held, func(h world.Held) bool { return h.Replicas < h.Wanted })
		return fmt.Sprintf("a HorizontalPodAutoscaler allows %s %d of %s", held[at].Qualified(), replicas, words.Count(wanted, "replica"))
	default:
		return fmt.Sprintf("HorizontalPodAutoscalers allow %s %d of %s", words.Count(workloads, "workload"), replicas, words.Count(wanted, "replica"))
	}
}

// answerScale answers whether the additional pods of the scaled workloads fit. held says which replicas an autoscaler does not allow, and fewer
// is the number of pods that other workloads lose.
func (c *Change) answerScale(fewer int, held, with string) string {
	switch {
	case c.Short() > 0 && held != "":
		return c.Text(with) + "; " + held
	case c.New > 0 && held != "":
		return "Only in part: " + strings.TrimPrefix(c.Text(with), "Yes: ") + ", but " + held
	case c.New+c.Short() > 0:
		return c.Text(with)
	}
	line := "No pod more: no workload's replicas change"
	switch {
	case fewer > 0 && held != "":
		line = words.Count(fewer, "pod") + " fewer, and " + held
	case fewer > 0:
		line = words.Count(fewer, "pod") + " fewer"
	case held != "":
		line = "No pod more: " + held
	}
	return line + with + c.describeOthers()
}

// answerRemoval answers whether every pod that ran still has a node after nodes were removed or replaced.
func (c *Change) answerRemoval(with string) string {
	if c.Short() == 0 {
		return "Yes" + with + " every pod that ran has a node" + c.describeOthers()
	}
	return "No" + with + strings.TrimPrefix(c.describeLost(), ":") + c.describeOthers()
}

// deletedObjects returns the objects that the steps of the question delete by name.
func deletedObjects(s *scenario.Scenario) map[cluster.Ref]bool {
	deleted := map[cluster.Ref]bool{}
	for _, step := range s.Steps[len(s.Steps)-s.Asked:] {
		for i := 0; step.Delete != nil && i < len(step.Delete.Targets); i++ {
			target := scenario.Target{Target: step.Delete.Targets[i], Namespace: step.Delete.Namespace}
			if ref, err := target.Ref(); err == nil {
				deleted[ref] = true
			}
		}
	}
	return deleted
}

// answerDeletion answers whether every pod that ran still has a node after objects were deleted, besides the pods that go with them.
func (c *Change) answerDeletion(deleted map[cluster.Ref]bool, was, is *cluster.State) string {
	before, after, ownPods := was.PodsByWorkload(), is.PodsByWorkload(), 0
	for ref := range deleted {
		ownPods += max(0, len(before[ref].Placed)-len(after[ref].Placed))
	}
	names := words.Few(list.Map(slices.SortedFunc(maps.Keys(deleted), cluster.Ref.Compare), cluster.Ref.Qualified))
	with, every := ": without "+names, " every pod that ran has a node"
	if ownPods > 0 {
		with, every = fmt.Sprintf(": %s %s with %s", words.Count(ownPods, "pod"), words.Pick(ownPods, "goes", "go"), names), ", and every other pod that ran has a node"
	}
	if c.Short() == 0 {
		return "Yes" + with + every + c.describeOthers()
	}
	return "No" + with + strings.Replace(c.describeLost(), ":", words.Pick(min(ownPods, 1), ", and", ""), 1) + c.describeOthers()
}

// answerAddition answers whether the Pending pods get a node when there are this many more nodes.
func (c *Change) answerAddition(nodes int) string {
	with := "with " + words.Count(nodes, "more node")
	before, after := c.WasPending, c.StillPending+c.ReplacementsPending
	switch {
	case c.Short() > 0:
		return c.Text(", " + with)
	case before == 0 && after == 0:
		return "No pod was Pending before, and none is " + with
	case after == 0:
		return fmt.Sprintf("Yes: %s every pod has a node, %d of them Pending before", with, before)
	case after == before:
		return fmt.Sprintf("No: %s %s no node, as before", with, words.Has(after, "pod"))
	}
	return fmt.Sprintf("No: %s %s no node, of %d before", with, words.Has(after, "pod"), before)
}

// withNodes returns " with 2 more nodes (spot from 3 to 5 nodes)", of the autoscaler or of deciders; "" if none adds or removes one.
func withNodes(step *simulation.Step) string {
	with := doc.WithNodes(step.Autoscaling)
	for _, did := range step.Decided(step.State) {
		with += did.DescribeNodes()
	}
	return with
}
