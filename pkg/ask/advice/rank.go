package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster/rule"
)

// goal is a figure to minimize. A list of goals has the most important first: the first one that differs decides between two candidates.
type goal struct {
	name  string
	value float64
}

// These are the values of rolloutGoal, and the names of goals that other code refers to.
const (
	rolloutEnds             = 0
	rolloutEndsWithStrategy = 1 // only with another strategy
	rolloutNeverEnds        = 2
	rolloutGoal             = "the rollout"
	pendingGoal             = "Pending"
	radiusGoal              = "radius"
	notBackGoal             = "not back"
	droppedGoal             = "all rules dropped"
)

// domainWord returns the word for one domain of the level.
func domainWord(key string) string {
	if key == v1.LabelHostname {
		return "node"
	}
	return shortKey(key)
}

// computeGoals returns all figures of the candidate, the most important first.
func (c *Candidate) computeGoals() []goal {
	var goals []goal
	if c.weighsRules {
		dropped := 0.0
		if c.dropsRules {
			dropped = 1
		}
		goals = append(goals, goal{droppedGoal, dropped})
	}
	goals = append(goals, goal{pendingGoal, float64(c.Pending)})
	if c.Rollout != nil {
		end := rolloutEnds
		switch {
		case !c.Rollout.Ends:
			end = rolloutNeverEnds
		case c.Strategy != "":
			end = rolloutEndsWithStrategy
		}
		goals = append(goals, goal{rolloutGoal, float64(end)})
		if c.Rollout.Ends {
			goals = append(goals, goal{"Pending after a rollout", float64(c.Rollout.Pending)})
		}
	}
	for i := range c.Levels {
		level := &c.Levels[i]
		name := notBackGoal + " after the loss of a " + domainWord(level.TopologyKey)
		// A level that was examined only in part has other domains for each candidate, so that its numbers do not compare.
		if notBack, looked := level.OwnNotBack(); looked && !level.IsPartlyExamined() {
			goals = append(goals, goal{name, float64(notBack)})
		}
		if least, open := c.minStranded[level.TopologyKey]; open {
			goals = append(goals, goal{name, least})
		}
	}
	for _, level := range c.Levels {
		goals = append(goals, goal{radiusGoal + " of a " + domainWord(level.TopologyKey), level.Radius})
	}
	if c.Rollout != nil && c.Rollout.Ends {
		for _, level := range c.Rollout.Levels {
			goals = append(goals, goal{radiusGoal + " of a " + domainWord(level.TopologyKey) + " after a rollout", level.Radius})
		}
	}
	if t := c.Trials; t != nil {
		goals = append(goals, goal{"Pending in the worst trial", float64(t.WorstPending)})
		for _, level := range t.Radius {
			goals = append(goals, goal{radiusGoal + " of a " + domainWord(level.TopologyKey) + " in the worst trial", level.Worst})
		}
	}
	// Two candidates that lose the same number of pods differ if one is less evenly spread.
	for _, level := range c.Levels {
		goals = append(goals, goal{"skew over " + shortKey(level.TopologyKey), float64(level.Skew)})
	}
	if c.Rollout != nil && c.Rollout.Ends {
		for _, level := range c.Rollout.Levels {
			goals = append(goals, goal{"skew over " + shortKey(level.TopologyKey) + " after a rollout", float64(level.Skew)})
		}
	}
	return goals
}

// weighRules makes "all rules dropped" a goal if some candidate keeps the workload's rules and leaves nothing Pending. No candidate without
// a rule then ranks before it.
func weighRules(candidates []Candidate) {
	for i := range candidates {
		candidates[i].weighsRules = false
	}
	now := findUnchanged(candidates)
	now.goals = now.computeGoals()
	was := now.goalValues()
	keeps := func(c Candidate) bool {
		return c.Pending == 0 && (c.Rollout == nil || c.Rollout.Ends) && !slices.ContainsFunc(now.apartRules, func(was rule.Rule) bool {
			return !slices.ContainsFunc(c.apartRules, func(is rule.Rule) bool { return is.TopologyKey == was.TopologyKey && (is.Hard || !was.Hard) })
		})
	}
	differs := func(c Candidate) bool { // c has no rule and other figures than the workload as it is; with the same figures, the simpler one comes first
		c.goals = c.computeGoals()
		return len(c.apartRules) == 0 && !maps.Equal(c.goalValues(), was)
	}
	weighed := len(now.apartRules) > 0 && slices.ContainsFunc(candidates, keeps) && slices.ContainsFunc(candidates, differs)
	for i := range candidates {
		candidates[i].weighsRules, candidates[i].dropsRules = weighed, len(candidates[i].apartRules) == 0
	}
}

// rank sorts the candidates: the Pareto front first; within the front and within the rest by their goals in order, then by the number of
// moved pods, then by the simplicity of the rule. It also notes, for every other candidate, which one beats it. Once failures of some
// candidates have been simulated, only these beat others.
func rank(candidates []Candidate) {
	weighRules(candidates)
	anyKnown := slices.ContainsFunc(candidates, func(c Candidate) bool { return c.failuresSimulated() })
	beats := func(c *Candidate) bool { return c.failuresSimulated() || !anyKnown }
	var sets []map[string]float64
	for i := range candidates {
		c := &candidates[i]
		c.goals = c.computeGoals()
		if beats(c) {
			sets = append(sets, c.goalValues())
		}
	}
	front := metric.Front(sets)
	for i := range candidates {
		c := &candidates[i]
		c.Front = false
		if beats(c) {
			c.Front, front = front[0], front[1:]
		}
	}
	slices.SortStableFunc(candidates, func(a, b Candidate) int {
		if a.Front != b.Front {
			if a.Front {
				return -1
			}
			return 1
		}
		return cmp.Or(compareGoals(&a, &b), cmp.Compare(a.Moved, b.Moved), cmp.Compare(a.complexity, b.complexity))
	})
	for i := range candidates {
		c := &candidates[i]
		c.SameAs, c.BeatenBy, c.BeatenIn, c.AtBest = "", "", "", ""
		for j := range candidates {
			other := &candidates[j]
			if !beats(other) {
				continue
			}
			if !beats(c) && c.AtBest == "" && other.SameAs == "" && other.covers(c) {
				c.AtBest = other.Name
			}
			if beats(c) && j < i && c.SameAs == "" && other.SameAs == "" && maps.Equal(c.goalValues(), other.goalValues()) {
				c.SameAs = other.Name
			}
			if better := other.beats(c); better != "" && c.BeatenBy == "" {
				c.BeatenBy, c.BeatenIn = other.Name, better
			}
		}
		if c.BeatenBy != "" {
			c.AtBest = ""
		}
	}
}

// failuresSimulated reports whether the candidate's failures were simulated.
func (c *Candidate) failuresSimulated() bool { return c.minStranded == nil }

// covers reports whether c is as good as the other candidate, or better, in every figure that both have.
func (c *Candidate) covers(other *Candidate) bool {
	values := other.goalValues()
	return !slices.ContainsFunc(c.goals, func(g goal) bool {
		value, found := values[g.name]
		return found && g.value > value
	})
}

// compareGoals orders a and b by the first figure in which they differ, of the figures that both have.
func compareGoals(a, b *Candidate) int {
	other := b.goalValues()
	for _, g := range a.goals {
		if value, found := other[g.name]; found && value != g.value {
			return cmp.Compare(g.value, value)
		}
	}
	return 0
}

func (c *Candidate) goalValues() map[string]float64 {
	values := map[string]float64{}
	for _, g := range c.goals {
		values[g.name] = g.value
	}
	return values
}

// beats returns the first figure in which c is better than the other candidate, if c is worse in none; "" if c does not beat it.
func (c *Candidate) beats(other *Candidate) string {
	values := c.goalValues()
	if !metric.Dominates(values, other.goalValues()) {
		return ""
	}
	for _, g := range other.goals {
		if value, found := values[g.name]; found && value < g.value {
			return g.describeAgainst(value, g.value)
		}
	}
	return ""
}

// describeAgainst describes the figure of one candidate and that of another.
func (g goal) describeAgainst(value, other float64) string {
	say := func(value float64) string { return fmt.Sprintf("%.0f", value) }
	switch {
	case g.name == rolloutGoal:
		say = func(value float64) string {
			return []string{rolloutEnds: "ends", rolloutEndsWithStrategy: "ends with another strategy", rolloutNeverEnds: "never ends"}[int(value)]
		}
	case g.name == droppedGoal:
		return "keeping its rules"
	case strings.HasPrefix(g.name, radiusGoal):
		say = func(value float64) string { return fmt.Sprintf("%.0f%%", 100*value) }
	}
	return fmt.Sprintf("%s (%s against %s)", g.name, say(value), say(other))
}

// DifferencesFrom returns the figures in which the candidate is better than the other, and the figures in which it is worse, the most important
// first.
func (c *Candidate) DifferencesFrom(other *Candidate) (better, worse []string) {
	values := other.goalValues()
	for _, g := range c.goals {
		switch value, found := values[g.name]; {
		case strings.HasPrefix(g.name, notBackGoal) && !c.failuresSimulated():
		case found && value > g.value:
			better = append(better, g.describeAgainst(g.value, value))
		case found && value < g.value:
			worse = append(worse, g.describeAgainst(g.value, value))
		}
	}
	return better, worse
}
