package sched

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// pendingOfTemplate returns why no node takes the pod, if an earlier pod of its template fitted on no node, and all nodes that have changed
// since reject it for the same reasons.
func (e *Engine) pendingOfTemplate(profile *profile, next *queueEntry) (placement.Pending, bool, error) {
	kept := profile.memo()
	if kept == nil || e.Record != nil || !e.decidedByNodes(next.Pod) {
		return placement.Pending{}, false, nil
	}
	if err := e.updateSnapshot(); err != nil {
		return placement.Pending{}, false, err
	}
	profile.beginCycle()
	all, err := e.lister.NodeInfos().List()
	if err != nil {
		return placement.Pending{}, false, err
	}
	var emptied *emptiedNodes // most nodes have not changed
	pending, dryRuns, still := kept.RepeatRefusal(e.ctx, next.Pod, func(state fwk.CycleState, slot int) (*fwk.Status, bool) {
		if emptied == nil {
			emptied = e.emptiedNodesFor(next.Pod, all)
		}
		return emptied.findRejection(e.ctx, state, slot)
	})
	if !still {
		return placement.Pending{}, false, nil
	}
	if e.random != nil && dryRuns > 0 {
		e.random.Int32N(int32(dryRuns)) // as upstream draws the offset at which it starts
	}
	pending.Pod = next.Pod
	return pending, true, e.waiting.Update(next.Pod)
}

// decidedByNodes reports whether only the pod's template, the nodes, and the pods on them with their rules decide about the pod: it has no
// claims, no pod group and no nominated node, and no extender or additional plugin takes part.
func (e *Engine) decidedByNodes(pod *v1.Pod) bool {
	return e.podGroups == nil && pod.Status.NominatedNodeName == "" && !e.foreignDecides(pod) &&
		len(pod.Spec.ResourceClaims) == 0 &&
		!slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return memo.Attaches(&volume) })
}
