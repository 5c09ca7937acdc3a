// Package explain is the report on why pods are where they are, or Pending, and what would change that.
package explain

import (
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
)

// Kind is the kind of a report on why pods are where they are.
const Kind = "ExplainReport"

// Report is why pods got their nodes, or none, and what would have changed that.
type Report struct {
	report.Head
	// Binding is what Karmada has decided about the workload, in a federation.
	Binding *Binding `json:"binding,omitempty"`
	// NotMade is what the API server did not take: pods of what was asked for, or the object itself.
	NotMade []explain.NotMade `json:"notMade,omitempty"`
	// Preempted are the pods that made room, if it was asked for them or for the pods for which they did.
	Preempted []Preempted `json:"preempted,omitempty"`
	// Pods are the pods that were asked for, in the order in which the scheduler looked at them.
	Pods []Explanation `json:"pods"`
	// More is the number of further pods of the workload, which are not explained.
	More int `json:"more,omitempty"`
}

// Preempted is a pod that made room for another in a step.
type Preempted struct {
	Step string `json:"step"`
	run.Preemption
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
	Takings []explain.Taking `json:"takings,omitempty"`
	Tried   []string         `json:"tried,omitempty"`
}

// ClusterVerdict is what Karmada decided about a cluster.
type ClusterVerdict struct {
	federation.Verdict
	// Running and Pending are the pods that the cluster has of the workload after the step.
	Running int `json:"running"`
	Pending int `json:"pending"`
}

// Explanation is why a pod got its node, or none.
type Explanation struct {
	// Step is the step in which the scheduler looked at the pod.
	Step string `json:"step"`
	cluster.PodRef
	// Node is the pod's node; missing if it got none.
	Node string `json:"node,omitempty"`
	placement.Wait
	// Causes are why the scheduler refuses a Pending pod, with the values of both sides.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Runs is the node that the pod came with, as in a dump. The rest then says what the scheduler would do with the pod now.
	Runs string `json:"runs,omitempty"`
	// Claims are what the pod claims of devices, as it is after the step.
	Claims []report.Claim `json:"claims,omitempty"`
	// Admission is what the API server's plugins changed in the pod, in order; missing if these were only the two that change every pod.
	Admission []admission.Change `json:"admission,omitempty"`
	// Decision is how the node was chosen.
	Decision *placement.Decision `json:"decision,omitempty"`
	// Cycle is what every plugin said of the nodes; missing where the pod was held back before it came to that.
	Cycle *placement.Cycle `json:"cycle,omitempty"`
	// Group is the pod group with which a Pending pod waits.
	Group *Group `json:"group,omitempty"`
	// Asked are the nodes that were asked about, each with the reason why the pod is not there.
	Asked []Asked `json:"asked,omitempty"`
	// Flips are the smallest changes with which the pod would have gone elsewhere, each proved by scheduling it again.
	Flips []explain.Flip `json:"flips,omitempty"`
	// Effects are what each rule of the pod changes: the scenario was run again without it.
	Effects []explain.Effect `json:"effects,omitempty"`
	// Fixes are the changes that give a Pending pod a node, the mildest first, each applied to the cluster as it is after the step.
	Fixes []explain.Fix `json:"fixes,omitempty"`
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
