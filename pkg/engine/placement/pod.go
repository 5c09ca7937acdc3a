package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Wait is why a pod has no node, or has not started on it.
type Wait struct {
	// Message is kube-scheduler's FailedScheduling text, or the API server's text for a pod with scheduling gates. If the pod waits for its
	// volume, it is the FailedAttachVolume text, or says to which node the volume is attached.
	Message string `json:"message,omitempty"`
	// Reason is SchedulerError, as in the PodScheduled condition, where a plugin failed on the pod instead of refusing it.
	Reason string `json:"reason,omitempty"`
	// Untried is why the scheduler does not try the pod. The API server says nothing of it: no event and no condition.
	Untried string `json:"untried,omitempty"`
}

// NotTried is what Why begins with for a pod that the scheduler does not try.
const NotTried = "not tried: "

// Why is the message, unless the scheduler does not even try the pod.
func (w Wait) Why() string {
	if w.Untried != "" {
		return NotTried + w.Untried
	}
	return w.Message
}

// Wait returns why the pod has no node.
func (p *Pending) Wait() Wait {
	w := Wait{Message: p.Message, Untried: p.Untried}
	if p.Failed {
		w.Reason = v1.PodReasonSchedulerError
	}
	return w
}

// Why says why the pod has no node.
func (p *Pending) Why() string { return p.Wait().Why() }

// Said returns the pod as namespace/name, and why it has no node; nothing for nil.
func (p *Pending) Said() (pod, why string) {
	if p == nil {
		return "", ""
	}
	return p.Pod.Namespace + "/" + p.Pod.Name, p.Why()
}

// RecoveredPod is a replacement and its node.
type RecoveredPod struct {
	cluster.PodRef
	Node string `json:"node"`
	// Cycle is what every plugin said of the nodes, where that was asked for.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// Recovered returns the pod with its node. The owner is the one that State.Owners finds for it.
func (p *Placement) Recovered(owner cluster.Ref) RecoveredPod {
	return RecoveredPod{PodRef: cluster.NewPodRef(p.Pod, owner), Node: p.Node, Cycle: p.Cycle}
}

// StrandedPod is a replacement that stays Pending.
type StrandedPod struct {
	cluster.PodRef
	// Node is the pod's node where it has one, on which it waits for its volume.
	Node string `json:"node,omitempty"`
	Wait
	// Reasons count the nodes by refusing plugin.
	Reasons []Reason `json:"reasons,omitempty"`
	// Waiting means that the pod gets a node, or starts, as soon as the lost pods that stay Terminating on the failed nodes are gone.
	Waiting bool `json:"waiting,omitempty"`
	// Cycle is what every plugin said of the nodes, where that was asked for.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// Stranded returns the pod with why it does not run. The owner is the one that State.Owners finds for it.
func (p *Pending) Stranded(owner cluster.Ref) StrandedPod {
	return StrandedPod{
		PodRef: cluster.NewPodRef(p.Pod, owner), Node: p.Pod.Spec.NodeName, Wait: p.Wait(), Reasons: p.Reasons, Cycle: p.Cycle,
	}
}

// SameReason is the same for the pods of one workload that wait for the same reason.
func (p StrandedPod) SameReason() [3]string { return [3]string{p.Namespace, p.Workload, p.Why()} }
