package world

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// Slow is a workload for which the autoscaler adds nodes over several loops. In each loop its estimate ends at a pod that does not fit onto
// another new node of the group; in the next loop, when the new nodes are ready, the pod does.
type Slow struct {
	cluster.Ref
	// Loops counts the loops whose estimate ended that way, Of counts the loops that added nodes, and Most is the most nodes that one of
	// the Loops added.
	Loops int `json:"loops"`
	Of    int `json:"of"`
	Most  int `json:"most"`
	// Reasons say why another new node cannot take the next pod, in the scheduler's words. Spreads are the topology keys of the pod's hard
	// spread constraints, if they are the reason.
	Reasons []string `json:"reasons"`
	Spreads []string `json:"spreads,omitempty"`
}

// recordSlowWorkloads counts the workloads for which the loop added fewer nodes than they need.
func (a *Autoscaling) recordSlowWorkloads(owner func(*v1.Pod) cluster.Ref, decision *autoscaler.Decision) {
	if len(decision.Plan) == 0 {
		return
	}
	a.scaleUps++
	picked := slices.IndexFunc(decision.Options, func(o autoscaler.Option) bool { return o.Group == decision.Picked })
	if picked >= 0 {
		for _, held := range decision.Options[picked].Held {
			s := Slow{Ref: owner(held.Pods[0]), Reasons: held.Reasons}
			if slices.Contains(held.Reasons, sched.TooSkewed) {
				s.Spreads = hardSpreadKeys(held.Pods[0])
			}
			at := slices.IndexFunc(a.Slow, func(of Slow) bool { return of.Ref == s.Ref && slices.Equal(of.Reasons, s.Reasons) })
			if at < 0 {
				at = len(a.Slow)
				a.Slow = append(a.Slow, s)
			}
			a.Slow[at].Loops++
			nodes := 0
			for _, share := range decision.Plan {
				nodes += share.To - share.From
			}
			a.Slow[at].Most = max(a.Slow[at].Most, nodes)
		}
	}
	for i := range a.Slow {
		a.Slow[i].Of = a.scaleUps
	}
}

// hardSpreadKeys returns the topology keys of the pod's hard spread constraints.
func hardSpreadKeys(pod *v1.Pod) []string {
	var keys []string
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			keys = append(keys, c.TopologyKey)
		}
	}
	return keys
}
