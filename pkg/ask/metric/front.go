package metric

// Goals returns the figures to minimize by name: the Pending pods, the blast radius of each level, what a failure of each level leaves
// without a node if that was examined, and the cost if it is known. Skew is not a goal: its effect shows in the blast radius.
func (m *Metrics) Goals() map[string]float64 {
	goals := map[string]float64{"pending": float64(m.Pending)}
	for i := range m.Levels {
		level := &m.Levels[i]
		goals["radius "+level.TopologyKey] = level.Radius
		if stranded, looked := level.Stranded(); looked {
			goals["stranded "+level.TopologyKey] = float64(stranded)
		}
	}
	if m.Cost != nil && m.Unpriced == 0 {
		goals["cost"] = *m.Cost
	}
	return goals
}

// Front reports for each of the sets of goals whether it is on the Pareto front: no other is better in one of them and worse in none. Sets
// are compared by the goals that both have.
func Front(goals []map[string]float64) []bool {
	front := make([]bool, len(goals))
	for i := range goals {
		front[i] = true
		for j := range goals {
			if beats(goals[j], goals[i]) {
				front[i] = false
				break
			}
		}
	}
	return front
}

func beats(a, b map[string]float64) bool {
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
