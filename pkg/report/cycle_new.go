package report

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// newCycle puts a pod's scheduling cycle into the model; nil where none was kept. chosen is the pod's node, or "".
func newCycle(cycle *placement.Cycle, chosen string) *Cycle {
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
	for _, candidate := range cycle.Candidates {
		c.Candidates = append(c.Candidates, Candidate{
			Node: candidate.Node, Rank: candidate.Rank, Chosen: candidate.Node == chosen, Total: candidate.Total, Scores: newPluginScores(candidate.Scores),
		})
	}
	return c
}

func newPluginScores(scores []placement.PluginScore) []PluginScore {
	var all []PluginScore
	for _, score := range scores {
		s := PluginScore{Plugin: score.Plugin, Raw: score.Raw, Normalised: score.Normalised, Weight: score.Weight, Weighted: score.Weighted}
		for _, part := range score.Parts {
			s.Parts = append(s.Parts, Part{
				Rule: ruleOf(part), TopologyKey: part.TopologyKey, Domain: part.Domain, Weight: part.Weight, Count: part.Count, Pods: part.Pods, Score: part.Score,
			})
		}
		all = append(all, s)
	}
	return all
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
