// Package explain has the report on why pods are where they are, or Pending, and what would change that.
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

// Report explains why pods got their nodes, or none, and what would have changed that.
type Report struct {
	report.Head
	// Binding is Karmada's decision about the workload; missing outside of a federation.
	Binding *Binding `json:"binding,omitempty"`
	// NotMade is what the API server refused to create: pods of the workload, or the workload itself.
	NotMade []explain.NotMade `json:"notMade,omitempty"`
	// Gaps are what the workload lacks though none of its pods is Pending: a rollout that stands still, or nodes without a pod of a DaemonSet.
	Gaps []explain.Gap `json:"gaps,omitempty"`
	// Preempted are the preempted pods, if the question is about them or about the pods that got their room.
	Preempted []Preempted `json:"preempted,omitempty"`
	// Pods are the pods that were asked for: the Pending ones first, each kind in the order in which the scheduler looked at them.
	Pods []Explanation `json:"pods"`
	// More is the number of further pods of the workload, which are not explained.
	More int `json:"more,omitempty"`
}

// Preempted is a pod that was preempted in a step.
type Preempted struct {
	Step string `json:"step"`
	run.Preemption
	// Priority is the victim's, and ForPriority that of the pod for which it made room, by PriorityClass ForClass; the class is missing if it has none.
	Priority    int32  `json:"priority"`
	ForPriority int32  `json:"forPriority"`
	ForClass    string `json:"forClass,omitempty"`
}

// Binding is Karmada's decision about a workload, with the reasons.
type Binding struct {
	// Step is the step after which the decision holds.
	Step string `json:"step"`
	// Template is the workload or the custom resource, and Policy the policy that claimed it.
	Template string `json:"template"`
	Policy   string `json:"policy"`
	// Division says how replicas are divided among the selected clusters; missing if there are no replicas.
	Division string `json:"division,omitempty"`
	// Reason and Message are those of the condition Scheduled.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Clusters are the clusters that the last attempt to schedule the workload considered: the feasible ones, the best first, then the refused ones.
	Clusters []ClusterVerdict `json:"clusters"`
	// Takings are the single changes with which Karmada takes a workload that it refuses. Each was verified: the workload was scheduled
	// again after the step. Tried are the changes that do not help.
	Takings []explain.Taking `json:"takings,omitempty"`
	Tried   []string         `json:"tried,omitempty"`
}

// ClusterVerdict is what Karmada decided about a cluster.
type ClusterVerdict struct {
	federation.Verdict
	// Running and Pending are the workload's pods in the cluster after the step.
	Running int `json:"running"`
	Pending int `json:"pending"`
}

// Explanation explains why a pod got its node, or none.
type Explanation struct {
	// Step is the step in which the scheduler tried the pod.
	Step string `json:"step"`
	cluster.PodRef
	// Node is the pod's node; missing if it got none.
	Node string `json:"node,omitempty"`
	placement.Wait
	// Halted says why the pod does not run after the last step though it has a node: its volume is attached to another node, it is
	// Terminating on a node that does not answer, or a container waits, as its kubelet says in the dump. Missing for a pod that runs.
	Halted string `json:"halted,omitempty"`
	// Warnings are the latest Events of a dump about the pod and its claims, each reason once.
	Warnings []string `json:"warnings,omitempty"`
	// Causes explain why the scheduler refuses a Pending pod, with the values of both sides.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Runs is the node on which the pod already ran, as in a dump; missing for a new pod. The rest then says what the scheduler would do
	// with the pod now.
	Runs string `json:"runs,omitempty"`
	// Claims are the pod's claims on devices after the step.
	Claims []report.Claim `json:"claims,omitempty"`
	// Admission lists the changes by the API server's plugins, in order; missing if only the two plugins that change every pod made any.
	Admission []admission.Change `json:"admission,omitempty"`
	// Verdict says in a sentence what decided: the plugins, chance, or the refusals of all other nodes.
	Verdict string `json:"verdict,omitempty"`
	// Decision says how the node was chosen.
	Decision *placement.Decision `json:"decision,omitempty"`
	// Cycle has the verdict of every plugin on the nodes; missing if the pod was held back before.
	Cycle *placement.Cycle `json:"cycle,omitempty"`
	// Group is the pod group that a Pending pod waits for.
	Group *Group `json:"group,omitempty"`
	// Asked are the nodes that the question names, each with the reason why the pod is not there.
	Asked []Asked `json:"asked,omitempty"`
	// Flips are the smallest changes that would have sent the pod elsewhere, each proved by scheduling it again.
	Flips []explain.Flip `json:"flips,omitempty"`
	// Effects are the effects of the pod's rules: for each rule, the scenario was run again without it.
	Effects []explain.Effect `json:"effects,omitempty"`
	// Fixes are the changes that give a Pending pod a node, the mildest first. Each was applied to the cluster after the step.
	Fixes []explain.Fix `json:"fixes,omitempty"`
	// Tried are the changes that were tried for a Pending pod and do not help.
	Tried []string `json:"tried,omitempty"`
	// Notes say what could not be explained.
	Notes []string `json:"notes,omitempty"`
	// Story describes the pod's way through the scheduling cycle, a sentence per item.
	Story []string `json:"story"`
}

// Group is a pod group whose pods wait for nodes together.
type Group struct {
	Name string `json:"name"`
	// MinCount is how many pods must fit before any of them gets a node; missing if the group has no such number.
	MinCount int `json:"minCount,omitempty"`
	// Bound is the number of its pods that have a node.
	Bound int `json:"bound"`
	// Fit are the pods that would have got a node with the others, and Untried those that the scheduler did not try.
	Fit     []string `json:"fit,omitempty"`
	Untried []string `json:"untried,omitempty"`
	// Refused are the pods that keep the others waiting.
	Refused []Refused `json:"refused,omitempty"`
}

// Refused is a pod that got no node, and kube-scheduler's message.
type Refused struct {
	Pod     string `json:"pod"`
	Message string `json:"message"`
}

// Asked says why a pod is not on a node.
type Asked struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}
