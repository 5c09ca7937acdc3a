package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// story describes the pod's way through the scheduling cycle, a sentence per item.
func (e *Explanation) story() []string {
	if e.Cycle == nil {
		story := []string{"The pod was held back before the scheduler looked at any node: " + e.Message}
		if e.Untried != "" {
			story = []string{"The scheduler does not try the pod: " + e.Untried, "The API server says nothing of it: no event on the pod and no condition."}
			if e.Message != "" {
				story[1] = "The API server says nothing of it. What an attempt has left before still stands there: " + e.Message
			}
		}
		if e.Group != nil {
			story = append(story, e.Group.text())
		}
		return story
	}
	c := e.Cycle
	story := e.filtering()
	switch {
	case e.Reason != "":
		story = []string{
			fmt.Sprintf("Filter: the scheduler looks at %s. A plugin fails, which ends the attempt and refuses no node.", words.Count(c.Searched, "node")),
			"So the pod stays Pending, with the reason " + e.Reason + ". The event on it reads: " + e.Message,
		}
		if e.Group != nil {
			story = append(story, e.Group.text())
		}
		return append(story, e.helpfulChanges()...)
	case e.Node == "" && len(c.Candidates) > 0 && e.Group != nil:
		story = append(story, e.Group.text(), "So the pod stays Pending. The event on it reads: "+e.Message)
		return append(story, e.helpfulChanges()...)
	case e.Node == "":
		story = append(story, "No node is left, so the pod stays Pending. The event on the pod reads: "+e.Message)
		if e.Group != nil {
			story = append(story, e.Group.text())
		}
		return append(story, e.helpfulChanges()...)
	case c.Scored == 0:
		return append(story, fmt.Sprintf("A single node is left, %s, so there is nothing to score, and the pod goes there.", e.Node))
	}
	apart, alike := doc.SplitByDifference(c.Candidates)
	story = append(story, fmt.Sprintf("Score: each of %s gives every one of the %s points, which are brought to a scale from 0 to 100 and multiplied by the plugin's weight.",
		words.Count(len(apart)+len(alike), "plugin"), words.Count(c.Scored, "node")))
	if len(alike) > 0 {
		names := list.Map(alike, func(i int) string { return c.Candidates[0].Scores[i].Plugin })
		story = append(story, fmt.Sprintf("%s %s the same points for all of them, and so decide%s nothing.",
			words.And(names), words.Pick(len(names), "has", "have"), words.Pick(len(names), "s", "")))
	}
	for _, i := range apart {
		story = append(story, e.preference(i))
	}
	story = append(story, e.decisionSentence())
	return append(story, e.consequences()...)
}

// filtering describes the filters.
func (e *Explanation) filtering() []string {
	c := e.Cycle
	for _, verdict := range c.PreFilter {
		if verdict.Status != "success" && verdict.Status != "skip" {
			return []string{fmt.Sprintf("PreFilter: %s refuses the pod before any node is looked at: %s.", verdict.Plugin, verdict.Status)}
		}
	}
	refused := 0
	var parts []string
	for _, refusal := range c.Refusals {
		refused += refusal.Count
		who := words.And(refusal.Nodes[:min(len(refusal.Nodes), doc.MaxNamed)])
		if more := refusal.Count - min(len(refusal.Nodes), doc.MaxNamed); more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, fmt.Sprintf("%s refuses %s (%s)", refusal.Plugin, who, refusal.Message))
	}
	if refused == 0 {
		return []string{fmt.Sprintf("Filter: the scheduler looks at %s, and no plugin refuses one.", words.Count(c.Searched, "node"))}
	}
	return []string{fmt.Sprintf("Filter: the scheduler looks at %s. %s. %s left.",
		words.Count(c.Searched, "node"), strings.Join(parts, "; "), leftText(c.Searched-refused))}
}

func leftText(n int) string {
	if n == 0 {
		return "None is"
	}
	return words.Is(n, "node")
}

// preference says which nodes a plugin prefers, and by which rules.
func (e *Explanation) preference(plugin int) string {
	byScore := slices.Clone(e.Cycle.Candidates)
	slices.SortStableFunc(byScore, func(a, b placement.Candidate) int {
		return cmp.Compare(b.Scores[plugin].Weighted, a.Scores[plugin].Weighted)
	})
	best, worst := byScore[0], byScore[len(byScore)-1]
	score := best.Scores[plugin]
	top := 0
	for top < len(byScore) && byScore[top].Scores[plugin].Weighted == score.Weighted {
		top++
	}
	likes := best.Node
	if top > 1 {
		likes = fmt.Sprintf("%s and %d more", best.Node, top-1)
	}
	sentence := fmt.Sprintf("%s (weight %d) likes %s best, with %d points, and %s least, with %d",
		score.Plugin, score.Weight, likes, score.Weighted, worst.Node, worst.Scores[plugin].Weighted)
	if best.Scores[plugin].Weighted == worst.Scores[plugin].Weighted {
		return fmt.Sprintf("%s (weight %d) sees a difference in raw points, but after scaling gives all of them %d.", score.Plugin, score.Weight, score.Weighted)
	}
	if reasons := partDifferences(best.Scores[plugin].Parts, worst.Scores[plugin].Parts); len(reasons) > 0 {
		sentence += ": " + words.And(reasons)
	}
	return sentence + "."
}

// partDifferences says for which rules the worst node has another number of pods than the best one.
func partDifferences(best, worst []placement.Part) []string {
	var all []string
	for _, part := range worst {
		if part.TopologyKey == "" {
			continue
		}
		i := slices.IndexFunc(best, func(p placement.Part) bool { return p.Rule == part.Rule && p.TopologyKey == part.TopologyKey })
		other := 0
		if i >= 0 {
			other = best[i].Count
		}
		if other == part.Count {
			continue
		}
		key := doc.ShortKeys([]string{part.TopologyKey})[0]
		all = append(all, fmt.Sprintf("the %s %s holds %s for %s, that of the best %d",
			key, cmp.Or(part.Domain, `""`), words.Count(part.Count, "pod"), part.Rule, other))
	}
	return all
}

// decisionSentence says which node wins, and which plugins decided.
func (e *Explanation) decisionSentence() string {
	d, chosen := e.Decision, e.Cycle.Chosen()
	switch {
	case d.Ties == d.Scored:
		return fmt.Sprintf("The sum is %d for every node. They are equal, and %s is taken: the first in the scheduler's order, or the one that was drawn.", chosen.Total, e.Node)
	case d.Ties > 1:
		return fmt.Sprintf("%d nodes share the highest sum, %d, which is %d more than that of %s. Of those equals %s is taken.", d.Ties, chosen.Total, d.Margin, d.RunnerUp, e.Node)
	}
	sentence := fmt.Sprintf("The sum is highest for %s, with %d points; that is %d more than for %s, the next.", e.Node, chosen.Total, d.Margin, d.RunnerUp)
	if len(d.Deciders) == 0 {
		return sentence + " Several plugins agree: without any one of them it would be the same node."
	}
	return fmt.Sprintf("%s Without the points of %s it would not be this node alone, so %s.", sentence, strings.Join(d.Deciders, " or "), words.Pick(len(d.Deciders), "that decided", "those decided"))
}

// consequences says what other rules and weights would have changed.
func (e *Explanation) consequences() []string {
	var story []string
	for _, flip := range e.Flips {
		if flip.To == "" || flip.Of == "capacity" {
			continue
		}
		story = append(story, fmt.Sprintf("Were the %s %s and not %s, the pod would go to %s.", flip.Subject, flip.To, flip.From, doc.OrNone(flip.Node)))
	}
	for _, effect := range e.Effects {
		story = append(story, fmt.Sprintf("The rule %s %s.", effect.Rule, effect.Words))
	}
	return story
}

// helpfulChanges says which changes would place a Pending pod.
func (e *Explanation) helpfulChanges() []string {
	var story []string
	for _, effect := range e.Effects {
		if effect.PendingWithout < effect.Pending {
			story = append(story, fmt.Sprintf("The rule %s %s.", effect.Rule, effect.Words))
		}
	}
	if len(e.Fixes) > 0 {
		story = append(story, "The mildest change that helps, of those tried: "+e.Fixes[0].Change+".")
	}
	return story
}
