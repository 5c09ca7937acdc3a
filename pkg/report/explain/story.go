package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/explain"
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
	points := func(c placement.Candidate) int64 { return c.Scores[plugin].Weighted }
	slices.SortStableFunc(byScore, func(a, b placement.Candidate) int {
		return cmp.Compare(points(b), points(a))
	})
	best, worst := byScore[0], byScore[len(byScore)-1]
	score := best.Scores[plugin]
	named := func(with int64) string {
		return words.Few(list.Map(list.Where(byScore, func(c placement.Candidate) bool { return points(c) == with }), func(c placement.Candidate) string { return c.Node }))
	}
	sentence := fmt.Sprintf("%s (weight %d) likes %s best, with %d points, and %s least, with %d",
		score.Plugin, score.Weight, named(points(best)), points(best), named(points(worst)), points(worst))
	if best.Scores[plugin].Weighted == worst.Scores[plugin].Weighted {
		return fmt.Sprintf("%s (weight %d) sees a difference in raw points, but after scaling gives all of them %d.", score.Plugin, score.Weight, score.Weighted)
	}
	if reasons := partDifferences(best.Scores[plugin].Parts, worst.Scores[plugin].Parts); len(reasons) > 0 {
		sentence += fmt.Sprintf("; on %s, %s", worst.Node, strings.Join(reasons, "; "))
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

// decisionSentence says how many points the node has, and what decided.
func (e *Explanation) decisionSentence() string {
	return fmt.Sprintf("The sum for %s is %d. %s", e.Node, e.Cycle.Chosen().Total, e.Verdict)
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
	for i := range e.Effects {
		story = append(story, e.ownEffect(&e.Effects[i]))
	}
	return story
}

// ownEffect says what a rule of the workload changes for this pod.
func (e *Explanation) ownEffect(effect *explain.Effect) string {
	if i := slices.IndexFunc(effect.Moved, func(m explain.Move) bool { return m.Pod == e.Name }); i >= 0 {
		return fmt.Sprintf("Without the rule %s this pod would be on %s.", effect.Rule, cmp.Or(effect.Moved[i].To, "no node"))
	}
	if effect.Decides {
		return fmt.Sprintf("Without the rule %s this pod would be on the same node.", effect.Rule)
	}
	return fmt.Sprintf("The rule %s %s.", effect.Rule, effect.Words)
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
