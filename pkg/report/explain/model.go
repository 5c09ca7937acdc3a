// Package explain is the report on why pods are where they are, or Pending, and what would change that.
package explain

import (
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on why pods are where they are.
const Kind = "ExplainReport"

// Report is why pods got their nodes, or none, and what would have changed that.
type Report struct {
	report.Head
	// Binding is what Karmada has decided about the workload, in a federation.
	Binding *Binding `json:"binding,omitempty"`
	// Pods are the pods that were asked for, in the order in which the scheduler looked at them.
	Pods []Explanation `json:"pods"`
	// More is the number of further pods of the workload, which are not explained.
	More int `json:"more,omitempty"`
}

// Binding is what Karmada has decided about a workload, and why.
type Binding struct {
	// Step is the step after which it is so.
	Step string `json:"step"`
	// Template is the workload or the custom resource, and Policy the policy that claimed it.
	Template string `json:"template"`
	Policy   string `json:"policy"`
	// Division is how replicas are divided among the selected clusters; missing for what has none.
	Division string `json:"division,omitempty"`
	// Reason and Message are those of the condition Scheduled.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Clusters are the clusters that were looked at in the last attempt to schedule it: the feasible ones, the best first, then those that were refused.
	Clusters []ClusterVerdict `json:"clusters"`
	// Takings are the single changes with which Karmada takes a workload that it refuses, each verified by having it scheduled again after the
	// step, and Tried are those that were tried and do not help.
	Takings []Taking `json:"takings,omitempty"`
	Tried   []string `json:"tried,omitempty"`
}

// Taking is a single change with which Karmada takes a workload.
type Taking struct {
	// Change is what to change, in words.
	Change string `json:"change"`
	// Clusters are those that the workload then gets.
	Clusters []Target `json:"clusters"`
}

// Target is a cluster with the replicas that it gets; 0 where they are not counted.
type Target struct {
	Cluster  string `json:"cluster"`
	Replicas int32  `json:"replicas"`
}

// ClusterVerdict is what Karmada decided about a cluster.
type ClusterVerdict struct {
	Cluster string `json:"cluster"`
	// Filter is the plugin that refused it, and Refusal why; both are missing if none did.
	Filter  string `json:"filter,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	// Score is that of a feasible cluster, and Room how many more replicas fit by the estimate.
	Score int64 `json:"score"`
	Room  int32 `json:"room"`
	// Selected says whether it is among those that the replicas were divided among, and Replicas are those that it got.
	Selected bool  `json:"selected"`
	Replicas int32 `json:"replicas"`
	// Running and Pending are the pods that the cluster has of the workload after the step.
	Running int `json:"running"`
	Pending int `json:"pending"`
}

// Explanation is why a pod got its node, or none.
type Explanation struct {
	// Step is the step in which the scheduler looked at the pod.
	Step      string `json:"step"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
	// Node is the pod's node; empty where it got none, and Message is then kube-scheduler's text.
	Node    string `json:"node,omitempty"`
	Message string `json:"message,omitempty"`
	// Reason is SchedulerError, as in the PodScheduled condition, where a plugin failed on the pod instead of refusing it.
	Reason string `json:"reason,omitempty"`
	// Untried is why the scheduler does not try the pod. The API server says nothing of it: no event and no condition.
	Untried string `json:"untried,omitempty"`
	// Runs is the node with which the pod came, as those of a dump do; the rest is then what the scheduler would do with it now.
	Runs string `json:"runs,omitempty"`
	// Claims are what the pod claims of devices, as it is after the step.
	Claims []report.Claim `json:"claims,omitempty"`
	// Decision is how the node was chosen.
	Decision *placement.Decision `json:"decision,omitempty"`
	// Cycle is what every plugin said of the nodes; missing where the pod was held back before it came to that.
	Cycle *placement.Cycle `json:"cycle,omitempty"`
	// Group is the pod group with which a Pending pod waits.
	Group *Group `json:"group,omitempty"`
	// Asked are the nodes that were asked about, each with the reason why the pod is not there.
	Asked []Asked `json:"asked,omitempty"`
	// Flips are the smallest changes with which the pod would have gone elsewhere, each proved by scheduling it again.
	Flips []Flip `json:"flips,omitempty"`
	// Effects are what each rule of the pod changes: the scenario was run again without it.
	Effects []Effect `json:"effects,omitempty"`
	// Fixes are the single changes that help a Pending pod, the least first, each verified by running the scenario with it.
	Fixes []Fix `json:"fixes,omitempty"`
	// Tried are the changes that were tried for a Pending pod, and do not help.
	Tried []string `json:"tried,omitempty"`
	// Notes say what could not be answered.
	Notes []string `json:"notes,omitempty"`
	// Story describes the pod's way through the cycle, in sentences.
	Story []string `json:"story"`
}

// Group is a pod group whose pods wait for nodes together.
type Group struct {
	Name string `json:"name"`
	// MinCount is how many pods must have a node before any gets one; missing if the group does not care.
	MinCount int `json:"minCount,omitempty"`
	// Bound is how many have one.
	Bound int `json:"bound"`
	// Fit are the pods that would have got a node with the others, and Untried those at which the scheduler did not look any more.
	Fit     []string `json:"fit,omitempty"`
	Untried []string `json:"untried,omitempty"`
	// Refused are the pods that keep the others waiting.
	Refused []Refused `json:"refused,omitempty"`
}

// Refused is a pod that got no node, and kube-scheduler's text.
type Refused struct {
	Pod     string `json:"pod"`
	Message string `json:"message"`
}

// Asked is why a pod is not on a node.
type Asked struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// Flip is the smallest change of one thing with which a pod would have gone elsewhere.
type Flip struct {
	// Of is what changes: term, plugin or capacity. Subject says which one, in words.
	Of      string `json:"of" jsonschema:"enum=term,enum=plugin,enum=capacity"`
	Subject string `json:"subject"`
	// From is its value as it is, To the nearest one with which the pod goes elsewhere; To is empty if none searched does that.
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	// Node is where the pod goes then; empty if it gets none.
	Node string `json:"node,omitempty"`
	// Searched says which values were looked at.
	Searched string `json:"searched"`
}

// Effect is what one rule changes in the step.
type Effect struct {
	// Rule is the rule, in words; Path is its place in the pod's spec.
	Rule string `json:"rule"`
	Path string `json:"path"`
	// Words say what the rule comes to.
	Words string `json:"words"`
	// Decides says whether anything is different without the rule, even in another workload.
	Decides bool `json:"decides"`
	// Moved are the pods of the workload that are elsewhere without the rule, and Others those of other workloads; the n-th pod
	// with it is compared with the n-th without.
	Moved  []Move `json:"moved,omitempty"`
	Others []Move `json:"others,omitempty"`
	// SameNodes means that the workload has as many pods on each node without the rule: any that moved have changed places.
	SameNodes bool `json:"sameNodes"`
	// Pending is the number of the step's Pending pods with the rule, PendingWithout that without it.
	Pending        int `json:"pending"`
	PendingWithout int `json:"pendingWithout"`
	// Selected is how many of the workload's pods, of which there are Pods, anti-affinity or a spread constraint speaks of by its
	// selector; a rule that selects none keeps none of them apart.
	Selected int `json:"selected"`
	Pods     int `json:"pods,omitempty"`
}

// Move is a pod that is on another node. An empty node is that of a Pending pod, or of one that is not there.
type Move struct {
	Pod  string `json:"pod"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Fix is a single change that helps a Pending pod.
type Fix struct {
	// Change is what to change, in words.
	Change string `json:"change"`
	// Pending is the number of the step's Pending pods once it is made, and OfWorkload how many of them are of the pod's workload.
	Pending    int `json:"pending"`
	OfWorkload int `json:"ofWorkload"`
	// Node is where the pod's place goes; empty if it is still Pending, or no longer there.
	Node string `json:"node,omitempty"`
}
