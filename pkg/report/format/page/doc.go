package page

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"html"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// maxWhole is the largest number of characters of a name that is not broken.
const maxWhole = 20

// maxRows is the largest number of rows of a table on a page.
const maxRows = 5000

// Picture is the picture below the answer of a page. At most one field is set.
type Picture struct {
	Bars   *doc.Bars
	Course *doc.Course
	SVG    []byte
}

// WriteDoc writes the document as one self-contained page without a script: the answer, the picture if there is one, and the sections.
// Details are folded away.
func WriteDoc(w io.Writer, d *doc.Doc, picture Picture) error {
	out := bufio.NewWriter(w)
	m := markup{manifest.NewEscaper(out)}
	title := cmp.Or(doc.Title(d.Head, d.Question), d.Head.Kind)
	m.head(d.Head, title, "")
	m.writef("<header class=\"head\">\n<div class=\"bar\">%v</div>\n", brand)
	answer, rest, sections := d.Answer(), doc.Section{}, d.Sections
	outcome := "open"
	if len(sections) > 0 {
		rest = *sections[0]
		if answer != "" {
			outcome = answerOutcome(rest.Blocks)
			rest.Blocks = rest.Blocks[1:]
		}
		sections = sections[1:]
	}
	m.about(d.Head, title, answer, outcome)
	m.notes(d.Head.Notes)
	m.ignored(d.Head.Ignored)
	m.writef("</header>\n<main class=\"document\">\n")
	m.section(&rest)
	if picture.Bars != nil {
		m.bars(picture.Bars)
	}
	m.course(picture.Course)
	if picture.SVG != nil {
		m.writef(`<figure class="chart"><img src="data:image/svg+xml;base64,%v" alt="%v The tables below have the numbers."></figure>
`, base64.StdEncoding.EncodeToString(picture.SVG), answer)
	}
	for _, s := range sections {
		m.section(s)
	}
	m.writef(`</main>
%v</body>
</html>
`, footer(d.Head, "This page loads nothing."))
	return out.Flush()
}

// answerOutcome returns failed if a line of the answer is red, met if the first line is green and none is yellow, and open otherwise.
func answerOutcome(answer []doc.Block) string {
	outcome := "open"
	for i, b := range answer {
		line, is := b.(doc.Line)
		switch {
		case !is || len(line) == 0:
		case line[0].Style == doc.Red:
			return "failed"
		case line[0].Style == doc.Yellow:
			outcome = "open"
		case line[0].Style == doc.Green && i == 0:
			outcome = "met"
		}
	}
	return outcome
}

// barClasses are the CSS classes of the parts of bars.
var barClasses = map[doc.Style]raw{doc.Red: "bad", doc.Yellow: "warn", doc.Green: "good", doc.Bold: "pale"}

// bars draws bars by attributes of SVG elements, since the page's policy allows no inline style.
func (m markup) bars(b *doc.Bars) {
	rows, longest, more := b.Shown()
	if len(rows) == 0 {
		return
	}
	m.writef("<figure class=\"bars\">\n<figcaption><b>%v</b>", words.UpperFirst(b.Title))
	for _, part := range b.Parts {
		m.writef(`<span class="key"><svg class="of" viewBox="0 0 1 1" aria-hidden="true"><rect class="%v" width="1" height="1"/></svg> %v</span>`, barClasses[part.Style], part.Name)
	}
	m.writef("</figcaption>\n<table><thead><tr><th></th><th></th><th scope=\"col\">%v</th><th></th></tr></thead>\n<tbody>\n", words.UpperFirst(b.Unit))
	for _, row := range rows {
		m.writef(`<tr><th scope="row">%v</th><td><svg viewBox="0 0 %v 1" preserveAspectRatio="none" aria-hidden="true">`, doc.Clean(row.Name), longest)
		at := 0
		for k, n := range row.Values {
			if n > 0 {
				m.writef(`<rect class="%v" x="%v" width="%v" height="1"><title>%v: %v</title></rect>`, barClasses[b.Parts[k].Style], at, n, b.Parts[k].Name, n)
			}
			at += n
		}
		m.writef("</svg></td><td class=\"number\">%v</td><td>%v</td></tr>\n", row.Figures(), doc.Clean(row.Note))
	}
	m.writef("</tbody></table>\n")
	if more != "" {
		m.writef("<p class=\"hint\">%v</p>\n", more)
	}
	m.writef("</figure>\n")
}

// course draws a row of columns for each curve, one column for each moment, by attributes. A single moment is no course.
func (m markup) course(c *doc.Course) {
	if c == nil || len(c.Moments) < 2 {
		return
	}
	m.writef("<figure class=\"bars\">\n<figcaption><b>%v</b>", words.UpperFirst(c.Title))
	m.writef("</figcaption>\n<table><tbody>\n")
	for i := range c.Curves {
		curve := &c.Curves[i]
		m.writef(`<tr><th scope="row">%v</th><td><svg viewBox="0 0 %v 100" preserveAspectRatio="none" aria-hidden="true">`, curve.Name, len(c.Moments))
		for k, value := range curve.Values {
			if value > 0 {
				height := 100 * value / curve.Most()
				m.writef(`<rect class="%v" x="%v" y="%v" width="1" height="%v"><title>%v: %v</title></rect>`, barClasses[curve.Style], k, doc.Amount(100-height), doc.Amount(height), doc.Clean(c.Moments[k]), doc.Amount(value))
			}
		}
		m.writef("</svg></td><td>%v</td></tr>\n", curve.Note())
	}
	m.writef("</tbody></table>\n<p class=\"hint\">From left to right: %v</p>\n</figure>\n", words.Few(c.Moments))
}

// section writes a section. Indented lines are a list below the line before them.
func (m markup) section(s *doc.Section) {
	if len(s.Blocks) == 0 {
		return
	}
	switch {
	case s.Folded:
		m.writef("<details><summary>%v</summary>\n", doc.Clean(s.Title))
		defer m.writef("</details>\n")
	case s.Title != "":
		m.writef("<section>\n<h2>%v</h2>\n", doc.Clean(s.Title))
		defer m.writef("</section>\n")
	default:
		m.writef("<section>\n")
		defer m.writef("</section>\n")
	}
	var open []int // the indents of the items that are open
	list := func(indent int) {
		for len(open) > 0 && open[len(open)-1] > indent {
			m.writef("</li></ul>\n")
			open = open[:len(open)-1]
		}
		switch {
		case indent == 0:
		case len(open) > 0 && open[len(open)-1] == indent:
			m.writef("</li>\n<li>")
		default:
			m.writef("<ul><li>")
			open = append(open, indent)
		}
	}
	for _, b := range s.Blocks {
		switch b := b.(type) {
		case doc.Line:
			_, indent := b.Text()
			list(indent)
			m.line(b, indent == 0)
		case doc.Verbatim:
			list(0)
			m.writef("<pre>")
			for _, line := range b {
				m.writef("%v\n", doc.Clean(strings.TrimSpace(line)))
			}
			m.writef("</pre>\n")
		case doc.Table:
			list(0)
			m.table(b)
		case doc.More:
			list(0)
			m.writef("<p class=\"hint\">and %v more %v</p>\n", b.N, words.Pick(b.N, b.Noun, b.Nouns))
		case doc.Fields:
			list(0)
			m.fields(b)
		}
	}
	list(0)
}

// line writes the cells without the spaces of a terminal, as a paragraph or as the text of an item.
func (m markup) line(line doc.Line, paragraph bool) {
	if paragraph {
		m.writef("<p>")
	}
	first := true
	for _, c := range line {
		c.Text = spaces.ReplaceAllString(doc.Clean(c.Text), " ")
		if first {
			c.Text = strings.TrimLeft(c.Text, " ")
		}
		first = first && c.Text == ""
		m.cell(c)
	}
	if paragraph {
		m.writef("</p>\n")
	}
}

// spaces matches what a terminal needs for alignment.
var spaces = regexp.MustCompile(`[ \x{00a0}]+`)

// cellClasses are the CSS classes for the styles of cells.
var cellClasses = map[doc.Style]raw{doc.Red: "bad", doc.Yellow: "warn", doc.Green: "good"}

func (m markup) cell(c doc.Cell) { m.styled(c, raw(html.EscapeString(doc.Clean(c.Text)))) }

// styled writes a text in the style of a cell, as its link.
func (m markup) styled(c doc.Cell, text raw) {
	if c.Link != "" {
		m.writef(`<a href="%v">`, c.Link)
		defer m.writef("</a>")
	}
	switch class, coloured := cellClasses[c.Style]; {
	case c.Style == doc.Bold:
		m.writef("<strong>%v</strong>", text)
	case coloured:
		m.writef("<span class=\"%v\">%v</span>", class, text)
	default:
		m.writef("%v", text)
	}
}

// none takes the place of doc.None in a table.
const none = "–"

// tableCell writes the cell, in which long names can be broken after the signs in them.
func (m markup) tableCell(c doc.Cell) {
	c.Text = strings.TrimSpace(spaces.ReplaceAllString(doc.Clean(c.Text), " "))
	if c.Text == doc.None {
		c.Text = none
	}
	var text strings.Builder
	for i, word := range strings.Split(c.Text, " ") {
		if i > 0 {
			text.WriteByte(' ')
		}
		if len(word) > maxWhole {
			word = signs.ReplaceAllString(word, "$0\x00")
		}
		text.WriteString(word)
	}
	m.styled(c, raw(strings.ReplaceAll(html.EscapeString(text.String()), "\x00", "<wbr>")))
}

// signs matches the signs after which a name can be broken.
var signs = regexp.MustCompile(`[-./:=,_@]+`)

// table writes a table. If the first row is bold, it has the titles.
func (m markup) table(t doc.Table) {
	rows := t.Rows
	m.writef("<div class=\"scroll\"><table>")
	if titles := rows[0]; len(titles) > 0 && titles[0].Style == doc.Bold {
		m.writef("<thead><tr>")
		for i, c := range titles {
			m.writef("<th scope=\"col\"%v>%v</th>", numericClass(rows, i), doc.SentenceCase(doc.Clean(c.Text)))
		}
		m.writef("</tr></thead>")
		rows = rows[1:]
	}
	m.writef("\n<tbody>")
	for _, cells := range rows[:min(len(rows), maxRows)] {
		m.writef("\n<tr>")
		for i, c := range cells {
			class := numericClass(t.Rows, i)
			if class == "" && len(c.Text) <= maxWhole && !strings.Contains(c.Text, " ") {
				class = ` class="whole"` // a name
			}
			m.writef("<td%v>", class)
			m.tableCell(c)
			m.writef("</td>")
		}
		m.writef("</tr>")
	}
	m.writef("\n</tbody></table></div>\n")
	if more := len(rows) - maxRows; more > 0 {
		m.writef("<p class=\"hint\">and %v more %v</p>\n", more, words.Pick(more, cmp.Or(t.Noun, "row"), cmp.Or(t.Nouns, "rows")))
	}
}

// numericClass returns the CSS class of a column whose first value is a number or a quantity, such as 1,596 or 9.2Ti; "" for any other column.
func numericClass(rows [][]doc.Cell, column int) raw {
	for _, cells := range rows[1:] {
		if column >= len(cells) || cells[column].Text == doc.None {
			continue
		}
		if _, err := resource.ParseQuantity(strings.ReplaceAll(strings.Trim(cells[column].Text, "<>≥%"), ",", "")); err == nil {
			return ` class="number"`
		}
		break
	}
	return ""
}

// fields writes the fields that the head of the page does not have.
func (m markup) fields(fields doc.Fields) {
	for _, f := range fields {
		if f.Head {
			continue
		}
		m.writef("<p><strong>%v</strong></p>\n<ul>\n", f.Title)
		for _, line := range f.Lines {
			m.writef("<li>%v</li>\n", line)
		}
		m.writef("</ul>\n")
	}
}
