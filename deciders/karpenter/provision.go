package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/metrics"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/faultline/faultline/deciders/kit/api"
)

// triggerAgain is how often a pod that stays Pending opens a batch: RequeueAfter of pkg/controllers/provisioning/controller.go.
const triggerAgain = 10 * time.Second

// provision collects pods in a batch, and when the batch is full schedules it and creates the NodeClaims that it needs.
func (o *operator) provision(ctx context.Context) error {
	waiting := o.waiting()
	m, now := o.memory, o.clock.now
	seen := lo.Keyify(m.Seen)
	fresh := slices.ContainsFunc(waiting, func(id string) bool { _, ok := seen[id]; return !ok })
	m.Seen = waiting
	if len(waiting) == 0 {
		m.Batch, m.Awaited = nil, nil
		return nil
	}
	state := o.prints.of(o.api)
	retry := !m.Scheduled.IsZero() && state != m.ScheduledOn
	switch {
	case m.Batch == nil && (fresh || retry && !now.Before(m.Scheduled.Add(triggerAgain))):
		m.Batch = &batch{Opened: now, Last: now}
	case m.Batch != nil && fresh:
		m.Batch.Last = now
	}
	if m.Batch == nil {
		if retry {
			o.again(m.Scheduled.Add(triggerAgain))
		}
		for _, id := range m.Awaited { // Karpenter schedules every ten seconds and means the same nodes
			o.nominate(ctx, id)
		}
		return nil
	}
	full := m.Batch.Last.Add(o.options.BatchIdleDuration)
	if latest := m.Batch.Opened.Add(o.options.BatchMaxDuration); latest.Before(full) {
		full = latest
	}
	if now.Before(full) {
		o.again(full)
		return nil
	}
	m.Batch, m.Scheduled, m.ScheduledOn = nil, now, state
	if err := o.schedule(ctx); err != nil {
		return err
	}
	if o.prints.of(o.api) != m.ScheduledOn {
		o.again(now.Add(triggerAgain))
	}
	return nil
}

// waiting returns what triggers the provisioner: pods that the scheduler cannot place, and nodes whose pods must leave.
func (o *operator) waiting() []string {
	var ids []string
	for _, pod := range api.List[corev1.Pod](o.api) {
		if podutil.IsProvisionable(pod) {
			ids = append(ids, shorten(string(pod.UID)))
		}
	}
	for _, node := range api.List[corev1.Node](o.api) {
		if slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.MatchTaint(&v1.DisruptedNoScheduleTaint) }) {
			ids = append(ids, shorten(string(node.UID)))
		}
	}
	return ids
}

func (o *operator) schedule(ctx context.Context) error {
	from := len(o.recorder.events)
	results, err := o.provisioner.Schedule(ctx)
	if err != nil {
		o.failed(err)
		return nil //nolint:nilerr // Karpenter logs it, and schedules again when something has changed
	}
	o.recorder.sort(from)
	o.memory.Awaited = nil
	o.nominated(ctx, results)
	for _, node := range results.ExistingNodes {
		if len(node.Pods) > 0 {
			o.memory.Awaited = append(o.memory.Awaited, node.ProviderID())
		}
	}
	for _, claim := range results.NewNodeClaims {
		reason := fmt.Sprintf("for %d pods", len(claim.Pods))
		if len(claim.Pods) == 1 {
			reason = "for pod " + claim.Pods[0].Name
		}
		_, err := o.provisioner.CreateNodeClaims(api.WithWhy(ctx, reason), []*scheduling.NodeClaim{claim}, provisioning.WithReason(metrics.ProvisionedReason), provisioning.RecordPodNomination)
		if err != nil {
			o.failed(err)
		}
	}
	return o.reconcile(ctx)
}

// nominated keeps which nodes Karpenter has just meant for pods.
func (o *operator) nominated(ctx context.Context, results scheduling.Results) {
	for _, node := range results.ExistingNodes {
		if len(node.Pods) > 0 {
			o.nominate(ctx, node.ProviderID())
		}
	}
}

func (o *operator) nominate(ctx context.Context, providerID string) {
	o.cluster.NominateNodeForPod(ctx, providerID)
	o.memory.Nominated[providerID] = o.clock.now.Add(nominationWindow(o.options))
}
