package report

// capacityMarkdown is the answers, a table of them, and what becomes of the free resources.
func capacityMarkdown(r *CapacityReport) []byte {
	m := &markdown{}
	for i := range r.Mixes {
		for j, line := range r.answers(&r.Mixes[i]) {
			if i == maxDetails {
				break
			}
			if j == 0 {
				m.block("**%s**", prose(line.text))
			} else {
				m.block("%s", prose(line.text))
			}
		}
	}
	m.about(r.Head)
	if len(r.Mixes) > 1 {
		m.table(r.summary(), "workload")
	}
	m.details(len(r.Mixes), "workload", func(i int) string {
		mix := &r.Mixes[i]
		part := &markdown{}
		part.block("%s", summary(mix.Name, "what becomes of the free resources"))
		part.table(mix.headroom(), "resource")
		var refused []string
		for _, l := range append([]CapacityLimit{mix.Fit}, mix.Survive...) {
			if l.Message != "" {
				refused = append(refused, prose(l.when())+": "+code(l.Pod)+": "+prose(l.Message))
			}
		}
		part.list("The first pod without a node", refused)
		part.block("</details>")
		return part.text()
	})
	var pods []string
	for _, pod := range r.Largest {
		pods = append(pods, prose(pod.text()))
	}
	m.list("Largest pods that fit now", pods)
	return m.bytes()
}
