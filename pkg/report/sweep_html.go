package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
)

// maxPageRows is how many points a page lists one by one.
const maxPageRows = 2000

var (
	sweepShell = template.Must(template.ParseFS(pageAssets, "html/sweep.html"))
	sweepStyle = pageStyle + `
.chart { margin: 1.5rem 0; }
.chart img { max-width: 100%; height: auto; border-radius: var(--radius); }
`
	// sweepPolicy allows the page its style and its picture, and nothing else.
	sweepPolicy = fmt.Sprintf("default-src 'none'; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", sourceHash(sweepStyle))
)

// sweepHTML is one self-contained page without a script: the verdict, the chart, and a table of the points.
func sweepHTML(r *SweepReport) ([]byte, error) {
	picture, err := sweepChart(r).draw("svg")
	if err != nil {
		return nil, err
	}
	shown, rest := r.shown(len(r.Points) <= maxPageRows)
	var table [][]string
	for _, cells := range r.table(shown) {
		var words []string
		for _, c := range cells {
			words = append(words, clean(c.text))
		}
		table = append(table, words)
	}
	page := struct {
		Head
		Policy               string
		Style                template.CSS
		Title, Verdict, Rest string
		About                string
		Picture              template.URL
		Titles               []string
		Rows                 [][]string
		Texts                int
	}{
		Head: r.Head, Policy: sweepPolicy, Style: template.CSS(sweepStyle), Title: clean(r.Scenario), Verdict: r.verdict(), Rest: rest, About: clean(r.about()),
		Picture: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture)),
		Titles:  table[0], Rows: table[1:], Texts: 1 + len(r.Parameters),
	}
	if page.Title == "" {
		page.Title = "Faultline sweep"
	}
	var out bytes.Buffer
	err = sweepShell.Execute(&out, page)
	return escape(out.Bytes()), err
}
