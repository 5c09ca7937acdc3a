package explain

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// FindDecision returns Karmada's decision about the workload in question and the step that has it: the step of the question, or the last step
// with a decision. It returns nil if there is none, for example outside a federation.
func FindDecision(result *simulation.Result, of Question) (at *simulation.Step, decision *world.Decision) {
	for i := range slices.Backward(result.Steps) {
		step := &result.Steps[i]
		if of.Step != "" && step.Name != of.Step {
			continue
		}
		for j := range step.Decisions {
			d := &step.Decisions[j]
			about := func(t *cluster.ResourceTemplate) bool {
				is := func(obj cluster.Object) bool { return of.names(cluster.RefTo(obj)) }
				return t.Key() == d.Binding.Template.Key() &&
					(of.names(cluster.Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}) || slices.ContainsFunc(t.Objects, is))
			}
			if slices.ContainsFunc(step.State.Federation.Control.Templates, about) {
				return step, d
			}
		}
	}
	return nil, nil
}

// memberOf returns the member cluster of the pod if the state is of a federation; nil otherwise.
func memberOf(state *cluster.State, pod *v1.Pod) *cluster.Member {
	if state.Federation == nil {
		return nil
	}
	return state.Federation.Member(pod.Labels[cluster.MemberLabel])
}

// flipsIn returns the flips of a pod in a member cluster, whose own scheduler placed it on one of its own nodes.
func flipsIn(ctx context.Context, config *sched.Config, m *cluster.Member, placed *placement.Placement) ([]Flip, error) {
	if m == nil {
		return Flips(ctx, config, placed)
	}
	native, cycle := *placed, *placed.Cycle
	native.Pod, native.Cycle = m.MemberPod(placed.Pod), &cycle
	_, native.Node = cluster.SplitName(placed.Node)
	_, native.RunnerUp = cluster.SplitName(placed.RunnerUp)
	cycle.Candidates = slices.Clone(cycle.Candidates)
	for i := range cycle.Candidates {
		_, cycle.Candidates[i].Node = cluster.SplitName(cycle.Candidates[i].Node)
	}
	flips, err := Flips(ctx, config, &native)
	for i := range flips {
		flip := &flips[i]
		if flip.Node != "" {
			flip.Node = cluster.JoinName(m.Name, flip.Node)
		}
		if what, node, _ := strings.Cut(flip.Subject, " of "); flip.Of == Capacity {
			flip.Subject = what + " of " + cluster.JoinName(m.Name, node)
		}
	}
	return flips, err
}

// shownName returns the name that a node of the pod's cluster has among the nodes of all clusters.
func (p *pendingPod) shownName(node string) string {
	if p.member == nil {
		return node
	}
	return cluster.JoinName(p.member.Name, node)
}
