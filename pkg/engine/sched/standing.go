package sched

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// refusedStill returns why no node takes the pod, if that was found for an earlier pod of its template, and all nodes that have changed since
// say the same.
func (e *Engine) refusedStill(profile *profile, next *entry) (placement.Pending, bool, error) {
	kept := profile.memo()
	if kept == nil || e.Record != nil || !e.decidedByNodes(next.Pod) {
		return placement.Pending{}, false, nil
	}
	if err := e.update(); err != nil {
		return placement.Pending{}, false, err
	}
	profile.begin()
	all, err := e.lister.NodeInfos().List()
	if err != nil {
		return placement.Pending{}, false, err
	}
	var emptied *emptiedNodes // most nodes have not changed
	pending, dryRuns, still := kept.StillRefused(e.ctx, next.Pod, func(state fwk.CycleState, slot int) (*fwk.Status, bool) {
		if emptied == nil {
			emptied = e.emptied(next.Pod, all)
		}
		return emptied.rejection(e.ctx, state, slot)
	})
	if !still {
		return placement.Pending{}, false, nil
	}
	if e.random != nil && dryRuns > 0 {
		e.random.Int32N(int32(dryRuns)) // as upstream draws where it begins
	}
	pending.Pod = next.Pod
	return pending, true, e.waiting.Update(next.Pod)
}

// decidedByNodes reports whether nothing decides about the pod but its template, the nodes, the pods on them and their rules: neither claims,
// nor a pod group, nor a node that is nominated for it, nor what is not kube-scheduler's own.
func (e *Engine) decidedByNodes(pod *v1.Pod) bool {
	return e.gangs == nil && pod.Status.NominatedNodeName == "" && !e.foreign(pod) &&
		len(pod.Spec.ResourceClaims) == 0 &&
		!slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return memo.Attaches(&volume) })
}
