package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Wait says why a pod has no node, or has not started on its node.
type Wait struct {
	// Message is kube-scheduler's FailedScheduling message, or the API server's message about a pod with scheduling gates. If the pod waits
	// for its volume, it is the FailedAttachVolume message, or names the node to which the volume is attached.
	Message string `json:"message,omitempty"`
	// Reason is SchedulerError if a plugin failed on the pod instead of refusing it, as in the PodScheduled condition; otherwise empty.
	Reason string `json:"reason,omitempty"`
	// Untried is why the scheduler does not try the pod. The API server does not show it, neither as an event nor as a condition.
	Untried string `json:"untried,omitempty"`
}

// NotTried is the prefix of Why for a pod that the scheduler does not try.
const NotTried = "not tried: "

// Why returns the message or, if the scheduler does not try the pod, the reason for that.
func (w Wait) Why() string {
	if w.Untried != "" {
		return NotTried + w.Untried
	}
	return w.Message
}

// Wait returns the reason why the pod has no node.
func (p *Pending) Wait() Wait {
	w := Wait{Message: p.Message, Untried: p.Untried}
	if p.Failed {
		w.Reason = v1.PodReasonSchedulerError
	}
	return w
}

// Why returns the reason why the pod has no node, in words.
func (p *Pending) Why() string { return p.Wait().Why() }

// Describe returns the pod as namespace/name, and the reason why it has no node; empty strings for nil.
func (p *Pending) Describe() (pod, why string) {
	if p == nil {
		return "", ""
	}
	return p.Pod.Namespace + "/" + p.Pod.Name, p.Why()
}

// RecoveredPod is a replacement and its node.
type RecoveredPod struct {
	cluster.PodRef
	Node string `json:"node"`
	// Cycle has what every plugin said about the nodes, if it was recorded.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// Recovered returns the pod with its node. The owner is the result of State.Owners for the pod.
func (p *Placement) Recovered(owner cluster.Ref) RecoveredPod {
	return RecoveredPod{PodRef: cluster.NewPodRef(p.Pod, owner), Node: p.Node, Cycle: p.Cycle}
}

// StrandedPod is a replacement that stays Pending.
type StrandedPod struct {
	cluster.PodRef
	// Node is the pod's node if it has one, on which it waits for its volume.
	Node string `json:"node,omitempty"`
	Wait
	// Reasons count the nodes by the plugin that refused them.
	Reasons []Reason `json:"reasons,omitempty"`
	// Waiting means that the pod gets a node, or starts, as soon as the lost pods that are still Terminating on the failed nodes are gone.
	Waiting bool `json:"waiting,omitempty"`
	// Cycle has what every plugin said about the nodes, if it was recorded.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// Stranded returns the pod with the reason why it does not run. The owner is the result of State.Owners for the pod.
func (p *Pending) Stranded(owner cluster.Ref) StrandedPod {
	return StrandedPod{
		PodRef: cluster.NewPodRef(p.Pod, owner), Node: p.Pod.Spec.NodeName, Wait: p.Wait(), Reasons: p.Reasons, Cycle: p.Cycle,
	}
}

// SameReason returns a key that is the same for pods of one workload that wait for the same reason.
func (p StrandedPod) SameReason() [3]string { return [3]string{p.Namespace, p.Workload, p.Why()} }
