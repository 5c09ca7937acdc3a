package outcome

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/markdown"
)

// markdownPage is a table of the steps, and details of each.
func markdownPage(r *Report) []byte {
	m, t := &markdown.Page{}, newWriter(r, report.Options{})
	m.Block("**%s**", markdown.Prose("Outcomes: "+t.method()))
	m.About(r.Head)
	m.Table(t.summary(), "step")
	m.Details(len(r.Steps), "step", func(i int) string {
		s := &r.Steps[i]
		d := &markdown.Page{}
		d.Block("%s", markdown.Summary(s.Name, t.headline(s)))
		table, left := t.placements(s)
		d.Table(table, "placement")
		for _, line := range left {
			d.Block("%s", markdown.Prose(line))
		}
		d.Table(t.numbers(s), "number")
		d.Block("</details>")
		return d.Text()
	})
	m.List("Notes", markdown.Proses(r.Notes))
	return m.Bytes()
}
