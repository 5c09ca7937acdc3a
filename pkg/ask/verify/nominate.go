package verify

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// nomination is a node on which a pod has preempted others. Until the pod comes, pods of no higher priority must leave it that room.
type nomination struct {
	victim, pod *podLife
	boundPod    *v1.Pod // the pod as if it were bound to that node
}

// maxNominationWait is the longest time between a preemption and the arrival of the pod for which it made room.
const maxNominationWait = 2 * time.Minute

// nominations returns the nominations that follow from the preempted pods. If no source names the pod that preempted, it is the next pod of
// higher priority that came to the node.
func (p *past) nominations() []nomination {
	var all []nomination
	on := livesByNode(p.lives)
	for _, victim := range p.lives {
		asked := victim.deletionRequest
		if asked == nil {
			asked = victim.gone
		}
		if !victim.preempted || asked == nil || victim.pod == nil {
			continue
		}
		by := p.byUID[victim.preemptor]
		if victim.preemptor == "" {
			if i := slices.IndexFunc(on[victim.node], func(l *podLife) bool {
				return l.pod != nil && l.at.After(asked.at) && l.at.Sub(asked.at) < maxNominationWait && priority(l.pod) > priority(victim.pod)
			}); i >= 0 {
				by = on[victim.node][i]
			}
		}
		if by != nil && by.pod != nil {
			all = append(all, nomination{victim, by, cluster.BindPod(by.pod, victim.node, by.at)})
		}
	}
	return all
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// clusterAt returns the cluster at that moment as the pod saw it: with the bound pods on their nodes, and without room on the nodes that are
// nominated for other pods if the pod would take their room. See RunFilterPluginsWithNominatedPods in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/runtime/framework.go.
func (r *replay) clusterAt(w clusterMoment, bound []*podLife, pod *v1.Pod) (*cluster.State, error) {
	state := r.stateAt(w.moment, bound, w.endCount)
	var waiting []nomination
	for _, n := range r.nominations {
		if min(n.victim.endsUntilTerminating, n.victim.endsUntilGone) < w.endCount && n.pod.endsUntilGone >= w.endCount && n.pod.pod.UID != pod.UID && priority(n.pod.pod) >= priority(pod) &&
			!slices.Contains(bound, n.pod) &&
			!slices.ContainsFunc(waiting, func(other nomination) bool { return other.pod == n.pod }) {
			waiting = append(waiting, n)
		}
	}
	if len(waiting) == 0 {
		return state, nil
	}
	with := *state
	with.Pods = slices.Clip(state.Pods)
	for _, n := range waiting {
		with.Pods = append(with.Pods, n.boundPod)
	}
	seen, err := r.rankNodes(&with, pod)
	if err != nil {
		return nil, err
	}
	for _, n := range waiting {
		if node := state.Node(n.victim.node); node != nil && seen.feasibleIndex(node.Name) < 0 {
			state = state.With(r.fillNode(node))
		}
	}
	return state, nil
}

// fillNode returns a copy of the node on which no pod fits. It returns the same copy for the same node.
func (r *replay) fillNode(node *v1.Node) *v1.Node {
	if r.fullNodes[node] == nil {
		full := node.DeepCopy()
		full.Status.Allocatable[v1.ResourcePods] = *resource.NewQuantity(0, resource.DecimalSI)
		r.fullNodes[node] = full
	}
	return r.fullNodes[node]
}
