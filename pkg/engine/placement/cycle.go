package placement

import "github.com/faultline/faultline/pkg/cluster"

// Depth is how much is kept of a pod's scheduling cycle.
type Depth struct {
	// Nodes is how many nodes are kept by name: the best of those that were scored, and the first of those that were refused for
	// each reason. Existing pods are named as many for each part of a score. 0 keeps all.
	Nodes int
	// Named are nodes that are kept besides, whatever became of them.
	Named []string
	// Before keeps the cluster as the scheduler saw it.
	Before bool
}

// Cycle is a pod's last way through the scheduling cycle: what every plugin said of the nodes.
type Cycle struct {
	// PreFilter are what the PreFilter plugins said of the pod, in order; those after a refusal were not asked.
	PreFilter []Verdict
	// Named are the nodes that PreFilter plugins restricted the search to, sorted; nil if they did not. NamedBy are those plugins.
	Named, NamedBy []string
	// Start is the position in the cluster's order of nodes at which the search began, Searched the number of nodes looked at.
	Start, Searched int
	// Filters are the plugins that looked at the nodes, in order. The first that refuses a node ends the look at it.
	Filters []string
	// Refusals are the nodes that were refused, by plugin and words, the most frequent first.
	Refusals []Refusal
	// PreScore are what the PreScore plugins said of the pod; empty where nothing was scored.
	PreScore []Verdict
	// Scored is the number of nodes that were scored. A single feasible node is taken without that.
	Scored int
	// Candidates are the feasible nodes, the best first, equals by name.
	Candidates []Candidate
	// Before is the cluster as the scheduler saw it, the pod itself included; nil unless it was asked for.
	Before *cluster.State
}

// Verdict is what a plugin said of the pod as a whole: success, skip, or its refusal.
type Verdict struct {
	Plugin, Status string
}

// Refusal is a plugin's refusal of a number of nodes.
type Refusal struct {
	Plugin, Message string
	// Count is the number of nodes, and Nodes are those kept by name, in the order of the search.
	Count int
	Nodes []string
}

// Candidate is a feasible node.
type Candidate struct {
	Node string
	// Rank is 1 for the top score; equal scores have equal ranks. It is 0 where nothing was scored.
	Rank int
	// Total is the sum of the weighted scores.
	Total  int64
	Scores []PluginScore
}

// PluginScore is what one plugin gave a node.
type PluginScore struct {
	Plugin string
	// Raw is the plugin's own, Normalised that on a scale from 0 to 100, and Weighted that times Weight.
	Raw, Normalised, Weight, Weighted int64
	// Parts are what each rule contributed to Raw. They add up to it; those of PodTopologySpread once the sum is rounded. Plugins
	// that follow no weighted rules have none.
	Parts []Part
}

// Origin says whose rule a part of a score follows.
type Origin string

// The origins.
const (
	// Own is a rule of the pod's own.
	Own Origin = "own"
	// Existing is a preferred term of pods that run already, which counts for their company, too.
	Existing Origin = "existing"
	// ExistingRequired is a required affinity term of pods that run already; it counts with the profile's hardPodAffinityWeight.
	ExistingRequired Origin = "existing required"
	// SystemDefault is one of the scheduler's own spread constraints, for pods that have none.
	SystemDefault Origin = "system default"
	// ProfileDefault is a rule of the scheduler configuration's: a default spread constraint, or an added node affinity.
	ProfileDefault Origin = "profile"
)

// Part is what one rule contributed to a plugin's raw score of a node.
type Part struct {
	Origin Origin
	// Rule names the field of the rule: preferred affinity, preferred anti-affinity, required affinity, constraint or preferred
	// node affinity. Index is its place in that list of the pod's own spec or the profile's, from 0; -1 for an existing pod's.
	Rule  string
	Index int
	// TopologyKey is the rule's, and Domain the node's value for it; empty for node affinity.
	TopologyKey, Domain string
	// Weight is the term's, negative for anti-affinity; for a constraint the factor of the number of pods, which grows with the
	// logarithm of the number of domains. MaxSkew is a constraint's.
	Weight  float64
	MaxSkew int32
	// Count is the number of existing pods that the rule counts in the domain, and Pods are the names of the first of them.
	Count int
	Pods  []string
	// Score is Weight times Count, and for a constraint maxSkew-1 more.
	Score float64
}
