package report

// compareChart has a row of bars for each variant, and a panel for each of the numbers of which less is better.
func compareChart(r *CompareReport) *chart {
	var versions []Version
	for i := range r.Variants {
		v := &r.Variants[i]
		versions = append(versions, Version{Name: v.Name, Found: &v.Found, Front: v.Front, Baseline: i == 0})
	}
	notes := "after step " + cut(r.Step, 40)
	if len(r.Workloads) > 0 {
		notes += "; blast radius of " + and(r.Workloads)
	}
	return Versions(chartTitle(r.Head, "variants side by side"), notes, versions)
}
