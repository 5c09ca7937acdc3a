package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
)

// Depth is how much of a pod's scheduling cycle to record.
type Depth struct {
	// Nodes is how many nodes to record by name: the best of the scored nodes, and the first rejected nodes for each reason. It also limits
	// how many existing pods are named for each part of a score. 0 means all.
	Nodes int
	// Named lists nodes that are always recorded.
	Named []string
	// Points records of the feasible nodes nothing but their points, for those who look at thousands of cycles.
	Points bool
	// Before records the cluster as the scheduler saw it.
	Before bool
}

// Cycle is a pod's way through one scheduling cycle: what every plugin said of the nodes.
type Cycle struct {
	// PreFilter are what the PreFilter plugins said of the pod, in order. Those after a refusal did not run.
	PreFilter []Verdict `json:"preFilter,omitempty"`
	// Named are the nodes to which PreFilter plugins restricted the search, sorted; nil if none did. NamedBy are those plugins.
	Named   []string `json:"-"`
	NamedBy []string `json:"-"`
	// Start is the position in the cluster's order of nodes at which the search began.
	Start int `json:"-"`
	// Searched is the number of nodes that the filters looked at, Filters the plugins that did, in order. A node is refused by
	// the first that refuses it.
	Searched int      `json:"searched"`
	Filters  []string `json:"filters,omitempty"`
	// Refusals are the nodes that were refused, by plugin and words, the most frequent first.
	Refusals []Refusal `json:"refusals,omitempty"`
	// PreScore are what the PreScore plugins said of the pod; empty if nothing was scored.
	PreScore []Verdict `json:"-"`
	// Scored is the number of nodes that were scored; a single feasible node is taken unscored.
	Scored int `json:"scored"`
	// Candidates are the feasible nodes, the best first, equals by name; of many, the best ones, the chosen one, and those asked for.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Points are those of all feasible nodes; nil unless asked for instead of candidates.
	Points *Points `json:"-"`
	// Before is the cluster as the scheduler saw it, with the pod itself; nil unless asked for.
	Before *cluster.State `json:"-"`
}

// Verdict is what a plugin said of the pod as a whole.
type Verdict struct {
	Plugin string `json:"plugin"`
	// Status is success, skip (it has nothing to say of this pod), or the refusal.
	Status string `json:"status"`
}

// Refusal is a plugin's refusal of a number of nodes.
type Refusal struct {
	Plugin  string `json:"plugin"`
	Message string `json:"message"`
	// Count is the number of nodes, Nodes the names of the first ones and of those asked for.
	Count int      `json:"count"`
	Nodes []string `json:"nodes"`
}

// Candidate is a feasible node.
type Candidate struct {
	Node string `json:"node"`
	// Rank is 1 for the nodes with the top score; nodes of the same score have the same rank. It is 0 where nothing was scored.
	Rank int `json:"rank,omitempty"`
	// Chosen means that it is the pod's node.
	Chosen bool `json:"chosen,omitempty"`
	// Present means that the pod runs there, and would be placed elsewhere now.
	Present bool `json:"present,omitempty"`
	// Total is the sum of the weighted scores.
	Total int64 `json:"total"`
	// Scores are those of each plugin, in the profile's order. Plugins that had nothing to say are left out.
	Scores []PluginScore `json:"scores,omitempty"`
}

// PluginScore is a plugin's score of a node.
type PluginScore struct {
	Plugin string `json:"plugin"`
	// Raw is what the plugin gave, Normalised that on a scale from 0 to 100, Weighted that times Weight.
	Raw        int64 `json:"raw"`
	Normalised int64 `json:"normalised"`
	Weight     int64 `json:"weight"`
	Weighted   int64 `json:"weighted"`
	// Parts are what each rule contributed to Raw, for InterPodAffinity, PodTopologySpread and NodeAffinity. They add up to it;
	// those of PodTopologySpread once their sum is rounded.
	Parts []Part `json:"parts,omitempty"`
}

// Points are what the score plugins gave to nodes.
type Points struct {
	Nodes []string
	// Plugins are those that had something to say, in the profile's order; none where nothing was scored, since a single node is feasible.
	Plugins []string
	// Totals are the sums of the weighted scores, by node, and Weighted these scores, by node and plugin.
	Totals   []int64
	Weighted []int64
}

// Of returns the weighted scores of the node with that index.
func (p *Points) Of(node int) []int64 {
	return p.Weighted[node*len(p.Plugins) : (node+1)*len(p.Plugins)]
}

// Part is what one rule contributed to a plugin's raw score of a node.
type Part struct {
	// Rule says whose rule it is and which, in words.
	Rule string `json:"rule"`
	// TopologyKey and Domain are the node's failure domain in which the rule counts; empty for a rule about the node itself.
	TopologyKey string `json:"topologyKey,omitempty"`
	Domain      string `json:"domain,omitempty"`
	// Weight is the term's weight, negative for anti-affinity; for a spread constraint the weight of one matching pod, which grows with the
	// logarithm of the number of domains.
	Weight float64 `json:"weight"`
	// Count is the number of existing pods that it counts, Pods the first ones of them, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods,omitempty"`
	// Score is the contribution: Weight times Count, plus maxSkew-1 for a spread constraint.
	Score float64 `json:"score"`
}

// Origin is whose rule contributed a part of a score.
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

// Rule says in words whose rule it is and which: the name of the field, such as "preferred affinity" or "constraint", with the index in that
// list of the pod's own spec or of the profile.
func (o Origin) Rule(field string, index int) string {
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

// Choose marks the node that the pod got.
func (c *Cycle) Choose(node string) {
	if c == nil {
		return
	}
	for i := range c.Candidates {
		c.Candidates[i].Chosen = c.Candidates[i].Node == node
	}
}

// Presenting returns the cycle with a mark on the node on which the pod runs.
func (c *Cycle) Presenting(node string) *Cycle {
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

// Chosen returns the pod's node among the candidates.
func (c *Cycle) Chosen() *Candidate {
	for i := range c.Candidates {
		if c.Candidates[i].Chosen {
			return &c.Candidates[i]
		}
	}
	return nil
}

// Below reports whether the node is known to have scored less than the top, or to have been refused.
func (c *Cycle) Below(node string) bool {
	if c == nil {
		return false
	}
	i := slices.IndexFunc(c.Candidates, func(candidate Candidate) bool { return candidate.Node == node })
	if i >= 0 {
		return c.Candidates[i].Rank != 1
	}
	return slices.ContainsFunc(c.Refusals, func(r Refusal) bool { return slices.Contains(r.Nodes, node) })
}

// Refuses returns the refusal of the node; nil if it is feasible, or not known to be refused.
func (c *Cycle) Refuses(node string) *Refusal {
	i := slices.IndexFunc(c.Refusals, func(r Refusal) bool { return slices.Contains(r.Nodes, node) })
	if i < 0 {
		return nil
	}
	return &c.Refusals[i]
}

// Ahead returns by how much each plugin scores one feasible node above another.
func (c *Cycle) Ahead(node, other string) map[string]int64 {
	ahead := map[string]int64{}
	for i := range c.Candidates {
		sign := map[string]int64{node: 1, other: -1}[c.Candidates[i].Node]
		for _, score := range c.Candidates[i].Scores {
			ahead[score.Plugin] += sign * score.Weighted
		}
	}
	return ahead
}

// Plugins returns the plugins that have scored in either of the cycles, in order.
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
