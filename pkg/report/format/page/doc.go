package page

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"io"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// maxRows is how many rows of a table a page lists.
const maxRows = 5000

// WriteDoc writes the document as one self-contained page without a script: the answer, a picture if there is one, and the sections. Details are
// folded away.
func WriteDoc(w io.Writer, d *doc.Doc, svg []byte) error {
	out := bufio.NewWriter(w)
	m := markup{manifest.Escaper(out)}
	title := cmp.Or(d.Head.Scenario, d.Head.Kind)
	m.head(d.Head, title, "")
	m.add("<header class=\"head\">\n<div class=\"bar\">%v</div>\n", brand)
	answer, rest := "", doc.Section{}
	sections := d.Sections
	if len(sections) > 0 {
		rest = *sections[0]
		if line, is := first(rest.Blocks).(doc.Line); is {
			text, _ := line.Text()
			answer = doc.Clean(text)
			rest.Blocks = rest.Blocks[1:]
		}
		sections = sections[1:]
	}
	m.about(d.Head, title, answer, "open")
	m.notes(d.Head.Notes)
	m.ignored(d.Head.Ignored)
	m.add("</header>\n<main class=\"document\">\n")
	m.section(&rest)
	if svg != nil {
		m.add(`<figure class="chart"><img src="data:image/svg+xml;base64,%v" alt="%v The tables below have the numbers."></figure>
`, base64.StdEncoding.EncodeToString(svg), answer)
	}
	for _, s := range sections {
		m.section(s)
	}
	m.add(`</main>
<footer><p>Placed by the plugins of kube-scheduler %v, in memory, by Faultline %v. This page loads nothing.</p></footer>
</body>
</html>
`, d.Head.Scheduler.Version, d.Head.Version)
	return out.Flush()
}

func first(blocks []doc.Block) doc.Block {
	if len(blocks) == 0 {
		return nil
	}
	return blocks[0]
}

// section writes what stands together. Lines that are indented are a list below the line before.
func (m markup) section(s *doc.Section) {
	if len(s.Blocks) == 0 {
		return
	}
	switch {
	case s.Folded:
		m.add("<details><summary>%v</summary>\n", doc.Clean(s.Title))
		defer m.add("</details>\n")
	case s.Title != "":
		m.add("<section>\n<h2>%v</h2>\n", doc.Clean(s.Title))
		defer m.add("</section>\n")
	default:
		m.add("<section>\n")
		defer m.add("</section>\n")
	}
	listed := false
	list := func(wanted bool) {
		if listed != wanted {
			m.add("%v\n", map[bool]raw{true: "<ul>", false: "</ul>"}[wanted])
		}
		listed = wanted
	}
	for _, b := range s.Blocks {
		switch b := b.(type) {
		case doc.Line:
			_, indent := b.Text()
			list(indent > 0)
			m.line(b, map[bool]raw{true: "li", false: "p"}[listed])
		case doc.Verbatim:
			list(false)
			m.add("<pre>")
			for _, line := range b {
				m.add("%v\n", doc.Clean(strings.TrimSpace(line)))
			}
			m.add("</pre>\n")
		case doc.Table:
			list(false)
			m.table(b)
		case doc.More:
			list(false)
			m.add("<p class=\"hint\">and %v more %v</p>\n", b.N, words.Pick(b.N, b.Noun, b.Nouns))
		case doc.Fields:
			list(false)
			m.fields(b)
		}
	}
	list(false)
}

func (m markup) line(line doc.Line, element raw) {
	m.add("<%v>", element)
	for _, c := range line {
		m.cell(c)
	}
	m.add("</%v>\n", element)
}

// classes are the styles of a page, by that of a cell.
var classes = map[doc.Style]raw{doc.Red: "bad", doc.Yellow: "warn", doc.Green: "good"}

func (m markup) cell(c doc.Cell) {
	text := doc.Clean(c.Text)
	switch class, coloured := classes[c.Style]; {
	case c.Style == doc.Bold:
		m.add("<strong>%v</strong>", text)
	case coloured:
		m.add("<span class=\"%v\">%v</span>", class, text)
	default:
		m.add("%v", text)
	}
}

// table writes a table. Where the first row is not of titles, all rows are alike.
func (m markup) table(t doc.Table) {
	rows := t.Rows
	m.add("<div class=\"scroll\"><table>")
	if titles := rows[0]; len(titles) > 0 && titles[0].Style == doc.Bold {
		m.add("<thead><tr>")
		for i, c := range titles {
			m.add("<th scope=\"col\"%v>%v</th>", numeric(rows, i), doc.Clean(c.Text))
		}
		m.add("</tr></thead>")
		rows = rows[1:]
	}
	m.add("\n<tbody>")
	for _, cells := range rows[:min(len(rows), maxRows)] {
		m.add("\n<tr>")
		for i, c := range cells {
			m.add("<td%v>", numeric(t.Rows, i))
			m.cell(c)
			m.add("</td>")
		}
		m.add("</tr>")
	}
	m.add("\n</tbody></table></div>\n")
	if more := len(rows) - maxRows; more > 0 {
		m.add("<p class=\"hint\">and %v more %v</p>\n", more, words.Pick(more, cmp.Or(t.Noun, "row"), cmp.Or(t.Nouns, "rows")))
	}
}

// numeric is the class of a column whose first value is a number.
func numeric(rows [][]doc.Cell, column int) raw {
	if len(rows) > 1 && column < len(rows[1]) {
		if _, err := strconv.ParseFloat(strings.Trim(rows[1][column].Text, "<>≥%"), 64); err == nil {
			return ` class="number"`
		}
	}
	return ""
}

// fields writes what the head of the page does not have.
func (m markup) fields(fields doc.Fields) {
	for _, f := range fields {
		if f.Head {
			continue
		}
		m.add("<p><strong>%v</strong></p>\n<ul>\n", f.Title)
		for _, line := range f.Lines {
			m.add("<li>%v</li>\n", line)
		}
		m.add("</ul>\n")
	}
}
