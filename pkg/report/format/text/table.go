package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/words"
)

const (
	// columnGap and minColumn are kubectl's: columns are at least 6 wide with the 3 between them. See
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/cli-runtime/pkg/printers/tabwriter.go; that writer
	// itself would count colour as text.
	columnGap = 3
	minColumn = 3
	// minWrapped is the narrowest column whose cells are wrapped.
	minWrapped = 12
	// maxColumns is how many columns that are left out are named; more are counted.
	maxColumns = 4
)

// Dropped gives titles their place in the order in which columns are left out: the first of them goes first.
func Dropped(titles []Cell, order ...string) []Cell {
	for i := range titles {
		titles[i].Drop = slices.Index(order, titles[i].Text) + 1
	}
	return titles
}

// Table writes rows with aligned columns. A table that is too wide loses the columns whose titles, in the first row, say so, and a
// line below names or counts them; then the widest columns are wrapped. No cell is cut.
func (p *Page) Table(indent string, rows ...[]Cell) {
	if len(rows) == 0 {
		return
	}
	widths := p.widths(rows)
	var left []string
	for p.tooWide(indent, widths) > 0 {
		next := dropNext(rows[0])
		if next < 0 {
			break
		}
		left = append(left, rows[0][next].Text)
		rows = without(rows, next)
		widths = p.widths(rows)
	}
	p.narrow(indent, rows, widths)
	for _, cells := range rows {
		p.row(indent, cells, widths)
	}
	if len(left) > 0 {
		columns := words.And(left)
		if len(left) > maxColumns {
			columns = words.Count(len(left), "column")
		}
		p.Linef(Plain, "%sNot shown for lack of width: %s. COLUMNS=%d shows more.", indent, columns, 2*p.Width)
	}
}

// fits reports whether the table needs neither to lose columns nor to be wrapped.
func (p *Page) fits(indent string, rows [][]Cell) bool { return p.tooWide(indent, p.widths(rows)) == 0 }

// widths are the widths of the columns.
func (p *Page) widths(rows [][]Cell) []int {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, minColumn)
			}
			widths[i] = max(widths[i], length(c))
		}
	}
	return widths
}

func length(c Cell) int { return utf8.RuneCountInString(Clean(c.Text)) }

// tooWide is by how many characters.
func (p *Page) tooWide(indent string, widths []int) int {
	if p.Width == 0 {
		return 0
	}
	sum := len(indent) + columnGap*(len(widths)-1)
	for _, w := range widths {
		sum += w
	}
	return max(0, sum-p.Width)
}

// dropNext is the column that goes next; -1 if none may.
func dropNext(titles []Cell) int {
	next := -1
	for i, title := range titles {
		if title.Drop > 0 && (next < 0 || title.Drop < titles[next].Drop) {
			next = i
		}
	}
	return next
}

func without(rows [][]Cell, column int) [][]Cell {
	kept := make([][]Cell, len(rows))
	for i, cells := range rows {
		kept[i] = slices.Clone(cells)
		if column < len(cells) {
			kept[i] = slices.Delete(kept[i], column, column+1)
		}
	}
	return kept
}

// narrow takes from the widest columns what the table has too much, down to the longest word of each.
func (p *Page) narrow(indent string, rows [][]Cell, widths []int) {
	least := make([]int, len(widths))
	for _, cells := range rows {
		for i, c := range cells {
			for word := range strings.SplitSeq(Clean(c.Text), " ") {
				least[i] = max(least[i], minWrapped, utf8.RuneCountInString(word))
			}
		}
	}
	for p.tooWide(indent, widths) > 0 {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// row writes cells beside each other, on as many lines as the longest of them needs.
func (p *Page) row(indent string, cells []Cell, widths []int) {
	parts := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		parts[i] = []string{Clean(c.Text)}
		if length(c) > widths[i] {
			parts[i] = wrap(parts[i][0], widths[i])
		}
		height = max(height, len(parts[i]))
	}
	for y := range height {
		line, pad := []Cell{{Text: indent}}, 0
		for i, c := range cells {
			text := ""
			if y < len(parts[i]) {
				text = parts[i][y]
			}
			if text != "" {
				line = append(line, Cell{Text: strings.Repeat(" ", pad)}, c.Style.Cell(text))
				pad = 0
			}
			pad += widths[i] - utf8.RuneCountInString(text) + columnGap
		}
		p.write(line)
	}
}
