// Package doc is a report as people read it, before it has a format: the answer, then sections of lines and tables. A report makes its
// document once, and each format renders any document. It also has the words for levels, shares and scheduling cycles that reports share.
package doc

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/report"
)

// Doc is a document in the making. All text goes through cells, out of which each format takes what could act on its page.
type Doc struct {
	// Head says what the report is about. Formats show it in their own way.
	Head report.Head
	// Sections are what it says. The first is the answer: what a reader must know first.
	Sections []*Section
	// Judged means that the answer passes if it is green, fails if it is red, and is between if it is yellow.
	Judged bool
	// All lists every detail, however many there are.
	All bool
	gap bool // the next block begins a section
	// proved means that the proof of the answer has been said, below its first line.
	proved bool
}

// Section is what stands together.
type Section struct {
	Title string
	// Folded is detail: text shows it only with All, and a page folds it below the title.
	Folded bool
	Blocks []Block
}

// Block is a Line, a Verbatim, a Table, a More or Fields.
type Block interface{ block() }

// Line is cells one after the other. What begins with spaces belongs to the line before that begins with fewer.
type Line []Cell

// Text is the line without its styles, and Indent the number of spaces that it begins with.
func (l Line) Text() (text string, indent int) {
	for _, c := range l {
		text += c.Text
	}
	trimmed := strings.TrimLeft(text, " ")
	return strings.TrimSpace(trimmed), len(text) - len(trimmed)
}

// Verbatim is lines that are never wrapped: commands to be copied.
type Verbatim []string

// Table is rows with aligned columns, and the titles in the first one.
type Table struct {
	Indent string
	Rows   [][]Cell
	// Least is of a table without titles how many columns it keeps at least where there is no room for all; 0 is all of them.
	Least int
	// Apart is whether the titles are names of plugins, whose words can be set apart: Node Resources Fit.
	Apart bool
	// Most is how many rows besides the titles text shows without All; 0 is all of them. Noun and Nouns name one and several of the rows.
	Most        int
	Noun, Nouns string
}

// More counts what is not listed.
type More struct {
	N           int
	Noun, Nouns string
}

// Fields are lines with a title each: "Cluster:   4 nodes".
type Fields []Field

// Field is lines with one title. Head says that it repeats what the head says, for formats that do not show the head.
type Field struct {
	Title string
	Lines []string
	Head  bool
}

// Answer is the first line; "" if the document does not begin with one.
func (d *Doc) Answer() string {
	if len(d.Sections) > 0 && len(d.Sections[0].Blocks) > 0 {
		if line, is := d.Sections[0].Blocks[0].(Line); is {
			text, _ := line.Text()
			return Clean(text)
		}
	}
	return ""
}

// Add adds lines with one title.
func (f *Fields) Add(title string, lines ...string) { *f = append(*f, Field{title, lines, false}) }

// AddHead adds lines that repeat what the head says.
func (f *Fields) AddHead(title string, lines ...string) { *f = append(*f, Field{title, lines, true}) }

func (Line) block()     {}
func (Verbatim) block() {}
func (Table) block()    {}
func (More) block()     {}
func (Fields) block()   {}

// New is an empty document.
func New(head report.Head, opts report.Options) Doc { return Doc{Head: head, All: opts.All} }

// Add adds a block to the last section, or to a new one.
func (d *Doc) Add(b Block) {
	if len(d.Sections) == 0 || d.gap {
		d.Sections = append(d.Sections, &Section{})
	}
	last := d.Sections[len(d.Sections)-1]
	last.Blocks = append(last.Blocks, b)
	d.gap = false
	if proof := d.Head.Proof; proof != nil && !d.proved {
		d.proved = true
		style := Green
		if !proof.Holds {
			style = Red
		}
		for _, line := range proof.Lines() {
			d.Linef(style, "%s", line)
		}
	}
}

// Space ends the section.
func (d *Doc) Space() { d.gap = true }

// Section begins a section with a title.
func (d *Doc) Section(title string) { d.section(&Section{Title: title}) }

// Folded begins a section of details.
func (d *Doc) Folded(title string) { d.section(&Section{Title: title, Folded: true}) }

func (d *Doc) section(s *Section) {
	d.Sections = append(d.Sections, s)
	d.gap = false
}

// Line adds a line of cells.
func (d *Doc) Line(cells ...Cell) { d.Add(Line(cells)) }

// Lines adds a line for each cell.
func (d *Doc) Lines(cells ...Cell) {
	for _, c := range cells {
		d.Line(c)
	}
}

// Linef adds a line of one style.
func (d *Doc) Linef(s Style, format string, args ...any) { d.Line(s.Cellf(format, args...)) }

// Verbatim adds a line to be copied, to those before it.
func (d *Doc) Verbatim(line string) {
	d.Add(Verbatim{line})
	blocks := d.Sections[len(d.Sections)-1].Blocks
	if last := len(blocks) - 1; last > 0 {
		if before, is := blocks[last-1].(Verbatim); is {
			blocks[last-1] = append(before, line)
			d.Sections[len(d.Sections)-1].Blocks = blocks[:last]
		}
	}
}

// Table adds a table.
func (d *Doc) Table(indent string, rows ...[]Cell) {
	if len(rows) > 0 {
		d.Add(Table{Indent: indent, Rows: rows})
	}
}

// Sentences puts one sentence beside the title, and several below it.
func (d *Doc) Sentences(title string, sentences []string) {
	if len(sentences) == 1 {
		d.Line(Bold.Cell(title), Plain.Cell(" "+sentences[0]))
		return
	}
	if len(sentences) > 0 {
		d.Line(Bold.Cell(title))
	}
	d.UpTo(len(sentences), "sentence", "sentences", func(i int) { d.Linef(Plain, "  %s", sentences[i]) })
}

const (
	// MaxPods is how many pods a step lists before it sums them up by workload.
	MaxPods = 40
	// MaxDetails is how many entries other lists of a step have before the rest is counted.
	MaxDetails = 10
)

// Some lists names. It counts the names after the first MaxDetails.
func (d *Doc) Some(names []string) string {
	if more := len(names) - MaxDetails; more > 0 && !d.All {
		return fmt.Sprintf("%s and %d more; use --all to list them", strings.Join(names[:MaxDetails], ", "), more)
	}
	return strings.Join(names, ", ")
}

// UpTo shows each of n things. It counts the things after the first MaxDetails.
func (d *Doc) UpTo(n int, one, several string, show func(i int)) {
	for i := range n {
		if i == MaxDetails && !d.All {
			d.More(n-i, one, several)
			return
		}
		show(i)
	}
}

// More counts things that are not listed.
func (d *Doc) More(n int, one, several string) { d.Add(More{n, one, several}) }

// Few names the first of a number of things. Not all of them may be known by name.
func (d *Doc) Few(names []string, of int) string {
	if !d.All {
		names = names[:min(len(names), MaxNamed)]
	}
	listed := strings.Join(names, ", ")
	if more := of - len(names); more > 0 && len(names) > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return listed
}
