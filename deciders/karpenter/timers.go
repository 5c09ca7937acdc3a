package main

import (
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/node/termination"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/lifecycle"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/faultline/faultline/deciders/kit/api"
)

const registrationTimeout = 15 * time.Minute // of pkg/controllers/nodeclaim/lifecycle/liveness.go

// farthest is how far ahead an expiration may be for simulate to go there. Nodes expire after 30 days by default, and the ones that replace them
// 30 days later: no cluster would ever be at rest.
const farthest = 24 * time.Hour

// askAgain asks again at each time at which one of Karpenter's controllers would do something although nothing has changed.
func (o *operator) askAgain() {
	pools := o.poolsByName()
	for _, claim := range api.List[v1.NodeClaim](o.api) {
		if deleted(claim) {
			o.whenDrained(claim)
			continue
		}
		if claim.Spec.ExpireAfter.Duration != nil {
			if at := claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration); at.Sub(o.clock.now) <= farthest {
				o.again(at)
			}
		}
		launched, registered := condition(claim, v1.ConditionTypeLaunched), condition(claim, v1.ConditionTypeRegistered)
		switch {
		case launched.IsUnknown():
			o.again(launched.LastTransitionTime.Add(lifecycle.LaunchTimeout))
		case registered.IsUnknown():
			o.again(registered.LastTransitionTime.Add(registrationTimeout))
		}
		initialized := condition(claim, v1.ConditionTypeInitialized)
		if pool := pools[claim.Labels[v1.NodePoolLabelKey]]; pool != nil && initialized.IsTrue() && pool.Spec.Disruption.ConsolidateAfter.Duration != nil {
			since := initialized.LastTransitionTime.Time
			if !claim.Status.LastPodEventTime.IsZero() {
				since = claim.Status.LastPodEventTime.Time
			}
			o.again(since.Add(*pool.Spec.Disruption.ConsolidateAfter.Duration))
		}
	}
	for id, until := range o.memory.Nominated {
		if !slices.Contains(o.memory.Awaited, id) {
			o.again(until)
		}
	}
	for _, pod := range api.List[corev1.Pod](o.api) {
		protected, err := time.ParseDuration(pod.Annotations[v1.DoNotDisruptAnnotationKey])
		if err == nil && pod.Status.StartTime != nil && podutil.IsActive(pod) {
			o.again(pod.Status.StartTime.Add(protected))
		}
	}
	if o.state() != o.memory.Quiet && o.memory.Proposal == nil {
		o.again(o.tick(pollingPeriod))
		if o.tick(pollingPeriod).Equal(o.clock.now) {
			o.again(o.clock.now.Add(pollingPeriod))
		}
	}
}

// whenDrained asks again when the node of a deleted NodeClaim has drained long enough, or when its pods are not waited for any longer.
func (o *operator) whenDrained(claim *v1.NodeClaim) {
	if drained := claim.StatusConditions().Get(v1.ConditionTypeDrained); drained != nil && drained.IsUnknown() {
		o.again(drained.LastTransitionTime.Add(termination.MinDrainTime))
	}
	end, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey])
	if err != nil {
		return
	}
	o.again(end.Add(time.Second))
	for _, pod := range api.List[corev1.Pod](o.api) {
		if pod.Spec.NodeName == claim.Status.NodeName && pod.Spec.TerminationGracePeriodSeconds != nil {
			o.again(end.Add(time.Second - time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second))
		}
	}
}

func condition(claim *v1.NodeClaim, name string) *status.Condition {
	if found := claim.StatusConditions().Get(name); found != nil {
		return found
	}
	return &status.Condition{}
}
