package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
)

// Depth says how much of a pod's scheduling cycle to record.
type Depth struct {
	// Nodes is the number of nodes to record by name: the best scored nodes, and the first rejected nodes for each reason. It also limits
	// the existing pods that each part of a score names. 0 means all.
	Nodes int
	// Named lists nodes that are always recorded.
	Named []string
	// Points records only the points of the feasible nodes, for callers that look at thousands of cycles.
	Points bool
	// Before records the cluster as the scheduler saw it in this cycle.
	Before bool
}

// Cycle is a pod's scheduling cycle: what every plugin said about the nodes.
type Cycle struct {
	// PreFilter has what the PreFilter plugins said about the pod, in order. Plugins after a refusal did not run.
	PreFilter []Verdict `json:"preFilter,omitempty"`
	// Named are the nodes to which PreFilter plugins restricted the search, sorted; nil if none did. NamedBy are these plugins.
	Named   []string `json:"-"`
	NamedBy []string `json:"-"`
	// Start is the position in the cluster's order of nodes at which the search began.
	Start int `json:"-"`
	// Searched is the number of nodes that the filters looked at. Filters are the filter plugins, in order. The first plugin that refuses a
	// node counts as the one that refused it.
	Searched int      `json:"searched"`
	Filters  []string `json:"filters,omitempty"`
	// Refusals count the refused nodes by plugin and message, the most frequent first.
	Refusals []Refusal `json:"refusals,omitempty"`
	// PreScore has what the PreScore plugins said about the pod; empty if no node was scored.
	PreScore []Verdict `json:"-"`
	// Scored is the number of nodes that were scored. A single feasible node is taken without scores.
	Scored int `json:"scored"`
	// Candidates are the feasible nodes, the best first, equals by name. If there are many, they are the best ones, the chosen one, and
	// nodes that were asked for by name.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Points has the points of all feasible nodes; nil unless the Depth asked for them in place of candidates.
	Points *Points `json:"-"`
	// Before is the cluster as the scheduler saw it, with the pod itself; nil unless the Depth asked for it.
	Before *cluster.State `json:"-"`
}

// Verdict is what a plugin said about the pod as a whole.
type Verdict struct {
	Plugin string `json:"plugin"`
	// Status is success, skip (the plugin does not apply to this pod), or the refusal.
	Status string `json:"status"`
}

// Refusal is a plugin's refusal of a number of nodes, with one message.
type Refusal struct {
	Plugin  string `json:"plugin"`
	Message string `json:"message"`
	// Count is the number of nodes. Nodes are the names of the first ones, and of nodes that were asked for by name.
	Count int      `json:"count"`
	Nodes []string `json:"nodes"`
}

// Candidate is a feasible node.
type Candidate struct {
	Node string `json:"node"`
	// Rank is 1 for the nodes with the top score. Nodes with the same score have the same rank. It is 0 if no node was scored.
	Rank int `json:"rank,omitempty"`
	// Chosen means that the scheduler gave the pod this node.
	Chosen bool `json:"chosen,omitempty"`
	// Present means that the pod runs on this node, while the cycle shows where the scheduler would place it now.
	Present bool `json:"present,omitempty"`
	// Total is the sum of the weighted scores.
	Total int64 `json:"total"`
	// Scores are the scores of each plugin, in the profile's order. Plugins that did not apply are left out.
	Scores []PluginScore `json:"scores,omitempty"`
}

// PluginScore is a plugin's score for a node.
type PluginScore struct {
	Plugin string `json:"plugin"`
	// Raw is the plugin's own score, Normalised the same on a scale from 0 to 100, and Weighted is Normalised times Weight.
	Raw        int64 `json:"raw"`
	Normalised int64 `json:"normalised"`
	Weight     int64 `json:"weight"`
	Weighted   int64 `json:"weighted"`
	// Parts are the contributions of each rule to Raw, for InterPodAffinity, PodTopologySpread and NodeAffinity. They add up to Raw; for
	// PodTopologySpread the sum is rounded.
	Parts []Part `json:"parts,omitempty"`
}

// Points are the weighted scores of the score plugins for nodes.
type Points struct {
	Nodes []string
	// Plugins are the plugins that gave scores, in the profile's order; none if a single node is feasible, which is not scored.
	Plugins []string
	// Totals are the sums of the weighted scores, by node. Weighted has the weighted scores by node and plugin; see [Points.OfNode].
	Totals   []int64
	Weighted []int64
}

// OfNode returns the weighted scores of the node with that index, by plugin.
func (p *Points) OfNode(node int) []int64 {
	return p.Weighted[node*len(p.Plugins) : (node+1)*len(p.Plugins)]
}

// Part is the contribution of one rule to a plugin's raw score for a node.
type Part struct {
	// Rule describes the rule in words, and says whose rule it is.
	Rule string `json:"rule"`
	// TopologyKey and Domain are the node's failure domain in which the rule counts pods; empty for a rule about the node itself.
	TopologyKey string `json:"topologyKey,omitempty"`
	Domain      string `json:"domain,omitempty"`
	// Weight is the term's weight, negative for anti-affinity. For a spread constraint it is the weight of one matching pod, which grows
	// with the logarithm of the number of domains.
	Weight float64 `json:"weight"`
	// Count is the number of existing pods that the rule counts. Pods are the first of them, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods,omitempty"`
	// Score is the contribution: Weight times Count, plus maxSkew-1 for a spread constraint.
	Score float64 `json:"score"`
}

// Origin says whose rule contributed a part of a score.
type Origin string

const (
	// Own is one of the pod's own rules.
	Own Origin = "own"
	// Existing is a preferred term of existing pods, which also applies to pods that would join them.
	Existing Origin = "existing"
	// ExistingRequired is a required affinity term of existing pods. It counts with the profile's hardPodAffinityWeight.
	ExistingRequired Origin = "existing required"
	// SystemDefault is one of the scheduler's own spread constraints, for pods without constraints.
	SystemDefault Origin = "system default"
	// ProfileDefault is a rule of the scheduler configuration: a default spread constraint, or an added node affinity.
	ProfileDefault Origin = "profile"
)

// DescribeRule describes a rule of this origin. The field names the list, such as "preferred affinity" or "constraint", and the index is the
// position in that list of the pod's own spec or of the profile.
func (o Origin) DescribeRule(field string, index int) string {
	switch o {
	case Own:
		return fmt.Sprintf("its own %s [%d]", field, index)
	case Existing:
		return field + " of pods that run"
	case ExistingRequired:
		return field + " of pods that run, by hardPodAffinityWeight"
	case SystemDefault:
		return "system default " + field
	}
	return fmt.Sprintf("the profile's %s [%d]", strings.TrimPrefix(field, "preferred "), index)
}

// MarkChosen marks the node that the scheduler gave the pod.
func (c *Cycle) MarkChosen(node string) {
	if c == nil {
		return
	}
	for i := range c.Candidates {
		c.Candidates[i].Chosen = c.Candidates[i].Node == node
	}
}

// MarkPresent returns the cycle with a mark on the node where the pod runs.
func (c *Cycle) MarkPresent(node string) *Cycle {
	if c == nil {
		return nil
	}
	marked := *c
	marked.Candidates = slices.Clone(c.Candidates)
	for i := range marked.Candidates {
		marked.Candidates[i].Present = marked.Candidates[i].Node == node
	}
	return &marked
}

// Chosen returns the candidate that the pod got; nil if none is marked.
func (c *Cycle) Chosen() *Candidate {
	for i := range c.Candidates {
		if c.Candidates[i].Chosen {
			return &c.Candidates[i]
		}
	}
	return nil
}

// ScoresBelowTop reports whether the node is known to have been refused, or to have scored less than the top.
func (c *Cycle) ScoresBelowTop(node string) bool {
	if c == nil {
		return false
	}
	i := slices.IndexFunc(c.Candidates, func(candidate Candidate) bool { return candidate.Node == node })
	if i >= 0 {
		return c.Candidates[i].Rank != 1
	}
	return slices.ContainsFunc(c.Refusals, func(r Refusal) bool { return slices.Contains(r.Nodes, node) })
}

// RefusalOf returns the refusal of the node; nil if the node is feasible, or the cycle does not name it.
func (c *Cycle) RefusalOf(node string) *Refusal {
	i := slices.IndexFunc(c.Refusals, func(r Refusal) bool { return slices.Contains(r.Nodes, node) })
	if i < 0 {
		return nil
	}
	return &c.Refusals[i]
}

// ScoreDifference returns, by plugin, the weighted score of the feasible node minus that of the other one.
func (c *Cycle) ScoreDifference(node, other string) map[string]int64 {
	ahead := map[string]int64{}
	for i := range c.Candidates {
		sign := map[string]int64{node: 1, other: -1}[c.Candidates[i].Node]
		for _, score := range c.Candidates[i].Scores {
			ahead[score.Plugin] += sign * score.Weighted
		}
	}
	return ahead
}

// Plugins returns the plugins that have scored in either of the two cycles, in order.
func (c *Cycle) Plugins(other *Cycle) []string {
	var names []string
	for _, cycle := range []*Cycle{c, other} {
		for i := range cycle.Candidates {
			for _, score := range cycle.Candidates[i].Scores {
				if !slices.Contains(names, score.Plugin) {
					names = append(names, score.Plugin)
				}
			}
		}
	}
	return names
}
