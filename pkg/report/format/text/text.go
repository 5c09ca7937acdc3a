// Package text renders documents for a terminal: wrapped lines, aligned tables and colour.
package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// Render returns the document as text.
func Render(d *doc.Doc, opts report.Options) []byte {
	p := page{color: opts.Color, width: opts.Width}
	for _, s := range d.Sections {
		if s.Folded && !d.All {
			continue
		}
		p.gap = p.out.Len() > 0
		if s.Title != "" {
			p.line(doc.Line{doc.Bold.Cell(s.Title)})
		}
		for _, b := range s.Blocks {
			p.block(b, d.All)
		}
	}
	return p.out.Bytes()
}

// page builds text. Every cell goes through paint, which removes control characters and adds colour, so that neither can be forgotten.
type page struct {
	out   bytes.Buffer
	color bool
	width int  // characters of a line; 0 is no limit
	gap   bool // the next line has a blank line before it
}

func (p *page) block(b doc.Block, all bool) {
	switch b := b.(type) {
	case doc.Line:
		p.line(b)
	case doc.Verbatim:
		for _, line := range b {
			p.write(doc.Line{{Text: line}})
		}
	case doc.Table:
		more := 0
		if b.Most > 0 && !all {
			more = max(0, len(b.Rows)-1-b.Most)
		}
		b.Rows = b.Rows[:len(b.Rows)-more]
		p.table(b)
		if more > 0 {
			p.more(doc.More{N: more, Noun: b.Noun, Nouns: b.Nouns})
		}
	case doc.More:
		p.more(b)
	case doc.Fields:
		var rows [][]doc.Cell
		for _, field := range b {
			title := field.Title
			for _, line := range field.Lines {
				rows = append(rows, []doc.Cell{doc.Bold.Cell(title), doc.Plain.Cell(line)})
				title = ""
			}
		}
		p.table(doc.Table{Rows: rows})
	}
}

func (p *page) more(m doc.More) {
	p.line(doc.Line{doc.Plain.Cellf("  and %d more %s; use --all to list them", m.N, words.Pick(m.N, m.Noun, m.Nouns))})
}

// line writes the cells one after the other. If they are too long for a line, the text continues on the next lines, two characters further
// in.
func (p *page) line(cells doc.Line) {
	whole := ""
	for _, c := range cells {
		whole += doc.Clean(c.Text)
	}
	if p.width == 0 || utf8.RuneCountInString(whole) <= p.width {
		p.write(cells)
		return
	}
	text := strings.TrimLeft(whole, " ")
	margin, before := len(whole)-len(text), ""
	for _, line := range wrap(text, max(minWidth, p.width-margin-len(hangingIndent))) {
		_, cells = splitCells(cells, countLeadingSpaces(cells))
		var now doc.Line
		now, cells = splitCells(cells, len(line))
		p.write(append(doc.Line{{Text: strings.Repeat(" ", margin) + before}}, now...))
		before = hangingIndent
	}
}

// hangingIndent is the indentation of the further lines of a text.
const hangingIndent = "  "

// wrap breaks a text at spaces. A word that is longer than the width stays whole.
func wrap(text string, width int) []string {
	return strings.Split(wordwrap.WrapString(text, uint(width)), "\n")
}

// minWidth is the least width at which text is wrapped, even on a narrower terminal.
const minWidth = 20

// splitCells splits the cells after n bytes of their text.
func splitCells(cells doc.Line, n int) (before, after doc.Line) {
	for i, c := range cells {
		c.Text = doc.Clean(c.Text)
		if n < len(c.Text) {
			return append(before, c.Style.Cell(c.Text[:n])), append(doc.Line{c.Style.Cell(c.Text[n:])}, cells[i+1:]...)
		}
		n -= len(c.Text)
		before = append(before, c)
	}
	return before, nil
}

// countLeadingSpaces counts the spaces at the beginning of the cells' text.
func countLeadingSpaces(cells doc.Line) int {
	n := 0
	for _, c := range cells {
		text := doc.Clean(c.Text)
		trimmed := strings.TrimLeft(text, " ")
		n += len(text) - len(trimmed)
		if trimmed != "" {
			break
		}
	}
	return n
}

// write writes the cells on one line, however long.
func (p *page) write(cells doc.Line) {
	if p.gap {
		p.out.WriteByte('\n')
		p.gap = false
	}
	for _, c := range cells {
		p.out.WriteString(p.paint(c))
	}
	p.out.WriteByte('\n')
}

func (p *page) paint(c doc.Cell) string {
	text := strings.ReplaceAll(doc.Clean(c.Text), doc.NoBreak, " ")
	if !p.color || c.Style == doc.Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c.Style) + "m" + text + "\x1b[0m"
}
