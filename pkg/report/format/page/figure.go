package page

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"io"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
)

// Figure is one self-contained page without a script: a verdict, a picture, and a table of its numbers.
type Figure struct {
	Head report.Head
	// Name is the page's where the scenario has none.
	Name, Verdict string
	// SVG is the picture.
	SVG []byte
	// About stands above the table, Rest below it. The first row holds the titles, and the first Texts columns are words, the others numbers.
	About, Rest string
	Table       [][]string
	Texts       int
}

// WriteHTML writes the page.
func (f *Figure) WriteHTML(w io.Writer) error {
	title := cmp.Or(f.Head.Scenario, f.Name)
	out := bufio.NewWriter(w)
	m := markup{manifest.Escaper(out)}
	m.head(f.Head, title, "")
	m.add("<header class=\"head\">\n<div class=\"bar\">%v</div>\n", brand)
	m.about(f.Head, title, f.Verdict, "open")
	m.add(`</header>
<main>
<figure class="chart"><img src="data:image/svg+xml;base64,%v" alt="%v The table below has the numbers."></figure>
<section class="scroll">
<p class="hint">%v</p>
<table><thead>`, base64.StdEncoding.EncodeToString(f.SVG), f.Verdict, f.About)
	m.row("th", ` scope="col"`, f.Table[0], f.Texts)
	m.add("</thead>\n<tbody>")
	for _, row := range f.Table[1:] {
		m.add("\n")
		m.row("td", "", row, f.Texts)
	}
	m.add("\n</tbody></table>\n")
	if f.Rest != "" {
		m.add("<p class=\"hint\">%v</p>\n", f.Rest)
	}
	m.add(`</section>
</main>
<footer><p>Placed by the plugins of kube-scheduler %v, in memory, by Faultline %v. This page loads nothing.</p></footer>
</body>
</html>
`, f.Head.Scheduler.Version, f.Head.Version)
	return out.Flush()
}

// row writes the cells of a row, the first texts of which are words, the others numbers.
func (m markup) row(element, attribute raw, cells []string, texts int) {
	m.add("<tr>")
	for i, cell := range cells {
		number := raw("")
		if i >= texts {
			number = ` class="number"`
		}
		m.add("<%v%v%v>%v</%v>", element, attribute, number, cell, element)
	}
	m.add("</tr>")
}
