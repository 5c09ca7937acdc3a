package report

// maxPageRows is how many points a page lists one by one.
const maxPageRows = 2000

// sweepHTML is a page of the verdict, the chart, and a table of the points.
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
	figure := Figure{
		Head: r.Head, Name: "Faultline sweep", Verdict: r.verdict(), SVG: picture, About: clean(r.about()), Rest: rest, Table: table, Texts: 1 + len(r.Parameters),
	}
	return figure.HTML()
}
