package placement

import "github.com/faultline/faultline/pkg/cluster"

// Depth is how much of a pod's scheduling cycle to record.
type Depth struct {
	// Nodes is how many nodes to record by name: the best of the scored nodes, and the first rejected nodes for each reason. It also limits
	// how many existing pods are named for each part of a score. 0 means all.
	Nodes int
	// Named lists nodes that are always recorded.
	Named []string
	// Before records the cluster as the scheduler saw it.
	Before bool
}

// Cycle is a pod's last scheduling cycle: the decisions of every plugin about the nodes.
type Cycle struct {
	// PreFilter lists the verdicts of the PreFilter plugins on the pod, in order. Plugins after a rejection did not run.
	PreFilter []Verdict
	// Named lists the nodes to which PreFilter plugins restricted the search, sorted; nil if none did. NamedBy lists these plugins.
	Named, NamedBy []string
	// Start is the position in the cluster's order of nodes at which the search began, Searched the number of nodes examined.
	Start, Searched int
	// Filters lists the Filter plugins that ran, in order. The first plugin that rejects a node ends its examination.
	Filters []string
	// Refusals lists the rejected nodes by plugin and message, the most frequent first.
	Refusals []Refusal
	// PreScore lists the verdicts of the PreScore plugins on the pod; empty if nothing was scored.
	PreScore []Verdict
	// Scored is the number of nodes that were scored. A single feasible node is taken without scoring.
	Scored int
	// Candidates lists the feasible nodes, the best first, equal ones by name.
	Candidates []Candidate
	// Before is the cluster as the scheduler saw it, including the pod itself; nil unless Depth.Before is set.
	Before *cluster.State
}

// Verdict is a plugin's verdict on the pod as a whole: success, skip, or its rejection.
type Verdict struct {
	Plugin, Status string
}

// Refusal is a plugin's rejection of a number of nodes.
type Refusal struct {
	Plugin, Message string
	// Count is the number of nodes; Nodes lists the names of the recorded ones, in search order.
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
	// Raw is the plugin's own score, Normalised is the score on a scale from 0 to 100, and Weighted is Normalised times Weight.
	Raw, Normalised, Weight, Weighted int64
	// Parts are the contributions of each rule to Raw. They add up to Raw, for PodTopologySpread after rounding. Plugins without weighted
	// rules have none.
	Parts []Part
}

// Origin is the owner of the rule that contributed a part of a score.
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

// Part is the contribution of one rule to a plugin's raw score of a node.
type Part struct {
	Origin Origin
	// Rule names the field of the rule: preferred affinity, preferred anti-affinity, required affinity, constraint or preferred node
	// affinity. Index is its position in that list of the pod's own spec or of the profile, from 0; -1 for an existing pod's.
	Rule  string
	Index int
	// TopologyKey is the rule's key, and Domain the node's value for it; both are empty for node affinity.
	TopologyKey, Domain string
	// Weight is the term's weight, negative for anti-affinity. For a constraint it is the factor of the number of pods, which grows with
	// the logarithm of the number of domains. MaxSkew is the maxSkew of a constraint.
	Weight  float64
	MaxSkew int32
	// Count is the number of existing pods that the rule counts in the domain, and Pods has the names of the first.
	Count int
	Pods  []string
	// Score is Weight times Count, plus maxSkew-1 for a constraint.
	Score float64
}
