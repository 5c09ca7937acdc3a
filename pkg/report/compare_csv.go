package report

// compareCSV has a row for each variant and level, and a head:
//
//	variant, pods, pending, moved, cost, unpriced: the same in each row of a variant
//	topologyKey, domains, skew, skewOf, radius (between 0 and 1), radiusOf, radiusIn: the level
//	stranded, unreplaced: the most that a failure of the level leaves so; empty where that was not looked at
//	lookedAt: for how many of the level's domains it was
func compareCSV(r *CompareReport) ([]byte, error) {
	table := [][]string{append([]string{"variant"}, metricColumns...)}
	for i := range r.Variants {
		for _, cells := range metricRows(&r.Variants[i].Found) {
			table = append(table, append([]string{r.Variants[i].Name}, cells...))
		}
	}
	return toCSV(table)
}
