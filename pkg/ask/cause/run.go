package cause

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
)

// InRun returns, for each step, the causes of the pods that are Pending after it. Pods of one workload with the same message share the
// causes of the first.
func InRun(ctx context.Context, result *simulation.Result) ([]map[types.NamespacedName][]Cause, error) {
	f, err := NewFinder(result.Scenario.Config)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []map[types.NamespacedName][]Cause
	for i := range result.Steps {
		found, err := f.inStep(ctx, &result.Steps[i])
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

func (f *Finder) inStep(ctx context.Context, step *simulation.Step) (map[types.NamespacedName][]Cause, error) {
	found := map[types.NamespacedName][]Cause{}
	owner := step.State.Owners()
	type group struct {
		owner   cluster.Ref
		message string
	}
	unbound := list.Where(step.Pending, func(p placement.Pending) bool { return p.Pod.Spec.NodeName == "" })
	for _, alike := range list.Group(unbound, func(p placement.Pending) group { return group{owner(p.Pod), p.Why()} }) {
		causes, err := f.OfPending(ctx, step.State, &alike[0])
		if err != nil {
			return nil, err
		}
		for _, p := range alike {
			found[cluster.NameOf(p.Pod)] = causes
		}
	}
	return found, nil
}

// OfPending returns why a pod of the state is Pending: the gates or the group because of which the scheduler does not try it, or why the
// scheduler refuses it.
func (f *Finder) OfPending(ctx context.Context, state *cluster.State, p *placement.Pending) ([]Cause, error) {
	waits := groupWaits(p)
	switch {
	case p.Message == placement.Gated:
		return append(gates(p.Pod), waits...), nil
	case p.Untried != "":
		return waits, nil
	}
	refused, err := f.inMember(ctx, state, p)
	return append(waits, refused...), err
}

// inMember is [Finder.Causes] for a pod of a single cluster, or of a member of a federation, where only the member's own scheduler and
// nodes count.
func (f *Finder) inMember(ctx context.Context, state *cluster.State, p *placement.Pending) ([]Cause, error) {
	if state.Federation == nil {
		return f.Causes(ctx, state, p.Pod, fitting(state, p)...)
	}
	member := state.Federation.Member(p.Pod.Labels[cluster.MemberLabel])
	if member == nil {
		return nil, nil
	}
	return f.Causes(ctx, member.State, member.Native(p.Pod))
}

// fitting returns the other pods of the pod's group that would have got nodes with it.
func fitting(state *cluster.State, p *placement.Pending) []*v1.Pod {
	if p.Group == nil {
		return nil
	}
	names := map[string]bool{}
	for _, pod := range p.Group.Waiting {
		names[pod.Name] = pod.Node != "" && pod.Name != p.Pod.Name
	}
	return list.Where(state.Pods, func(pod *v1.Pod) bool {
		return pod.Namespace == p.Pod.Namespace && names[pod.Name] && pod.Spec.NodeName == ""
	})
}
