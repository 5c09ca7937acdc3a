package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// Cycle is a pod's way through one scheduling cycle: what every plugin said of the nodes.
type Cycle struct {
	// PreFilter are what the PreFilter plugins said of the pod, in order.
	PreFilter []Verdict `json:"preFilter,omitempty"`
	// Searched is the number of nodes that the filters looked at, Filters the plugins that did, in order. A node is refused by
	// the first that refuses it.
	Searched int      `json:"searched"`
	Filters  []string `json:"filters,omitempty"`
	// Refusals are the nodes that were refused, by plugin and words, the most frequent first.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Scored is the number of nodes that were scored; a single feasible node is taken unscored.
	Scored int `json:"scored"`
	// Candidates are the feasible nodes, the best first; of many, the best ones, the chosen one, and those asked for.
	Candidates []Candidate `json:"candidates,omitempty"`
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

// Part is what one rule contributed to a plugin's raw score of a node.
type Part struct {
	// Rule says whose rule it is and which, in words.
	Rule string `json:"rule"`
	// TopologyKey and Domain are the node's failure domain in which the rule counts; empty for a rule about the node itself.
	TopologyKey string `json:"topologyKey,omitempty"`
	Domain      string `json:"domain,omitempty"`
	// Weight is the term's weight, negative for anti-affinity; for a spread constraint the weight of one matching pod.
	Weight float64 `json:"weight"`
	// Count is the number of existing pods that it counts, Pods the first ones of them, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods,omitempty"`
	// Score is the contribution.
	Score float64 `json:"score"`
}

// NewCycle puts a pod's scheduling cycle into the model; nil where none was kept. chosen is the pod's node, or "".
func NewCycle(cycle *placement.Cycle, chosen string) *Cycle {
	if cycle == nil {
		return nil
	}
	c := &Cycle{Searched: cycle.Searched, Filters: cycle.Filters, Scored: cycle.Scored}
	for _, verdict := range cycle.PreFilter {
		c.PreFilter = append(c.PreFilter, Verdict(verdict))
	}
	for _, refusal := range cycle.Refusals {
		c.Refusals = append(c.Refusals, Refusal(refusal))
	}
	c.Candidates = slices.Grow(c.Candidates, len(cycle.Candidates))
	from := newScores(cycle.Candidates)
	for _, candidate := range cycle.Candidates {
		c.Candidates = append(c.Candidates, Candidate{
			Node: candidate.Node, Rank: candidate.Rank, Chosen: candidate.Node == chosen, Total: candidate.Total, Scores: from.pluginScores(candidate.Scores),
		})
	}
	return c
}

// scores holds room for the scores of all candidates, since that of each pod and node apart would be many small pieces, and the words for their
// rules.
type scores struct {
	scores []PluginScore
	parts  []Part
	words  map[rule]string
}

// rule is what ruleOf reads of a part.
type rule struct {
	origin  placement.Origin
	field   string
	index   int
	maxSkew int32
}

func newScores(candidates []placement.Candidate) *scores {
	all, parts := 0, 0
	for _, candidate := range candidates {
		all += len(candidate.Scores)
		for _, score := range candidate.Scores {
			parts += len(score.Parts)
		}
	}
	return &scores{make([]PluginScore, all), make([]Part, parts), map[rule]string{}}
}

func (s *scores) pluginScores(scores []placement.PluginScore) []PluginScore {
	all := take(&s.scores, len(scores))
	for i, score := range scores {
		all[i] = PluginScore{Plugin: score.Plugin, Raw: score.Raw, Normalised: score.Normalised, Weight: score.Weight, Weighted: score.Weighted}
		parts := take(&s.parts, len(score.Parts))
		for j, part := range score.Parts {
			parts[j] = Part{
				Rule: s.ruleOf(part), TopologyKey: part.TopologyKey, Domain: part.Domain, Weight: part.Weight, Count: part.Count, Pods: part.Pods, Score: part.Score,
			}
		}
		all[i].Parts = parts
	}
	return all
}

// take cuts the first n off a slice; nil if n is 0.
func take[T any](from *[]T, n int) []T {
	if n == 0 {
		return nil
	}
	taken := (*from)[:n:n]
	*from = (*from)[n:]
	return taken
}

func (s *scores) ruleOf(part placement.Part) string {
	known := rule{part.Origin, part.Rule, part.Index, part.MaxSkew}
	words, found := s.words[known]
	if !found {
		words = ruleOf(part)
		s.words[known] = words
	}
	return words
}

// ruleOf says in words whose rule a part of a score follows, and which.
func ruleOf(part placement.Part) string {
	var words string
	switch part.Origin {
	case placement.Own:
		words = fmt.Sprintf("its own %s [%d]", part.Rule, part.Index)
	case placement.Existing, placement.ExistingRequired:
		words = part.Rule + " of pods that run"
	case placement.SystemDefault:
		words = "system default " + part.Rule
	case placement.ProfileDefault:
		words = fmt.Sprintf("the profile's %s [%d]", strings.TrimPrefix(part.Rule, "preferred "), part.Index)
	}
	switch {
	case part.Origin == placement.ExistingRequired:
		words += ", by hardPodAffinityWeight"
	case part.MaxSkew > 0:
		words += fmt.Sprintf(", maxSkew %d", part.MaxSkew)
	}
	return words
}

// Present marks the node on which the pod is.
func (c *Cycle) Present(node string) {
	if c == nil {
		return
	}
	for i := range c.Candidates {
		c.Candidates[i].Present = c.Candidates[i].Node == node
	}
}

// Chosen is the pod's node among the candidates.
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
