package placement

import "github.com/faultline/faultline/pkg/cluster"

// Depth is how much of a pod's scheduling cycle to keep.
type Depth struct {
	// Nodes is how many nodes to keep by name: the best of the scored ones, and the first that were rejected for each reason. It also
	// limits how many existing pods are named for each part of a score. 0 keeps all.
	Nodes int
	// Named are nodes to keep in any case.
	Named []string
	// Before keeps the cluster as the scheduler saw it.
	Before bool
}

// Cycle is a pod's last scheduling cycle: what every plugin decided about the nodes.
type Cycle struct {
	// PreFilter are the verdicts of the PreFilter plugins on the pod, in order; those after a rejection did not run.
	PreFilter []Verdict
	// Named are the nodes to which PreFilter plugins restricted the search, sorted; nil if none did. NamedBy are those plugins.
	Named, NamedBy []string
	// Start is the position in the cluster's order of nodes at which the search began, Searched the number of nodes examined.
	Start, Searched int
	// Filters are the Filter plugins that ran, in order. The first to reject a node ends its examination.
	Filters []string
	// Refusals are the rejected nodes by plugin and message, most frequent first.
	Refusals []Refusal
	// PreScore are the verdicts of the PreScore plugins on the pod; empty if nothing was scored.
	PreScore []Verdict
	// Scored is the number of nodes that were scored. A single feasible node is taken without scoring.
	Scored int
	// Candidates are the feasible nodes, best first, equals by name.
	Candidates []Candidate
	// Before is the cluster as the scheduler saw it, including the pod itself; nil unless asked for.
	Before *cluster.State
}

// Verdict is a plugin's verdict on the pod as a whole: success, skip, or its rejection.
type Verdict struct {
	Plugin, Status string
}

// Refusal is a plugin's rejection of a number of nodes.
type Refusal struct {
	Plugin, Message string
	// Count is the number of nodes; Nodes are those kept by name, in search order.
	Count int
	Nodes []string
}

// Candidate is a feasible node.
type Candidate struct {
	Node string
	// Rank is 1 for the top score; equal scores have equal ranks. It is 0 if nothing was scored.
	Rank int
	// Total is the sum of the weighted scores.
	Total  int64
	Scores []PluginScore
}

// PluginScore is one plugin's score of a node.
type PluginScore struct {
	Plugin string
	// Raw is the plugin's own score, Normalised is it on a scale from 0 to 100, and Weighted is Normalised times Weight.
	Raw, Normalised, Weight, Weighted int64
	// Parts are what each rule contributed to Raw. They add up to it, for PodTopologySpread after rounding. Plugins without weighted rules
	// have none.
	Parts []Part
}

// Origin says whose rule contributed a part of a score.
type Origin string

const (
	// Own is one of the pod's own rules.
	Own Origin = "own"
	// Existing is a preferred term of existing pods, which also applies to pods that join them.
	Existing Origin = "existing"
	// ExistingRequired is a required affinity term of existing pods; it counts with the profile's hardPodAffinityWeight.
	ExistingRequired Origin = "existing required"
	// SystemDefault is one of the scheduler's own spread constraints, for pods that have none.
	SystemDefault Origin = "system default"
	// ProfileDefault is a rule of the scheduler configuration: a default spread constraint, or an added node affinity.
	ProfileDefault Origin = "profile"
)

// Part is what one rule contributed to a plugin's raw score of a node.
type Part struct {
	Origin Origin
	// Rule names the field of the rule: preferred affinity, preferred anti-affinity, required affinity, constraint or preferred node
	// affinity. Index is its position in that list of the pod's own spec or of the profile, from 0; -1 for an existing pod's.
	Rule  string
	Index int
	// TopologyKey is the rule's key, and Domain the node's value for it; both are empty for node affinity.
	TopologyKey, Domain string
	// Weight is the term's weight, negative for anti-affinity. For a constraint it is the factor of the number of pods, which grows with
	// the logarithm of the number of domains. MaxSkew is a constraint's.
	Weight  float64
	MaxSkew int32
	// Count is the number of existing pods that the rule counts in the domain, and Pods are the names of the first of them.
	Count int
	Pods  []string
	// Score is Weight times Count, plus maxSkew-1 for a constraint.
	Score float64
}
