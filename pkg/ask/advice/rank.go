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
	ends          = 0
	endsOtherwise = 1 // only with another strategy
	doesNotEnd    = 2
	rolloutGoal   = "the rollout"
	pendingGoal   = "Pending"
	radiusGoal    = "radius"
	notBackGoal   = "not back"
	droppedGoal   = "all rules dropped"
)

// domain returns the word for one domain of the level.
func domain(key string) string {
	if key == v1.LabelHostname {
		return "node"
	}
	return Short(key)
}

// figures returns all figures of the candidate, the most important first.
func (c *Candidate) figures() []goal {
	var goals []goal
	if c.weighed {
		dropped := 0.0
		if c.dropped {
			dropped = 1
		}
		goals = append(goals, goal{droppedGoal, dropped})
	}
	goals = append(goals, goal{pendingGoal, float64(c.Pending)})
	if c.Rollout != nil {
		end := ends
		switch {
		case !c.Rollout.Ends:
			end = doesNotEnd
		case c.Strategy != "":
			end = endsOtherwise
		}
		goals = append(goals, goal{rolloutGoal, float64(end)})
		if c.Rollout.Ends {
			goals = append(goals, goal{"Pending after a rollout", float64(c.Rollout.Pending)})
		}
	}
	for i := range c.Levels {
		level := &c.Levels[i]
		name := notBackGoal + " after the loss of a " + domain(level.TopologyKey)
		// A level that was examined only in part has other domains for each candidate, so that its numbers do not compare.
		if notBack, looked := level.OwnNotBack(); looked && !level.Partly() {
			goals = append(goals, goal{name, float64(notBack)})
		}
		if least, open := c.atLeast[level.TopologyKey]; open {
			goals = append(goals, goal{name, least})
		}
	}
	for _, level := range c.Levels {
		goals = append(goals, goal{radiusGoal + " of a " + domain(level.TopologyKey), level.Radius})
	}
	if c.Rollout != nil && c.Rollout.Ends {
		for _, level := range c.Rollout.Levels {
			goals = append(goals, goal{radiusGoal + " of a " + domain(level.TopologyKey) + " after a rollout", level.Radius})
		}
	}
	if t := c.Trials; t != nil {
		goals = append(goals, goal{"Pending in the worst trial", float64(t.WorstPending)})
		for _, level := range t.Radius {
			goals = append(goals, goal{radiusGoal + " of a " + domain(level.TopologyKey) + " in the worst trial", level.Worst})
		}
	}
	// Two candidates that lose the same number of pods differ if one is less evenly spread.
	for _, level := range c.Levels {
		goals = append(goals, goal{"skew over " + Short(level.TopologyKey), float64(level.Skew)})
	}
	if c.Rollout != nil && c.Rollout.Ends {
		for _, level := range c.Rollout.Levels {
			goals = append(goals, goal{"skew over " + Short(level.TopologyKey) + " after a rollout", float64(level.Skew)})
		}
	}
	return goals
}

// weighRules makes "all rules dropped" a goal if some candidate keeps the workload's rules and leaves nothing Pending. No candidate without
// a rule then ranks before it.
func weighRules(candidates []Candidate) {
	for i := range candidates {
		candidates[i].weighed = false
	}
	now := asItIs(candidates)
	now.goals = now.figures()
	was := now.values()
	keeps := func(c Candidate) bool {
		return c.Pending == 0 && (c.Rollout == nil || c.Rollout.Ends) && !slices.ContainsFunc(now.kept, func(was rule.Rule) bool {
			return !slices.ContainsFunc(c.kept, func(is rule.Rule) bool { return is.TopologyKey == was.TopologyKey && (is.Hard || !was.Hard) })
		})
	}
	differs := func(c Candidate) bool { // c has no rule and other figures than the workload as it is; with the same figures, the simpler one comes first
		c.goals = c.figures()
		return len(c.kept) == 0 && !maps.Equal(c.values(), was)
	}
	weighed := len(now.kept) > 0 && slices.ContainsFunc(candidates, keeps) && slices.ContainsFunc(candidates, differs)
	for i := range candidates {
		candidates[i].weighed, candidates[i].dropped = weighed, len(candidates[i].kept) == 0
	}
}

// rank sorts the candidates: the Pareto front first; within the front and within the rest by their goals in order, then by the number of
// moved pods, then by the simplicity of the rule. It also notes, for every other candidate, which one beats it. Once failures of some
// candidates have been simulated, only these beat others.
func rank(candidates []Candidate) {
	weighRules(candidates)
	anyKnown := slices.ContainsFunc(candidates, func(c Candidate) bool { return c.known() })
	beats := func(c *Candidate) bool { return c.known() || !anyKnown }
	var sets []map[string]float64
	for i := range candidates {
		c := &candidates[i]
		c.goals = c.figures()
		if beats(c) {
			sets = append(sets, c.values())
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
		return cmp.Or(compare(&a, &b), cmp.Compare(a.Moved, b.Moved), cmp.Compare(a.complexity, b.complexity))
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
			if beats(c) && j < i && c.SameAs == "" && other.SameAs == "" && maps.Equal(c.values(), other.values()) {
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

// known reports whether the candidate's failures were simulated.
func (c *Candidate) known() bool { return c.atLeast == nil }

// covers reports whether c is as good as the other candidate, or better, in every figure that both have.
func (c *Candidate) covers(other *Candidate) bool {
	values := other.values()
	return !slices.ContainsFunc(c.goals, func(g goal) bool {
		value, found := values[g.name]
		return found && g.value > value
	})
}

// compare orders a and b by the first figure in which they differ, of the figures that both have.
func compare(a, b *Candidate) int {
	other := b.values()
	for _, g := range a.goals {
		if value, found := other[g.name]; found && value != g.value {
			return cmp.Compare(g.value, value)
		}
	}
	return 0
}

func (c *Candidate) values() map[string]float64 {
	values := map[string]float64{}
	for _, g := range c.goals {
		values[g.name] = g.value
	}
	return values
}

// beats returns the first figure in which c is better than the other candidate, if c is worse in none; "" if c does not beat it.
func (c *Candidate) beats(other *Candidate) string {
	values := c.values()
	if !metric.Dominates(values, other.values()) {
		return ""
	}
	for _, g := range other.goals {
		if value, found := values[g.name]; found && value < g.value {
			return g.words(value, g.value)
		}
	}
	return ""
}

// words describes the figure of one candidate and that of another.
func (g goal) words(value, other float64) string {
	say := func(value float64) string { return fmt.Sprintf("%.0f", value) }
	switch {
	case g.name == rolloutGoal:
		say = func(value float64) string {
			return []string{ends: "ends", endsOtherwise: "ends with another strategy", doesNotEnd: "never ends"}[int(value)]
		}
	case g.name == droppedGoal:
		return "keeping its rules"
	case strings.HasPrefix(g.name, radiusGoal):
		say = func(value float64) string { return fmt.Sprintf("%.0f%%", 100*value) }
	}
	return fmt.Sprintf("%s (%s against %s)", g.name, say(value), say(other))
}

// Against returns the figures in which the candidate is better than the other, and the figures in which it is worse, the most important
// first.
func (c *Candidate) Against(other *Candidate) (better, worse []string) {
	values := other.values()
	for _, g := range c.goals {
		switch value, found := values[g.name]; {
		case strings.HasPrefix(g.name, notBackGoal) && !c.known():
		case found && value > g.value:
			better = append(better, g.words(g.value, value))
		case found && value < g.value:
			worse = append(worse, g.words(g.value, value))
		}
	}
	return better, worse
}
