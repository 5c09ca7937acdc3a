// Package run has the report on a run: where the pods are after each step, why, and which expectations were met.
package run

import (
	"slices"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/world"
)

// Kind is the kind of a report on a run.
const Kind = "Report"

// Report is the report on a run, step by step.
type Report struct {
	report.Head
	// Answer is the answer to the question of flags such as --scale, in a sentence; missing without such flags.
	Answer string `json:"answer,omitempty"`
	// Nodes are the cluster's nodes before the first step, in the cluster's order.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Labels are further labels of the nodes, by which pages can group them.
	Labels map[string]map[string]string `json:"-"`
	// Steps are the steps of the run, in order.
	Steps []Step `json:"steps"`
	// Skipped is the number of steps before a step that is kept alone, and All the number of all steps; 0 if all are kept.
	Skipped, All int `json:"-"`
}

// Last returns the last step. It panics if the report has none.
func (r *Report) Last() *Step { return &r.Steps[len(r.Steps)-1] }

// question is the title of the report.
func (r *Report) question() string {
	if r.All > 0 {
		return "Where the pods go in step " + r.Steps[0].Name
	}
	return "Where the pods go"
}

// Met reports whether every expectation of every step was met.
func (r *Report) Met() bool {
	_, failed := countJudged(r.Steps)
	return failed == 0
}

// Accepted reports whether the API server accepted all objects of the steps that have no expectations.
func (r *Report) Accepted() bool {
	return !slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.Expectations) == 0 && s.describeRefusedObjects() != "" })
}

// countJudged counts the expectations of all steps, and those that were not met.
func countJudged(steps []Step) (total, failed int) {
	for _, s := range steps {
		total += len(s.Expectations)
		failed += len(expect.Unmet(s.Expectations))
	}
	return total, failed
}

// Step is a step and the cluster after it.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what the step did, in the words of kubectl.
	Action string `json:"action"`
	// Description is the description of the step in the scenario file.
	Description string `json:"description,omitempty"`
	// Summary counts the pods after the step.
	Summary Summary `json:"summary"`
	// Change is what the step changed for the pods that were there before; missing if there were none.
	Change *Change `json:"change,omitempty"`
	// Nodes are the nodes after the step; missing if they are the same as before it.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Requested are, for each node with pods, the requests of these pods together.
	Requested []Requested `json:"requested,omitempty"`
	// Declared are the declarations of the workloads after the step; missing if they are the same as after the step before.
	Declared []report.Declared `json:"declared,omitzero"`
	// TopologyKeys are the node labels by which the rules of the pods spread or gather them, widest first.
	TopologyKeys []string `json:"topologyKeys,omitempty"`
	// Bindings are, in a federation, the workloads that a policy claims, with the clusters that Karmada gave them, in order of arrival.
	Bindings []Binding `json:"bindings,omitempty"`
	// Workloads are the controllers (and bare pods) with their pods' distribution, in order of arrival.
	Workloads []Workload `json:"workloads,omitempty"`
	// Pods are all pods after the step, workload by workload, in order of arrival.
	Pods []Pod `json:"pods,omitempty"`
	// CronJobs are the CronJobs with the times at which they run, in order of arrival.
	CronJobs []cronjob.CronJob `json:"cronJobs,omitempty"`
	// PodGroups are the pod groups with the scheduler's conditions, in order of arrival.
	PodGroups []PodGroup `json:"podGroups,omitempty"`
	// Quotas are the ResourceQuotas with the used amounts, in order of arrival.
	Quotas []Quota `json:"quotas,omitempty"`
	// StorageCapacities are the capacities that are left for new volumes, in order of arrival.
	StorageCapacities []StorageCapacity `json:"storageCapacities,omitempty"`
	// Preempted are the pods that were preempted in this step.
	Preempted []Preemption `json:"preempted,omitempty"`
	// Refused are the pods and other objects that the API server refused to create.
	Refused []Refused `json:"refused,omitempty"`
	// Rollouts are the rollouts that do not end, and the controllers that hold pods back. A first revision whose pods wait for a node is
	// not among them: its pods are only Pending.
	Rollouts []controller.Rollout `json:"rollouts,omitempty"`
	// Drains are the drains of nodes that do not end.
	Drains []Drain `json:"drains,omitempty"`
	// Held are the workloads whose HorizontalPodAutoscalers allow other replicas than the step asked for.
	Held []world.Held `json:"held,omitempty"`
	// Autoscaling is what the Cluster Autoscaler did and reported; missing if there is no autoscaler, or it did nothing.
	Autoscaling *world.Autoscaling `json:"autoscaling,omitempty"`
	// Decided is what each decider did and reported.
	Decided []world.Decided `json:"decided,omitempty"`
	// Why explains the decisions of this step, a sentence each.
	Why []string `json:"why,omitempty"`
	// ScaledIn explains for each workload that got fewer replicas why these pods were deleted and not others. Why has its sentences, too.
	ScaledIn []cause.ScaleIn `json:"scaledIn,omitempty"`
	// WhyRules are the rules that sentences of Why mention.
	WhyRules []WhyRule `json:"whyRules,omitempty"`
	// WhyLeft are the nodes that the filters left to the pods that sentences of Why are about.
	WhyLeft []WhyLeft `json:"whyLeft,omitempty"`
	// Notes are what Faultline assumed, added or could not do in this step, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Expectations are the scenario's expectations of the step, and whether each is met.
	Expectations []expect.Judged `json:"expectations,omitempty"`
}

// Refused is an object, or the pods of a workload, that the API server refused to create.
type Refused struct {
	cluster.Refusal
	// Causes are the objects that refuse it, with the values of both sides; missing if no object does, for example if a class is missing.
	Causes []cause.Cause `json:"causes,omitempty"`
}

// Summary counts pods.
type Summary struct {
	// Pods is the number of pods, without those that are being deleted. It is the sum of Running, Pending and NotReady. A pod is not ready
	// on a lost node, or if it has not started because its volume is attached to another node.
	Pods     int `json:"pods"`
	Running  int `json:"running"`
	Pending  int `json:"pending"`
	NotReady int `json:"notReady,omitempty"`
	// Terminating is the number of pods that are being deleted but that their kubelet has not ended.
	Terminating int `json:"terminating,omitempty"`
	// NotCreated is the number of pods that the API server refuses. They are not among Pods.
	NotCreated int `json:"notCreated,omitempty"`
	// Placed is the number of pods that got their node in this step.
	Placed int `json:"placed"`
	// Preempted is the number of pods that were preempted in this step.
	Preempted int `json:"preempted,omitempty"`
}

// Change is what a step changed in a cluster that had pods before it. It does not count the pods that a DaemonSet makes for new nodes,
// since nobody asked for them.
type Change struct {
	// New is the number of pods that the step asks for: the new pods of the workloads that it names, and those that their controllers have
	// yet to make. Refused is how many of them the API server refuses, and NewPending how many others have no node.
	New        int `json:"new"`
	NewPending int `json:"newPending"`
	Refused    int `json:"refused,omitempty"`
	// Evicted are the pods of other workloads that were preempted, by workload.
	Evicted []PodsOf `json:"evicted,omitempty"`
	// Pending is the number of pods of other workloads that ran before and neither have a node now nor a running replacement, and Lost
	// counts them by workload. Gone is the number of pods that ran and that no controller replaces.
	Pending int      `json:"pending"`
	Lost    []PodsOf `json:"lost,omitempty"`
	Gone    int      `json:"gone,omitempty"`
	// Replacements is the number of new pods of other workloads, such as those in the place of Terminating pods. ReplacementsPending is how
	// many of them have no node, without those that count as Lost.
	Replacements        int `json:"replacements,omitempty"`
	ReplacementsPending int `json:"replacementsPending,omitempty"`
	// WasPending is the number of pods that were Pending before. StillPending is how many of them, or of their replacements, are Pending
	// now.
	WasPending   int `json:"wasPending"`
	StillPending int `json:"stillPending"`
}

// PodsOf is a number of pods of one workload. For a pod without a controller, it names the pod itself.
type PodsOf struct {
	cluster.Ref
	Pods int `json:"pods"`
}

// Workload is a set of pods with one owner.
type Workload struct {
	cluster.Ref // the outermost owner, or the pod itself if it has none
	// Desired is the number of pods in its spec.
	Desired int `json:"desired"`
	// Running is the number of its pods that have a node, Pending the number of those that have none.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// NotCreated are the pods that its controller does not make yet; Rollouts has the reason.
	NotCreated []string `json:"notCreated,omitempty"`
	// Source is the place of its object in a file; missing if no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// Rules are the rules in its pod template: affinity, node selector and topology spread constraints.
	Rules *Rules `json:"rules,omitempty"`
	// Domains count its running pods by failure domain, one entry per level, widest first.
	Domains []Distribution `json:"domains,omitempty"`
}

// Rules are the rules of a pod template.
type Rules struct {
	// YAML is the part of the pod's spec that has the rules.
	YAML string `json:"yaml"`
	// Terms are the single rules in the YAML.
	Terms []Term `json:"terms"`
}

// Term is the place of a single rule in the YAML.
type Term struct {
	// Path is its path in the spec.
	Path string `json:"path"`
	// From and To are its first and its last line in the YAML, counted from 1.
	From int `json:"from"`
	To   int `json:"to"`
}

// WhyRule says which rules a sentence of Why mentions.
type WhyRule struct {
	// Sentence is the index of the sentence in Why, counted from 0.
	Sentence int `json:"sentence"`
	cluster.WorkloadRef
	// Paths are the paths of the rules in the spec; missing if the sentence mentions no rule of the workload.
	Paths []string `json:"paths,omitempty"`
}

// WhyLeft says which nodes the filters left to the pods that a sentence of Why is about.
type WhyLeft struct {
	// Sentence is the index of the sentence in Why, counted from 0.
	Sentence int `json:"sentence"`
	cluster.WorkloadRef
	// Groups are the pods that got a node, in order. Consecutive pods with the same nodes are one group.
	Groups []Left `json:"groups"`
}

// Requested is the sum of the requests of the pods on a node.
type Requested struct {
	Node string `json:"node"`
	// CPU is in cores, Memory in bytes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
}

// Title returns the workload as kubectl names it, deployment/web, or the text of a row that stands for several pods without an owner.
func (w Workload) Title() string {
	if w.Kind == "" {
		return w.Name
	}
	return w.Ref.String()
}

// Distribution returns the distribution of the workload's pods over the domains of the topology key, or nil if it is unknown.
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
	// Counts are the numbers of pods in the domains that have pods, sorted by the name of the domain.
	Counts []Count `json:"counts"`
	// Empty is the number of domains without a pod. For a hard spread constraint, these are domains that the scheduler counts. Otherwise a
	// domain does not count if all its nodes have a taint that such pods do not tolerate.
	Empty int `json:"empty"`
	// Unlabelled is the number of pods on nodes without the label.
	Unlabelled int `json:"unlabelled,omitempty"`
	// Skew is the largest count minus the smallest, which is 0 if a domain is empty.
	Skew int `json:"skew"`
}

// hasPods reports whether any pod runs.
func (d Distribution) hasPods() bool { return len(d.Counts)+d.Unlabelled > 0 }

// Count is a number of pods in a domain.
type Count struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
}

// Pod is a pod and its place.
type Pod struct {
	cluster.PodRef
	// Labels are the labels of a pod without a workload, by which selectors find it; missing for any other pod.
	Labels map[string]string `json:"labels,omitempty"`
	// Ready is kubectl's READY column: the ready containers of all containers, as 1/1.
	Ready string `json:"ready"`
	// Status is kubectl's STATUS column: Running, Pending, SchedulingGated, Terminating, ….
	Status string `json:"status"`
	// Node is the pod's node; missing while it is Pending.
	Node string `json:"node,omitempty"`
	// Nominated is the node that preemption has reserved for the pod.
	Nominated string `json:"nominated,omitempty"`
	// Topology has the node's values for the step's topologyKeys. A missing key is a label that the node lacks.
	Topology map[string]string `json:"topology,omitempty"`
	// Waits says why a pod that has a node has not started: its volume is attached to another node.
	Waits string `json:"waits,omitempty"`
	// Wait says why the pod does not run. The message about scheduling gates is the API server's, that about a volume is the text of the
	// FailedAttachVolume event.
	placement.Wait
	// Gates are the pod's scheduling gates while it is Pending.
	Gates []string `json:"gates,omitempty"`
	// Reasons count, for a Pending pod, the nodes that each plugin refuses.
	Reasons []placement.Reason `json:"reasons,omitempty"`
	// Causes explain why the scheduler refuses a Pending pod, with the values of both sides.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Decision says how the scheduler chose the node, for a pod that was placed in this step.
	Decision *placement.Decision `json:"decision,omitempty"`
	// Claims are the pod's claims on devices.
	Claims []report.Claim `json:"claims,omitempty"`
	// Cycle has the verdict of every plugin on the nodes, for a pod that the scheduler tried in this step; missing unless it was asked for.
	Cycle *placement.Cycle `json:"cycle,omitempty"`
}

// Drain is the drain of a node that does not end.
type Drain struct {
	Node string `json:"node"`
	// Stays are the pods that block the drain, with the reason of kubectl or the API server.
	Stays []world.BlockedPod `json:"stays"`
}

// Preemption is a pod that was preempted to make room for another.
type Preemption struct {
	// Victim is the preempted pod, and For the pod that gets the room, each as namespace/name.
	Victim string `json:"victim"`
	For    string `json:"for"`
	Node   string `json:"node"`
	// Choice says how the scheduler chose the node; missing if that is unknown.
	Choice *Choice `json:"choice,omitempty"`
}

// Choice is how the scheduler chose the node on which it preempts pods.
type Choice struct {
	// Nodes is the number of nodes on which preemption helps. Rule is the rule that left only one of them; missing if there was only one.
	Nodes int                      `json:"nodes"`
	Rule  placement.PreemptionRule `json:"rule,omitempty"`
	// Candidates are the best of these nodes, the chosen one first.
	Candidates []PreemptionCandidate `json:"candidates"`
}

// PreemptionCandidate is a node on which preemption makes room, and the price of that.
type PreemptionCandidate struct {
	Node string `json:"node"`
	// Victims are the pods that would be preempted, as namespace/name, the highest priority first.
	Victims []string `json:"victims"`
	// HighestPriority is the priority of the first victim. Violations is the number of victims whose disruption budget does not allow it.
	HighestPriority int32 `json:"highestPriority"`
	Violations      int   `json:"violations,omitempty"`
}
