package sweep

import (
	"io"

	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// maxPageRows is how many points a page lists one by one.
const maxPageRows = 2000

// htmlPage is a page of the verdict, the chart, and a table of the points.
func htmlPage(w io.Writer, r *Report) error {
	picture, err := drawing(r).Draw("svg")
	if err != nil {
		return err
	}
	shown, rest := r.shown(len(r.Points) <= maxPageRows)
	var table [][]string
	for _, cells := range r.table(shown) {
		var words []string
		for _, c := range cells {
			words = append(words, text.Clean(c.Text))
		}
		table = append(table, words)
	}
	figure := page.Figure{
		Head: r.Head, Name: "Faultline sweep", Verdict: r.verdict(), SVG: picture, About: text.Clean(r.about()), Rest: rest, Table: table, Texts: 1 + len(r.Parameters),
	}
	return figure.WriteHTML(w)
}
