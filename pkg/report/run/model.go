// Package run is the report on a run: where the pods are after each step, why, and which expectations were met.
package run

import (
	"slices"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Kind is the kind of a report on a run.
const Kind = "Report"

// Report is what a simulation found, step by step.
type Report struct {
	report.Head
	// Answer is that to the question of flags such as --scale, in a sentence.
	Answer string `json:"answer,omitempty"`
	// Nodes are the cluster's nodes before the first step, in its order.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Labels are further labels of the nodes, for pages, which group by them.
	Labels map[string]map[string]string `json:"-"`
	// Steps are what happened, in order.
	Steps []Step `json:"steps"`
}

// Met reports whether every expectation of every step was met.
func (r *Report) Met() bool {
	_, failed := judged(r.Steps)
	return failed == 0
}

// Accepted reports whether the API server took all objects of the steps of which nothing else is expected.
func (r *Report) Accepted() bool {
	return !slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.Expectations) == 0 && s.refusedObjects() != "" })
}

// judged counts the expectations of all steps, and those that were not met.
func judged(steps []Step) (total, failed int) {
	for _, s := range steps {
		total += len(s.Expectations)
		failed += len(expect.Unmet(s.Expectations))
	}
	return total, failed
}

// Step is one step and the cluster after it.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as kubectl would be asked to.
	Action string `json:"action"`
	// Summary counts the pods after the step.
	Summary Summary `json:"summary"`
	// Change is what the step did to the pods that were there; missing where there were none.
	Change *Change `json:"change,omitempty"`
	// Nodes are the nodes after the step, where they are not the same as before it.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Requested is what the pods of each node that has some request together.
	Requested []Requested `json:"requested,omitempty"`
	// Declared is what the workloads declare after the step; missing where it is as after the step before.
	Declared []report.Declared `json:"declared,omitzero"`
	// TopologyKeys are the node labels by which the rules of these pods spread or gather them, widest first.
	TopologyKeys []string `json:"topologyKeys,omitempty"`
	// Bindings are, in a federation, what became of each workload that a policy claims, in order of arrival.
	Bindings []Binding `json:"bindings,omitempty"`
	// Workloads are the controllers (and bare pods) with their pods' distribution, in order of arrival.
	Workloads []Workload `json:"workloads,omitempty"`
	// Pods are all pods after the step, workload by workload, in order of arrival.
	Pods []Pod `json:"pods,omitempty"`
	// CronJobs are the CronJobs with the times at which they run, in order of arrival.
	CronJobs []controller.CronJob `json:"cronJobs,omitempty"`
	// PodGroups are the pod groups with what the scheduler says of them, in order of arrival.
	PodGroups []PodGroup `json:"podGroups,omitempty"`
	// Quotas are the ResourceQuotas with what is used of them, in order of arrival.
	Quotas []Quota `json:"quotas,omitempty"`
	// StorageCapacities are what is left where drivers provision volumes, in order of arrival.
	StorageCapacities []StorageCapacity `json:"storageCapacities,omitempty"`
	// Preempted are the pods that had to make room in this step.
	Preempted []Preemption `json:"preempted,omitempty"`
	// Refused are the pods, and other objects, that the API server did not create.
	Refused []Refused `json:"refused,omitempty"`
	// Rollouts are the updates that have not come to their end, and the controllers that hold pods back. Pods of a first
	// revision that wait for a node are only Pending.
	Rollouts []controller.Rollout `json:"rollouts,omitempty"`
	// Drains are the drains of nodes that do not end.
	Drains []Drain `json:"drains,omitempty"`
	// Held are the workloads whose HorizontalPodAutoscalers allow other replicas than the step asked for.
	Held []world.Held `json:"held,omitempty"`
	// Autoscaling is what the Cluster Autoscaler did and reported; missing if there is none, or it did nothing.
	Autoscaling *world.Autoscaling `json:"autoscaling,omitempty"`
	// Why says in a sentence each what decided this step.
	Why []string `json:"why,omitempty"`
	// ScaledIn says of each workload that got fewer replicas why these pods went and not others; Why has its sentences, too.
	ScaledIn []cause.ScaleIn `json:"scaledIn,omitempty"`
	// WhyRules are the rules that sentences of Why speak of.
	WhyRules []WhyRule `json:"whyRules,omitempty"`
	// WhyLeft is what the filters left to the pods of which sentences of Why speak.
	WhyLeft []WhyLeft `json:"whyLeft,omitempty"`
	// Notes are what Faultline assumed, added or could not do in this step.
	Notes []string `json:"notes,omitempty"`
	// Expectations are what the scenario expected of the step, and whether it came so.
	Expectations []expect.Judged `json:"expectations,omitempty"`
}

// Refused is what the API server did not create.
type Refused struct {
	cluster.Refusal
	// Causes are the objects that refuse it, with the values of both sides; missing if no object does, as where a class is missing.
	Causes []cause.Cause `json:"causes,omitempty"`
}

// Summary counts pods.
type Summary struct {
	// Pods is the number of pods, without those that are being deleted; Running, Pending and NotReady (on a node that is lost, or not
	// started, as its volume is attached to another) add up to it.
	Pods     int `json:"pods"`
	Running  int `json:"running"`
	Pending  int `json:"pending"`
	NotReady int `json:"notReady,omitempty"`
	// Terminating is the number of pods that are being deleted, and whose kubelet has not ended them.
	Terminating int `json:"terminating,omitempty"`
	// NotCreated is the number of pods that the API server refuses; they are not among Pods.
	NotCreated int `json:"notCreated,omitempty"`
	// Placed is the number that got their node in this step.
	Placed int `json:"placed"`
	// Preempted is the number that lost it to others in this step.
	Preempted int `json:"preempted,omitempty"`
}

// Change is what a step did to a cluster that had pods before it. Pods that a DaemonSet makes for new nodes are not counted, since nobody asked
// for them.
type Change struct {
	// New is the number of pods that the step asks for: those of the workloads that it names which were not there before, and those that their
	// controllers have yet to make. NewPending is how many of them have no node, but for the Refused ones, which the API server does not take.
	New        int `json:"new"`
	NewPending int `json:"newPending"`
	Refused    int `json:"refused,omitempty"`
	// Evicted are the pods of other workloads that were preempted.
	Evicted []PodsOf `json:"evicted,omitempty"`
	// Pending is the number of pods of other workloads that ran before and now have no node, nor has another in their place, and Lost whose
	// they are. Gone is the number of pods that ran and that no controller replaces.
	Pending int      `json:"pending"`
	Lost    []PodsOf `json:"lost,omitempty"`
	Gone    int      `json:"gone,omitempty"`
	// Replacements is the number of new pods of other workloads, such as those in the place of Terminating ones, and ReplacementsPending how
	// many of them have no node, but for those that count as Lost.
	Replacements        int `json:"replacements,omitempty"`
	ReplacementsPending int `json:"replacementsPending,omitempty"`
	// WasPending is the number of pods that were Pending before, and StillPending how many of them, or of the pods in their place, are.
	WasPending   int `json:"wasPending"`
	StillPending int `json:"stillPending"`
}

// PodsOf is a number of pods of a workload, or a pod without a controller.
type PodsOf struct {
	cluster.Ref
	Pods int `json:"pods"`
}

// Workload is a set of pods with one owner.
type Workload struct {
	cluster.Ref // the outermost owner, or the pod itself if it has none
	// Desired is the number of pods that its spec asks for.
	Desired int `json:"desired"`
	// Running is the number of its pods that have a node, Pending of those that have none.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// NotCreated are the pods that its controller has not made, with the reason in Rollout.
	NotCreated []string `json:"notCreated,omitempty"`
	// Source is where its object stands; missing where no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// Rules are the rules of its pod template: affinity, node selector and topology spread constraints.
	Rules *Rules `json:"rules,omitempty"`
	// Domains are its running pods counted by failure domain, one entry a level, widest first.
	Domains []Distribution `json:"domains,omitempty"`
}

// Rules are a pod template's rules.
type Rules struct {
	// YAML is the part of the spec that holds them.
	YAML string `json:"yaml"`
	// Terms are the single rules in it.
	Terms []Term `json:"terms"`
}

// Term is a single rule.
type Term struct {
	// Path is its path in the spec.
	Path string `json:"path"`
	// From and To are its first and its last line, counted from 1.
	From int `json:"from"`
	To   int `json:"to"`
}

// WhyRule says which rules a sentence of Why speaks of.
type WhyRule struct {
	// Sentence is the place of the sentence in Why, counted from 0.
	Sentence int `json:"sentence"`
	cluster.WorkloadRef
	// Paths are the paths of the terms; missing where the sentence speaks of none of the workload's rules.
	Paths []string `json:"paths,omitempty"`
}

// WhyLeft says what the filters left to the pods of which a sentence of Why speaks.
type WhyLeft struct {
	// Sentence is the place of the sentence in Why, counted from 0.
	Sentence int `json:"sentence"`
	cluster.WorkloadRef
	// Groups are the pods that got a node, in order; pods that follow each other and found the same are one group.
	Groups []simulation.Left `json:"groups"`
}

// Requested is what the pods on a node request together.
type Requested struct {
	Node string `json:"node"`
	// CPU is in cores, Memory in bytes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
}

// Title is the workload as kubectl names it: deployment/web. The row of several pods without an owner has words instead.
func (w Workload) Title() string {
	if w.Kind == "" {
		return w.Name
	}
	return w.Ref.String()
}

// Distribution returns how the workload's pods are distributed over the domains of the topology key; nil where this is not known.
func (w Workload) Distribution(key string) *Distribution {
	i := slices.IndexFunc(w.Domains, func(d Distribution) bool { return d.TopologyKey == key })
	if i < 0 {
		return nil
	}
	return &w.Domains[i]
}

// Distribution counts pods by failure domain of one level.
type Distribution struct {
	TopologyKey string `json:"topologyKey"`
	// Counts are the pods in each domain that has one, in order of the domain's name.
	Counts []Count `json:"counts"`
	// Empty is the number of domains without a pod: of a hard spread constraint those that the scheduler counts, otherwise all but those whose nodes
	// all have a taint that such pods do not tolerate.
	Empty int `json:"empty"`
	// Unlabelled is the number of pods on nodes without the label.
	Unlabelled int `json:"unlabelled,omitempty"`
	// Skew is the largest count less the smallest, empty domains included.
	Skew int `json:"skew"`
}

// used reports whether any pod runs.
func (d Distribution) used() bool { return len(d.Counts)+d.Unlabelled > 0 }

// Count is a number of pods in a domain.
type Count struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
}

// Pod is a pod and where it stands.
type Pod struct {
	cluster.PodRef
	// Labels are those of a pod without a workload, by which selectors find it.
	Labels map[string]string `json:"labels,omitempty"`
	// Ready is kubectl's READY column: ready containers of all.
	Ready string `json:"ready"`
	// Status is kubectl's STATUS column: Running, Pending, SchedulingGated, Terminating, ….
	Status string `json:"status"`
	// Node is the pod's node; empty while it is Pending.
	Node string `json:"node,omitempty"`
	// Nominated is the node that preemption has reserved for the pod.
	Nominated string `json:"nominated,omitempty"`
	// Topology holds the node's values for the step's topologyKeys; a missing key is a label that the node lacks.
	Topology map[string]string `json:"topology,omitempty"`
	// Waits says why a pod that has a node has not started: its volume is attached to another.
	Waits string `json:"waits,omitempty"`
	// Wait is why the pod does not run. The message of a pod with scheduling gates is the API server's; that of one that waits for its volume,
	// the FailedAttachVolume text.
	placement.Wait
	// Gates are the pod's scheduling gates while it is Pending.
	Gates []string `json:"gates,omitempty"`
	// Reasons count the nodes by refusing plugin for a Pending pod.
	Reasons []placement.Reason `json:"reasons,omitempty"`
	// Causes are why the scheduler refuses a Pending pod, with the values of both sides.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Decision is how the node was chosen, for a pod that was placed in this step.
	Decision *placement.Decision `json:"decision,omitempty"`
	// Claims are what the pod claims of devices.
	Claims []report.Claim `json:"claims,omitempty"`
	// Cycle is what every plugin said of the nodes, for a pod that the scheduler looked at in this step, where that was asked for.
	Cycle *placement.Cycle `json:"cycle,omitempty"`
}

// Drain is the drain of a node that does not end.
type Drain struct {
	Node string `json:"node"`
	// Stays are the pods that keep it from its end, with kubectl's or the API server's reason.
	Stays []world.BlockedPod `json:"stays"`
}

// Preemption is a pod that made room for another.
type Preemption struct {
	// Victim and For are namespace/name.
	Victim string `json:"victim"`
	For    string `json:"for"`
	Node   string `json:"node"`
	// Choice is how the scheduler chose the node.
	Choice *Choice `json:"choice,omitempty"`
}

// Choice is how the scheduler chose the node on which it preempts pods.
type Choice struct {
	// Nodes is the number of nodes on which preemption helped, and Rule the rule that left one of them; missing if there was only one.
	Nodes int                      `json:"nodes"`
	Rule  placement.PreemptionRule `json:"rule,omitempty"`
	// Candidates are the best of these nodes, the chosen one first.
	Candidates []PreemptionCandidate `json:"candidates"`
}

// PreemptionCandidate is a node on which preemption makes room, and what it costs there.
type PreemptionCandidate struct {
	Node string `json:"node"`
	// Victims are the pods that would go, as namespace/name, the highest priority first.
	Victims []string `json:"victims"`
	// HighestPriority is that of the first victim, and Violations how many limits of budgets their preemption breaks.
	HighestPriority int32 `json:"highestPriority"`
	Violations      int   `json:"violations,omitempty"`
}
