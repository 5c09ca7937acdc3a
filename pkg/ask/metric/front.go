package metric

// CostGoal is the name of the goal of the lowest cost.
const CostGoal = "cost"

// RadiusGoal returns the name of the goal of the smallest blast radius of the level.
func RadiusGoal(topologyKey string) string { return "radius " + topologyKey }

// NotBackGoal returns the name of the goal of the fewest pods that do not come back after a failure of the level.
func NotBackGoal(topologyKey string) string { return "not back " + topologyKey }

// Goals returns the figures to minimize by name: the number of Pending pods, the blast radius of each level, the largest number of pods
// that do not come back after a failure of each level (if examined), and the cost (if known). Skew is not a goal, because its effect shows
// in the blast radius. A level of one domain has no goal for pods that do not come back, because its failure leaves no node to come back
// to.
func (m *Metrics) Goals() map[string]float64 {
	goals := map[string]float64{"pending": float64(m.Pending)}
	for i := range m.Levels {
		level := &m.Levels[i]
		goals[RadiusGoal(level.TopologyKey)] = level.Radius
		if notBack, looked := level.NotBack(); looked && level.Domains > 1 {
			goals[NotBackGoal(level.TopologyKey)] = float64(notBack)
		}
	}
	if m.Cost != nil && m.Unpriced == 0 {
		goals[CostGoal] = *m.Cost
	}
	return goals
}

// Front reports for each set of goals whether it is on the Pareto front, that is, no other set dominates it.
func Front(goals []map[string]float64) []bool {
	front := make([]bool, len(goals))
	for i := range goals {
		front[i] = true
		for j := range goals {
			if Dominates(goals[j], goals[i]) {
				front[i] = false
				break
			}
		}
	}
	return front
}

// Dominates reports whether a is better than b in one goal and worse in none. It compares the goals that both have.
func Dominates(a, b map[string]float64) bool {
	better := false
	for name, value := range a {
		other, found := b[name]
		switch {
		case !found:
		case value > other:
			return false
		case value < other:
			better = true
		}
	}
	return better
}
