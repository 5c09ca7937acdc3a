// Package doc has reports as documents, before they have a format: the answer, then sections of lines and tables. A report makes its
// document once, and each format can render any document. The package also has the words for levels, shares and scheduling cycles that
// reports share.
package doc

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/report"
)

// Doc is a document. All its text is in cells, from which each format removes characters that could act on a page.
type Doc struct {
	// Head says what the report is about. Each format shows it in its own way.
	Head report.Head
	// Sections are the content. The first section is the answer: what a reader must know first.
	Sections []*Section
	// Judged means that a green answer passes, a red one fails, and a yellow one does neither.
	Judged bool
	// All lists every detail, however many there are.
	All bool
	// Page means that the document is for a page, which has no flags.
	Page bool
	// Question says what the document is about, as a title.
	Question string
	gap      bool // the next block begins a section
	// proofAdded means that the proof was added below the first line of the answer.
	proofAdded bool
}

// Section is a group of blocks.
type Section struct {
	Title string
	// Folded marks details: text shows them only with All, and a page folds them below the title.
	Folded bool
	Blocks []Block
}

// Block is a Line, a Verbatim, a Table, a More or Fields.
type Block interface{ block() }

// Line is a row of cells on one line. A line that begins with spaces belongs to the last line before it that begins with fewer.
type Line []Cell

// Text returns the line without its styles, and the number of spaces at its beginning.
func (l Line) Text() (text string, indent int) {
	for _, c := range l {
		text += c.Text
	}
	trimmed := strings.TrimLeft(text, " ")
	return strings.TrimSpace(trimmed), len(text) - len(trimmed)
}

// Verbatim is lines that are never wrapped, such as commands to copy.
type Verbatim []string

// Table is rows with aligned columns. The first row can have the titles.
type Table struct {
	Indent string
	Rows   [][]Cell
	// Least is the number of columns that a table without titles keeps if it is too wide; 0 keeps all.
	Least int
	// Apart says that the titles are names of plugins, which may be split into words: Node Resources Fit.
	Apart bool
	// Most is how many rows, beside the titles, text shows without All; 0 is no limit. Noun and Nouns name one row and several rows.
	Most        int
	Noun, Nouns string
}

// More counts things that are not listed.
type More struct {
	N           int
	Noun, Nouns string
}

// Fields are titles with lines: "Cluster:   4 nodes".
type Fields []Field

// Field is a title with lines. Head says that it repeats the document's head, for formats that do not show the head.
type Field struct {
	Title string
	Lines []string
	Head  bool
}

// Answer returns the first line, or "" if the document does not begin with a line.
func (d *Doc) Answer() string {
	if len(d.Sections) > 0 && len(d.Sections[0].Blocks) > 0 {
		if line, is := d.Sections[0].Blocks[0].(Line); is {
			text, _ := line.Text()
			return Clean(text)
		}
	}
	return ""
}

// Add adds a title with lines.
func (f *Fields) Add(title string, lines ...string) { *f = append(*f, Field{title, lines, false}) }

// AddHead adds a title with lines that repeat the document's head.
func (f *Fields) AddHead(title string, lines ...string) { *f = append(*f, Field{title, lines, true}) }

func (Line) block()     {}
func (Verbatim) block() {}
func (Table) block()    {}
func (More) block()     {}
func (Fields) block()   {}

// New returns an empty document.
func New(head report.Head, opts report.Options) Doc {
	return Doc{Head: head, All: opts.All, Page: opts.Page}
}

// Add adds a block to the last section, or to a new one.
func (d *Doc) Add(b Block) {
	if len(d.Sections) == 0 || d.gap {
		d.Sections = append(d.Sections, &Section{})
	}
	last := d.Sections[len(d.Sections)-1]
	last.Blocks = append(last.Blocks, b)
	d.gap = false
	if proof := d.Head.Proof; proof != nil && !d.proofAdded {
		d.proofAdded = true
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

// Verbatim adds a line to copy. Consecutive ones form one block.
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

// Sentences writes a title and one sentence on a line, or the title and several sentences below it.
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
	// MaxPods is the largest number of pods that a step lists; if there are more, it sums them up by workload.
	MaxPods = 40
	// MaxDetails is the largest number of entries in any other list of a step; more are counted.
	MaxDetails = 10
)

// ListNames joins names with commas. It counts the names after the first MaxDetails.
func (d *Doc) ListNames(names []string) string {
	if more := len(names) - MaxDetails; more > 0 && !d.All {
		return fmt.Sprintf("%s and %d more%s", strings.Join(names[:MaxDetails], ", "), more, d.HowToList("them"))
	}
	return strings.Join(names, ", ")
}

// HowToList returns "; use --all to list them", or "" on a page, where nobody can give a flag.
func (d *Doc) HowToList(what string) string {
	if d.Page {
		return ""
	}
	return "; use --all to list " + what
}

// UpTo calls show for each of n things. It counts the things after the first MaxDetails.
func (d *Doc) UpTo(n int, one, several string, show func(i int)) {
	for i := range n {
		if i == MaxDetails && !d.All {
			d.More(n-i, one, several)
			return
		}
		show(i)
	}
}

// More adds a count of things that are not listed.
func (d *Doc) More(n int, one, several string) { d.Add(More{n, one, several}) }

// NameFew joins the first names of a number of things, and counts the others. Only some of the things may have names.
func (d *Doc) NameFew(names []string, of int) string {
	if !d.All {
		names = names[:min(len(names), MaxNamed)]
	}
	listed := strings.Join(names, ", ")
	if more := of - len(names); more > 0 && len(names) > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return listed
}
