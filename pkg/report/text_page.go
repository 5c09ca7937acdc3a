package report

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/input/manifest"
)

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

// fields are lines with a title each: "Cluster:   4 nodes".
type fields [][]cell

// add gives the first of the lines the title.
func (f *fields) add(title string, lines ...string) {
	for _, line := range lines {
		*f = append(*f, []cell{bold.cell(title), plain.cell(line)})
		title = ""
	}
}

// sentences puts one sentence beside the title, and several below it.
func (p *page) sentences(title string, sentences []string) {
	if len(sentences) == 1 {
		p.line(bold.cell(title), plain.cell(" "+sentences[0]))
		return
	}
	for i, sentence := range sentences {
		if i == 0 {
			p.line(bold.cell(title))
		}
		p.linef(plain, "  %s", sentence)
	}
}

const (
	// maxPods is how many pods a step lists before it sums them up by workload.
	maxPods = 40
	// maxDetails is how many entries other lists of a step have before the rest is counted.
	maxDetails = 20
)

// some lists names, and counts those that are too many.
func (p *page) some(names []string) string {
	if more := len(names) - maxDetails; more > 0 && !p.all {
		return fmt.Sprintf("%s and %d more; use --all to list them", strings.Join(names[:maxDetails], ", "), more)
	}
	return strings.Join(names, ", ")
}

// upTo tells of each of n things, and counts those that are too many.
func (p *page) upTo(n int, one, several string, tell func(i int)) {
	for i := range n {
		if i == maxDetails && !p.all {
			p.more(n-i, one, several)
			return
		}
		tell(i)
	}
}

func (p *page) more(n int, one, several string) {
	if n != 1 {
		one = several
	}
	p.linef(plain, "  and %d more %s; use --all to list them", n, one)
}

// few names the first of a number of things. Not all of them may be known by name.
func (p *page) few(names []string, of int) string {
	if !p.all {
		names = names[:min(len(names), maxNamed)]
	}
	listed := strings.Join(names, ", ")
	if more := of - len(names); more > 0 && len(names) > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return listed
}

// none is what kubectl prints for an empty cell.
const none = "<none>"

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// number has its style unless it is 0.
func number(n int, s style) cell {
	if n == 0 {
		s = plain
	}
	return s.cellf("%d", n)
}
