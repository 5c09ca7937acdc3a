package cause

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
)

// ExplainRun returns, for each step, the causes of the pods that are Pending after it. Pods of one workload with the same message share the
// causes of the first.
func ExplainRun(ctx context.Context, result *simulation.Result) ([]map[types.NamespacedName][]Cause, error) {
	f, err := NewFinder(result.Scenario.Config)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []map[types.NamespacedName][]Cause
	for i := range result.Steps {
		found, err := f.explainStep(ctx, &result.Steps[i])
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

func (f *Finder) explainStep(ctx context.Context, step *simulation.Step) (map[types.NamespacedName][]Cause, error) {
	found := map[types.NamespacedName][]Cause{}
	owner := step.State.Owners()
	type group struct {
		owner   cluster.Ref
		message string
	}
	unbound := list.Where(step.Pending, func(p placement.Pending) bool { return p.Pod.Spec.NodeName == "" })
	for _, alike := range list.GroupBy(unbound, func(p placement.Pending) group { return group{owner(p.Pod), p.Why()} }) {
		causes, err := f.ExplainPending(ctx, step.State, &alike[0])
		if err != nil {
			return nil, err
		}
		for _, p := range alike {
			found[cluster.NameOf(p.Pod)] = causes
		}
	}
	return found, nil
}

// ExplainPending returns why a pod of the state is Pending: the gates or the group because of which the scheduler does not try it, or why the
// scheduler refuses it.
func (f *Finder) ExplainPending(ctx context.Context, state *cluster.State, p *placement.Pending) ([]Cause, error) {
	waits := groupCauses(p)
	switch {
	case p.Message == placement.Gated:
		return append(gateCauses(p.Pod), waits...), nil
	case p.Untried != "":
		return slices.Concat(waits, missingGroup(state, p.Pod), missingTemplates(state, p.Pod), absentScheduler(state, p)), nil
	}
	refused, err := f.explainInMember(ctx, state, p)
	return append(waits, refused...), err
}

// explainInMember is [Finder.Causes] for a pod of a single cluster, or of a member of a federation, where only the member's own scheduler and
// nodes count.
func (f *Finder) explainInMember(ctx context.Context, state *cluster.State, p *placement.Pending) ([]Cause, error) {
	if state.Federation == nil {
		return f.Causes(ctx, state, p.Pod, fittingPods(state, p)...)
	}
	member := state.Federation.Member(p.Pod.Labels[cluster.MemberLabel])
	if member == nil {
		return nil, nil
	}
	return f.Causes(ctx, member.State, member.MemberPod(p.Pod))
}

// fittingPods returns the other pods of the pod's group that would have got nodes with it.
func fittingPods(state *cluster.State, p *placement.Pending) []*v1.Pod {
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
