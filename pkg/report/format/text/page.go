// Package text writes text for a terminal: lines, tables and colour, and the words for levels, shares and scheduling cycles that reports share.
package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
)

// Page is text in the making. All text goes through cells, which is where control characters are taken out and colour is
// put on, so that neither can be forgotten.
type Page struct {
	Out   bytes.Buffer
	Color bool
	All   bool // however much it is
	Width int  // of a line, in characters; 0 is as long as it takes
	gap   bool // a blank line is due before the next one
}

func NewPage(opts report.Options) Page {
	return Page{Color: opts.Color, All: opts.All, Width: opts.Width}
}

// Bytes are what was written.
func (p *Page) Bytes() []byte { return p.Out.Bytes() }

// Style is the parameter of an ANSI "select graphic rendition" sequence.
type Style string

const (
	Plain  Style = ""
	Bold   Style = "1"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Cell is a piece of a line.
type Cell struct {
	Text  string
	Style Style
	// Drop says of a column's title when the column is left out of a table that is too wide: those with 1 first, those with 0 never.
	Drop int
}

// Cell is the text in the style.
func (s Style) Cell(text string) Cell { return Cell{Text: text, Style: s} }

func (s Style) Cellf(format string, args ...any) Cell { return s.Cell(fmt.Sprintf(format, args...)) }

// Row makes cells of one style.
func (s Style) Row(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i] = s.Cell(text)
	}
	return cells
}

// Space sets the next line off with a blank one; the first line of a page needs none.
func (p *Page) Space() { p.gap = p.Out.Len() > 0 }

// Line writes the cells one after the other. A line that is too long goes on below, two characters further in.
func (p *Page) Line(cells ...Cell) {
	whole := ""
	for _, c := range cells {
		whole += Clean(c.Text)
	}
	if p.Width == 0 || utf8.RuneCountInString(whole) <= p.Width {
		p.write(cells)
		return
	}
	text := strings.TrimLeft(whole, " ")
	margin, before := len(whole)-len(text), ""
	for _, line := range wrap(text, max(minWidth, p.Width-margin-len(hanging))) {
		_, cells = cut(cells, spaces(cells))
		var now []Cell
		now, cells = cut(cells, len(line))
		p.write(append([]Cell{{Text: strings.Repeat(" ", margin) + before}}, now...))
		before = hanging
	}
}

// hanging stands before the further lines of a text.
const hanging = "  "

// Verbatim writes a line that is never wrapped: a command to be copied.
func (p *Page) Verbatim(line string) { p.write([]Cell{{Text: line}}) }

// wrap breaks a text at spaces. Words that are too long stay whole.
func wrap(text string, width int) []string {
	return strings.Split(wordwrap.WrapString(text, uint(width)), "\n")
}

// minWidth is the narrowest that text is set, whatever the terminal.
const minWidth = 20

// cut splits the cells after so many bytes of their text.
func cut(cells []Cell, n int) (before, after []Cell) {
	for i, c := range cells {
		c.Text = Clean(c.Text)
		if n < len(c.Text) {
			return append(before, c.Style.Cell(c.Text[:n])), append([]Cell{c.Style.Cell(c.Text[n:])}, cells[i+1:]...)
		}
		n -= len(c.Text)
		before = append(before, c)
	}
	return before, nil
}

// spaces counts those that the text of the cells begins with.
func spaces(cells []Cell) int {
	n := 0
	for _, c := range cells {
		text := Clean(c.Text)
		trimmed := strings.TrimLeft(text, " ")
		n += len(text) - len(trimmed)
		if trimmed != "" {
			break
		}
	}
	return n
}

// write writes the cells on a line of its own, however long.
func (p *Page) write(cells []Cell) {
	if p.gap {
		p.Out.WriteByte('\n')
		p.gap = false
	}
	for _, c := range cells {
		p.Out.WriteString(p.paint(c))
	}
	p.Out.WriteByte('\n')
}

// Linef writes a line of one style.
func (p *Page) Linef(s Style, format string, args ...any) { p.Line(s.Cellf(format, args...)) }

// NoBreak is a space where a line is not broken.
const NoBreak = "\u00a0"

func (p *Page) paint(c Cell) string {
	text := strings.ReplaceAll(Clean(c.Text), NoBreak, " ")
	if !p.Color || c.Style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c.Style) + "m" + text + "\x1b[0m"
}

// Clean is a text from elsewhere as it may stand on a page.
func Clean(text string) string { return manifest.Clean(text) }

// Fields are lines with a title each: "Cluster:   4 nodes".
type Fields [][]Cell

// Add gives the first of the lines the title.
func (f *Fields) Add(title string, lines ...string) {
	for _, line := range lines {
		*f = append(*f, []Cell{Bold.Cell(title), Plain.Cell(line)})
		title = ""
	}
}

// Sentences puts one sentence beside the title, and several below it.
func (p *Page) Sentences(title string, sentences []string) {
	if len(sentences) == 1 {
		p.Line(Bold.Cell(title), Plain.Cell(" "+sentences[0]))
		return
	}
	if len(sentences) > 0 {
		p.Line(Bold.Cell(title))
	}
	p.UpTo(len(sentences), "sentence", "sentences", func(i int) { p.Linef(Plain, "  %s", sentences[i]) })
}

const (
	// MaxPods is how many pods a step lists before it sums them up by workload.
	MaxPods = 40
	// MaxDetails is how many entries other lists of a step have before the rest is counted.
	MaxDetails = 10
)

// Some lists names, and counts those that are too many.
func (p *Page) Some(names []string) string {
	if more := len(names) - MaxDetails; more > 0 && !p.All {
		return fmt.Sprintf("%s and %d more; use --all to list them", strings.Join(names[:MaxDetails], ", "), more)
	}
	return strings.Join(names, ", ")
}

// UpTo shows each of n things, and counts those that are too many.
func (p *Page) UpTo(n int, one, several string, show func(i int)) {
	for i := range n {
		if i == MaxDetails && !p.All {
			p.More(n-i, one, several)
			return
		}
		show(i)
	}
}

func (p *Page) More(n int, one, several string) {
	if n != 1 {
		one = several
	}
	p.Linef(Plain, "  and %d more %s; use --all to list them", n, one)
}

// Few names the first of a number of things. Not all of them may be known by name.
func (p *Page) Few(names []string, of int) string {
	if !p.All {
		names = names[:min(len(names), MaxNamed)]
	}
	listed := strings.Join(names, ", ")
	if more := of - len(names); more > 0 && len(names) > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return listed
}

// None is what kubectl prints for an empty cell.
const None = "<none>"

func OrNone(text string) string {
	if text == "" {
		return None
	}
	return text
}

// Number has its style unless it is 0.
func Number(n int, s Style) Cell {
	if n == 0 {
		s = Plain
	}
	return s.Cellf("%d", n)
}
