package report

// outcomesMarkdown is a table of the steps, and details of each.
func outcomesMarkdown(r *OutcomesReport) []byte {
	m, t := &markdown{}, newOutcomesText(r, Options{})
	m.block("**%s**", prose("Outcomes: "+t.method()))
	m.about(r.Head)
	m.table(t.summary(), "step")
	m.details(len(r.Steps), "step", func(i int) string {
		s := &r.Steps[i]
		d := &markdown{}
		d.block("%s", summary(s.Name, t.headline(s)))
		table, left := t.placements(s)
		d.table(table, "placement")
		if left != "" {
			d.block("%s", prose(left))
		}
		d.table(t.numbers(s), "number")
		d.block("</details>")
		return d.text()
	})
	m.list("Notes", proses(r.Notes))
	return m.bytes()
}
