package cause

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
)

// TaintToleration looks at a node before NodeAffinity does. So the message says nothing of a label that no node has, if all nodes are tainted.

// behindTaints returns why NodeAffinity would refuse the nodes that are cordoned or have a taint, if no node of the cluster meets the pod's selector and
// NodeAffinity refuses no other node, which would say the same.
func (v *view) behindTaints(refusals []pluginRefused) []Cause {
	if slices.ContainsFunc(v.state.Nodes, func(node *v1.Node) bool { return cluster.Attracts(node, v.pod) }) {
		return nil
	}
	var tainted refused
	for _, plugin := range refusals {
		switch plugin.name {
		case "NodeAffinity":
			return nil
		case "TaintToleration", "NodeUnschedulable":
			tainted.nodes = append(tainted.nodes, plugin.nodes...)
		}
	}
	causes := nodeAffinities(v, tainted)
	for i := range causes {
		causes[i].Behind = true
	}
	return causes
}

// NodeResourcesFit looks at a node before the plugins for volumes, spreading and affinity do. So the message says of a full node only that the
// node is full, even if the pod's volume is in another zone and room there would not help.

// behindRoom returns why other plugins would refuse the nodes that NodeResourcesFit refuses, if these had room. It marks these nodes in the
// view.
func (f *Finder) behindRoom(ctx context.Context, v *view, refusals []pluginRefused) ([]Cause, error) {
	full := map[string]bool{}
	for _, plugin := range refusals {
		for _, node := range plugin.nodes {
			full[node.Name] = plugin.name == "NodeResourcesFit"
		}
	}
	if len(list.Where(v.state.Nodes, func(node *v1.Node) bool { return full[node.Name] })) == 0 {
		return nil, nil
	}
	small := withoutRequests(v.pod)
	state := v.state.With(small)
	result, err := f.placePod(ctx, state, small)
	if err != nil {
		return nil, err
	}
	cycle := cycleOf(result)
	if cycle == nil {
		return nil, nil
	}
	roomy := newView(state, small, v.Occupancy, cycle)
	for node, verdict := range v.verdicts { // a node that would take the pod with room is full
		if _, refused := roomy.verdicts[node]; !refused {
			roomy.verdicts[node] = verdict
		}
	}
	v.behind = map[string]bool{}
	var behind []pluginRefused
	for _, plugin := range groupRefusals(state, cycle) {
		if plugin.name == "NodeResourcesFit" { // the node takes no more pods, however small
			continue
		}
		plugin.nodes = list.Where(plugin.nodes, func(node *v1.Node) bool { return full[node.Name] })
		for _, node := range plugin.nodes {
			v.behind[node.Name] = true
		}
		if len(plugin.nodes) > 0 {
			behind = append(behind, plugin)
		}
	}
	causes := roomy.findCauses(behind)
	for i := range causes {
		causes[i].Behind = true
	}
	return causes, nil
}

// withoutRequests returns a copy of the pod that asks for no resource.
func withoutRequests(pod *v1.Pod) *v1.Pod {
	small := pod.DeepCopy()
	small.Spec.Resources, small.Spec.Overhead = nil, nil
	for _, containers := range [][]v1.Container{small.Spec.InitContainers, small.Spec.Containers} {
		for i := range containers {
			containers[i].Resources.Requests, containers[i].Resources.Limits = nil, nil
		}
	}
	return small
}

// cycleOf returns the cycle of the only pod of the result; nil if the scheduler failed before it looked at nodes.
func cycleOf(result *placement.Result) *placement.Cycle {
	switch {
	case len(result.Placed) > 0:
		return result.Placed[0].Cycle
	case len(result.Pending) > 0:
		return result.Pending[0].Cycle
	}
	return nil
}
