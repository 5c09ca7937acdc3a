package report

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// none is what kubectl prints for an empty cell.
const none = "<none>"

// page is text in the making. All text goes through cells, which is where control characters are taken out and colour is
// put on, so that neither can be forgotten.
type page struct {
	out   bytes.Buffer
	color bool
	all   bool // however much it is
	gap   bool // a blank line is due before the next one
}

func newPage(opts Options) page { return page{color: opts.Color, all: opts.All} }

// bytes are what was written.
func (p *page) bytes() []byte { return p.out.Bytes() }

// style is the parameter of an ANSI "select graphic rendition" sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// cell is a piece of a line.
type cell struct {
	text  string
	style style
}

// cell is the text in the style.
func (s style) cell(text string) cell { return cell{text: text, style: s} }

func (s style) cellf(format string, args ...any) cell { return s.cell(fmt.Sprintf(format, args...)) }

// row makes cells of one style.
func (s style) row(texts ...string) []cell {
	cells := make([]cell, len(texts))
	for i, text := range texts {
		cells[i] = s.cell(text)
	}
	return cells
}

// space sets the next line off with a blank one; the first line of a page needs none.
func (p *page) space() { p.gap = p.out.Len() > 0 }

// line writes the cells one after the other.
func (p *page) line(cells ...cell) {
	if p.gap {
		p.out.WriteByte('\n')
		p.gap = false
	}
	for _, c := range cells {
		p.out.WriteString(p.paint(c))
	}
	p.out.WriteByte('\n')
}

// linef writes a line of one style.
func (p *page) linef(s style, format string, args ...any) { p.line(s.cellf(format, args...)) }

// table writes rows with aligned columns: each at least 6 wide and 3 apart, as kubectl's are. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/cli-runtime/pkg/printers/tabwriter.go; that writer
// itself would count colour as text.
func (p *page) table(indent string, rows ...[]cell) {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 3)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(clean(c.text)))
		}
	}
	for _, cells := range rows {
		line := []cell{{text: indent}}
		for i, c := range cells {
			line = append(line, c)
			if i < len(cells)-1 {
				line = append(line, cell{text: strings.Repeat(" ", widths[i]-utf8.RuneCountInString(clean(c.text))+3)})
			}
		}
		p.line(line...)
	}
}

func (p *page) paint(c cell) string {
	text := clean(c.text)
	if !p.color || c.style == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c.style) + "m" + text + "\x1b[0m"
}

// clean is a text from elsewhere as it may stand on a page.
func clean(text string) string { return manifest.Clean(text) }

// count is "1 pod" or "2 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// fields are lines with a title each: "Cluster:   4 nodes".
type fields [][]cell

// add gives the first of the lines the title.
func (f *fields) add(title string, lines ...string) {
	for _, line := range lines {
		*f = append(*f, []cell{bold.cell(title), plain.cell(line)})
		title = ""
	}
}
