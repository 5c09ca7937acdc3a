// Package drain is the report on a drain: what is evicted, where it goes, and what keeps the drain from its end.
package drain

import (
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on a drain.
const Kind = "DrainReport"

// Report is what kubectl drain would do with nodes, and what keeps it from its end.
type Report struct {
	report.Head
	// Namespace is that of the pods that are listed as evicted, placed, pending and not created; missing where all are. What keeps the drain from its end is
	// listed whatever its namespace.
	Namespace string `json:"namespace,omitempty"`
	// Ends says whether the drain of every node ends, in the order given.
	Ends bool `json:"ends"`
	// Nodes are what comes of each node, in the order given. Where a drain does not end, the next node's turn comes as if kubectl
	// had been given a --timeout.
	Nodes []DrainedNode `json:"nodes"`
	// Order is what comes of an order in which the drain of every node ends, where the one given is none. It is empty if none
	// was found.
	Order []DrainedNode `json:"order,omitempty"`
	// Searched means that another order was searched for. It is not if a node is blocked, since that holds in every order.
	Searched bool `json:"searched,omitempty"`
}

// DrainedNode is what comes of draining one node.
type DrainedNode struct {
	Node string `json:"node"`
	// Ends says whether the drain of the node ends.
	Ends bool `json:"ends"`
	// Evicted are the pods that leave the node, in order of their eviction.
	Evicted []DrainedPod `json:"evicted,omitempty"`
	// Blocked are the pods because of which kubectl evicts none of the node's, in its words.
	Blocked []BlockedPod `json:"blocked,omitempty"`
	// Refused are the pods that are left when nothing moves any more, with the API server's answer to their eviction.
	Refused []BlockedPod `json:"refused,omitempty"`
	// Placed are the pods that get a node meanwhile.
	Placed []placement.RecoveredPod `json:"placed,omitempty"`
	// Pending are the pods that have no node after it.
	Pending []PendingPod `json:"pending,omitempty"`
	// NotCreated are the pods that the API server refuses to create in the place of others, after the drain and not before.
	NotCreated []cluster.Refusal `json:"notCreated,omitempty"`
}

// PendingPod is a pod that has no node after the drain.
type PendingPod struct {
	placement.StrandedPod
	// Before means that it had none before the drain, either, which is then not the cause.
	Before bool `json:"before,omitempty"`
}

// pending are the pods that have no node because of the drain, and those that had none before.
func (n *DrainedNode) pending() (after, before []placement.StrandedPod) {
	for _, pod := range n.Pending {
		if pod.Before {
			before = append(before, pod.StrandedPod)
		} else {
			after = append(after, pod.StrandedPod)
		}
	}
	return after, before
}

// notCreated is how many pods are refused because of the drain.
func (n *DrainedNode) notCreated() int {
	sum := 0
	for _, r := range n.NotCreated {
		sum += r.Pods
	}
	return sum
}

// DrainedPod is a pod that is evicted.
type DrainedPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
}

// BlockedPod is a pod that keeps a drain from its end.
type BlockedPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
	// Reason is kubectl's or the API server's.
	Reason string `json:"reason"`
}
