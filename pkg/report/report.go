// Package report is the one model of what a simulation found, and its renderers. The model is versioned: a consumer can
// rely on the fields of an apiVersion, and docs/report.schema.json is its JSON Schema.
package report

// APIVersion and Kind head every report.
const (
	APIVersion = "faultline/v1alpha1"
	Kind       = "Report"
)

// Head is what every report begins with.
type Head struct {
	// APIVersion is the version of this model, faultline/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind says which report it is.
	Kind string `json:"kind"`
	// Version is the version of Faultline that wrote the report.
	Version string `json:"version"`
	// Scheduler is the scheduler that decided.
	Scheduler Scheduler `json:"scheduler"`
	// Scenario is the name of the scenario.
	Scenario string `json:"scenario"`
	// Description is the scenario's own, in its words.
	Description string `json:"description,omitempty"`
	// Ties says how equals were decided: upstream or random.
	Ties string `json:"ties" jsonschema:"enum=upstream,enum=random"`
	// Seed is the seed of every random choice; it has no effect where ties is upstream.
	Seed uint64 `json:"seed"`
	// Cluster is the cluster before the first step.
	Cluster Cluster `json:"cluster"`
	// Ignored are the objects of kinds that take no part in scheduling.
	Ignored []Ignored `json:"ignored,omitempty"`
	// Notes are what Faultline assumed or added on its own, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// Report is what a simulation found, step by step.
type Report struct {
	Head
	// Nodes are the cluster's nodes before the first step, in its order.
	Nodes []Node `json:"nodes,omitempty"`
	// Steps are what happened, in order.
	Steps []Step `json:"steps"`
}

// Scheduler is what decided.
type Scheduler struct {
	// Version is the Kubernetes release of the scheduler's code.
	Version string `json:"version"`
	// Profiles are the names that pods can give as schedulerName.
	Profiles []string `json:"profiles"`
	// FeatureGates are those that differ from the release's defaults, as Name=value.
	FeatureGates []string `json:"featureGates,omitempty"`
}

// Cluster is a cluster in numbers.
type Cluster struct {
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Levels are the failure domains that the nodes' labels make, widest first.
	Levels []Level `json:"levels"`
}

// Level is one kind of failure domain.
type Level struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of its values.
	Domains int `json:"domains"`
	// Unlabelled is the number of nodes without the label.
	Unlabelled int `json:"unlabelled,omitempty"`
}

// Node is a node and the failure domains that it is in.
type Node struct {
	Name string `json:"name"`
	// Topology holds its values for the levels of the cluster; a missing key is a label that it lacks.
	Topology map[string]string `json:"topology,omitempty"`
	// CPU is its allocatable CPU in cores, Memory its allocatable memory in bytes, Pods how many pods it takes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
	Pods   int64   `json:"pods"`
	// Taints are its taints, as kubectl taint takes them: key=value:effect.
	Taints []string `json:"taints,omitempty"`
	// Unschedulable tells that it is cordoned, NotReady that its Ready condition is not True.
	Unschedulable bool `json:"unschedulable,omitempty"`
	NotReady      bool `json:"notReady,omitempty"`
}

// Ignored is an object that takes no part in scheduling.
type Ignored struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Source is the file and document that it stands in.
	Source string `json:"source"`
}

// Step is one step and the cluster after it.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as kubectl would be asked to.
	Action string `json:"action"`
	// Summary counts the pods after the step.
	Summary Summary `json:"summary"`
	// Nodes are the nodes after the step, where they are not the same as before it.
	Nodes []Node `json:"nodes,omitempty"`
	// TopologyKeys are the node labels by which the rules of these pods spread or gather them, widest first.
	TopologyKeys []string `json:"topologyKeys,omitempty"`
	// Workloads are the controllers (and bare pods) with their pods' distribution, in order of arrival.
	Workloads []Workload `json:"workloads,omitempty"`
	// Pods are all pods after the step, workload by workload, in order of arrival.
	Pods []Pod `json:"pods,omitempty"`
	// Preempted are the pods that had to make room in this step.
	Preempted []Preemption `json:"preempted,omitempty"`
	// Rollouts are the updates that have not come to their end, and the controllers that hold pods back. Pods of a first
	// revision that wait for a node are only Pending.
	Rollouts []Rollout `json:"rollouts,omitempty"`
	// Why says in a sentence each what decided this step.
	Why []string `json:"why,omitempty"`
	// Notes are what Faultline assumed, added or could not do in this step.
	Notes []string `json:"notes,omitempty"`
	// Expectations are what the scenario expected of the step, and whether it came so.
	Expectations []Expectation `json:"expectations,omitempty"`
}

// Summary counts pods.
type Summary struct {
	// Pods is the number of pods, without those that are being deleted; Running, Pending and NotReady (running, on a node that is lost) add
	// up to it.
	Pods     int `json:"pods"`
	Running  int `json:"running"`
	Pending  int `json:"pending"`
	NotReady int `json:"notReady,omitempty"`
	// Terminating is the number of pods that are being deleted, and whose kubelet has not ended them.
	Terminating int `json:"terminating,omitempty"`
	// Placed is the number that got their node in this step.
	Placed int `json:"placed"`
	// Preempted is the number that lost it to others in this step.
	Preempted int `json:"preempted,omitempty"`
}

// Workload is a set of pods with one owner.
type Workload struct {
	// Kind is that of the outermost owner (Deployment, StatefulSet, …), or Pod for a pod without one.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Desired is the number of pods that its spec asks for.
	Desired int `json:"desired"`
	// Running is the number of its pods that have a node, Pending of those that have none.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// NotCreated are the pods that its controller has not made, with the reason in Rollout.
	NotCreated []string `json:"notCreated,omitempty"`
	// Source is where its object stands; missing where no file has it.
	Source *Source `json:"source,omitempty"`
	// Domains are its running pods counted by failure domain, one entry a level, widest first.
	Domains []Distribution `json:"domains,omitempty"`
}

// Distribution counts pods by failure domain of one level.
type Distribution struct {
	TopologyKey string `json:"topologyKey"`
	// Counts are the pods in each domain that has one, in order of the domain's name.
	Counts []Count `json:"counts"`
	// Empty is the number of domains without a pod, those apart whose nodes all have a taint that such pods do not tolerate.
	Empty int `json:"empty"`
	// Unlabelled is the number of pods on nodes without the label.
	Unlabelled int `json:"unlabelled,omitempty"`
	// Skew is the largest count less the smallest, empty domains included.
	Skew int `json:"skew"`
}

// Count is a number of pods in a domain.
type Count struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
}

// Pod is a pod and where it stands.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
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
	// Message is kube-scheduler's FailedScheduling text for a Pending pod, or the API server's for one that has scheduling gates.
	Message string `json:"message,omitempty"`
	// Gates are the pod's scheduling gates while it is Pending.
	Gates []string `json:"gates,omitempty"`
	// Reasons count the nodes by refusing plugin for a Pending pod.
	Reasons []Reason `json:"reasons,omitempty"`
	// Decision is how the node was chosen, for a pod that was placed in this step.
	Decision *Decision `json:"decision,omitempty"`
	// Cycle is what every plugin said of the nodes, for a pod that the scheduler looked at in this step, where that was asked for.
	Cycle *Cycle `json:"cycle,omitempty"`
}

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

// Preemption is a pod that made room for another.
type Preemption struct {
	// Victim and For are namespace/name.
	Victim string `json:"victim"`
	For    string `json:"for"`
	Node   string `json:"node"`
}

// Rollout is a rollout that has not come to its end.
type Rollout struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Desired   int    `json:"desired"`
	// Updated is the number of pods of the new revision, Old of earlier ones, Ready of both.
	Updated int `json:"updated"`
	Old     int `json:"old"`
	Ready   int `json:"ready"`
	// NotCreated are pods that the controller holds back.
	NotCreated []string `json:"notCreated,omitempty"`
	// Waiting says in one sentence which pod waits for what.
	Waiting string `json:"waiting"`
}

// Expectation is what a scenario expected, and what it saw.
type Expectation struct {
	// Want is the expectation in words; Got is what was seen.
	Want string `json:"want"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
	// Why says in one line what is behind an expectation that is not met: the pods concerned, and kube-scheduler's messages.
	Why string `json:"why,omitempty"`
	// Source is where the expectation stands; missing where no file has it.
	Source *Source `json:"source,omitempty"`
}

// Source is a place in a file.
type Source struct {
	// File is the path as it was given.
	File string `json:"file"`
	// Line is the line, from 1.
	Line int `json:"line"`
}

// Met tells whether every expectation of every step was met.
func (r *Report) Met() bool {
	for _, step := range r.Steps {
		for _, expectation := range step.Expectations {
			if !expectation.Met {
				return false
			}
		}
	}
	return true
}
