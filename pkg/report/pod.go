package report

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Reason is one plugin's refusal of a number of nodes.
type Reason struct {
	Plugin  string `json:"plugin"`
	Message string `json:"message"`
	Nodes   int    `json:"nodes"`
}

// Decision is how a pod's node was chosen.
type Decision struct {
	// Feasible is the number of nodes that passed every filter, of those looked at; Scored the number that were scored. A
	// single feasible node is taken unscored.
	Feasible int `json:"feasible"`
	Scored   int `json:"scored"`
	// Ties is the number of nodes with the top score, the chosen one included.
	Ties int `json:"ties"`
	// Margin is the top score less the next lower one.
	Margin int64 `json:"margin"`
	// RunnerUp is the best node below the top.
	RunnerUp string `json:"runnerUp,omitempty"`
	// Deciders are the plugins without whose score other nodes would have been the best.
	Deciders []string `json:"deciders,omitempty"`
	// Scores are the chosen node's, by plugin: weighted, and the difference to the runner-up's.
	Scores []Score `json:"scores,omitempty"`
}

// Score is one plugin's part in a decision.
type Score struct {
	Plugin string `json:"plugin"`
	// Weighted is the chosen node's normalised score times the plugin's weight.
	Weighted int64 `json:"weighted"`
	// Ahead is by how much that exceeds the runner-up's.
	Ahead int64 `json:"ahead"`
}

// RecoveredPod is a replacement and its node.
type RecoveredPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case.
	Workload string `json:"workload,omitempty"`
	Node     string `json:"node"`
	// Cycle is what every plugin said of the nodes, where that was asked for.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// StrandedPod is a replacement that stays Pending.
type StrandedPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case.
	Workload string `json:"workload,omitempty"`
	// Node is the pod's node where it has one, on which it waits for its volume.
	Node string `json:"node,omitempty"`
	// Message is kube-scheduler's FailedScheduling text, or says to which node the volume is attached.
	Message string `json:"message,omitempty"`
	// Reason is SchedulerError, as in the PodScheduled condition, where a plugin failed on the pod instead of refusing it.
	Reason string `json:"reason,omitempty"`
	// Untried is why the scheduler does not try the pod. The API server says nothing of it: no event and no condition.
	Untried string `json:"untried,omitempty"`
	// Reasons count the nodes by refusing plugin.
	Reasons []Reason `json:"reasons,omitempty"`
	// Waiting means that the pod gets a node, or starts, as soon as the lost pods that stay Terminating on the failed nodes are gone.
	Waiting bool `json:"waiting,omitempty"`
	// Cycle is what every plugin said of the nodes, where that was asked for.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// SameReason is the same for the pods of one workload that wait for the same reason.
func (p StrandedPod) SameReason() [3]string {
	return [3]string{p.Namespace, p.Workload, p.Why()}
}

// Why is why the pod has no node.
func (p StrandedPod) Why() string { return Why(p.Message, p.Untried) }

// Why is the pod's message, unless the scheduler does not even try it.
func Why(message, untried string) string {
	p := placement.Pending{Message: message, Untried: untried}
	return p.Why()
}

func NewReasons(given []placement.Reason) []Reason {
	var reasons []Reason
	for _, reason := range given {
		reasons = append(reasons, Reason(reason))
	}
	return reasons
}

func NewDecision(placed *placement.Placement) *Decision {
	d := &Decision{Feasible: placed.Feasible, Scored: placed.Scored, Ties: placed.Ties, Margin: placed.Margin}
	for _, decider := range placed.Deciders {
		d.Deciders = append(d.Deciders, decider.Plugin)
	}
	if placed.RunnerUp != nil {
		d.RunnerUp = placed.RunnerUp.Node
	}
	for i, score := range placed.Scores {
		s := Score{Plugin: score.Plugin, Weighted: score.Weighted}
		if placed.RunnerUp != nil {
			s.Ahead = score.Weighted - placed.RunnerUp.Scores[i].Weighted
		}
		d.Scores = append(d.Scores, s)
	}
	return d
}

func NewRecovered(placed placement.Placement, owner func(*v1.Pod) cluster.Ref) RecoveredPod {
	return RecoveredPod{
		Namespace: placed.Pod.Namespace, Name: placed.Pod.Name, Workload: OwnerName(owner(placed.Pod)), Node: placed.Node,
		Cycle: NewCycle(placed.Cycle, placed.Node),
	}
}

func NewStranded(pending placement.Pending, owner func(*v1.Pod) cluster.Ref) StrandedPod {
	return StrandedPod{
		Namespace: pending.Pod.Namespace, Name: pending.Pod.Name, Workload: OwnerName(owner(pending.Pod)),
		Node: pending.Pod.Spec.NodeName, Message: pending.Message, Reason: pending.ConditionReason(), Untried: pending.Untried,
		Reasons: NewReasons(pending.Reasons), Cycle: NewCycle(pending.Cycle, ""),
	}
}

// RefusedPod is the pod as namespace/name, and why it has no node.
func RefusedPod(refused *placement.Pending) (name, message string) {
	if refused == nil {
		return "", ""
	}
	return refused.Pod.Namespace + "/" + refused.Pod.Name, refused.Why()
}

// WorkloadOf is the workload of a pod of a report, its kind in lower case; a pod without one is its own.
func WorkloadOf(namespace, workload, pod string) cluster.Ref {
	kind, name, found := strings.Cut(workload, "/")
	if !found {
		kind, name = "pod", pod
	}
	return cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
}

// WorkloadOf is the pod's workload.
func (p StrandedPod) WorkloadOf() cluster.Ref { return WorkloadOf(p.Namespace, p.Workload, p.Name) }
