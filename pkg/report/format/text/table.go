package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// columnGap and minColumn are kubectl's: a column is at least 6 wide, with the gap of 3. See
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/cli-runtime/pkg/printers/tabwriter.go. That writer cannot be
	// used, since it counts colour as text.
	columnGap = 3
	minColumn = 3
	// minWrapped is the least width of a column whose cells are wrapped.
	minWrapped = 12
	// maxColumns is the largest number of missing columns that are named; more are counted.
	maxColumns = 4
)

// table writes rows with aligned columns. A table that is too wide loses the columns whose titles allow it, then its widest cells are
// wrapped: first between words, then inside names, after dots, dashes and slashes, then titles between words. If it is still too wide, it loses
// its last columns. A line below names or counts the columns that are missing. No cell is cut, and no title is broken inside a word.
func (p *page) table(t doc.Table) {
	indent, rows := t.Indent, slices.Clone(t.Rows)
	widths := columnWidths(rows)
	if p.excessWidth(indent, widths) > 0 {
		rows = narrowerRows(t)
		widths = columnWidths(rows)
	}
	var left []string
	drop := func(column int) {
		left = append(left, rows[0][column].Text)
		rows = removeColumn(rows, column)
		widths = columnWidths(rows)
	}
	for next := nextDropped(rows[0]); p.excessWidth(indent, widths) > 0 && next >= 0; next = nextDropped(rows[0]) {
		drop(next)
	}
	for hasTitles(rows) && len(rows[0]) > 1 && p.excessWidth(indent, leastWidths(rows, widths, splitWords, splitName)) > 0 {
		drop(len(rows[0]) - 1)
	}
	title := splitNothing
	if t.Apart {
		title = splitWords
	}
	p.shrinkColumns(indent, widths, leastWidths(rows, widths, title, splitWords))
	p.shrinkColumns(indent, widths, leastWidths(rows, widths, title, splitName))
	p.shrinkColumns(indent, widths, leastWidths(rows, widths, splitWords, splitName))
	for _, cells := range rows {
		p.row(indent, cells, widths)
	}
	if len(left) > 0 {
		columns := words.And(left)
		if len(left) > maxColumns {
			columns = words.Count(len(left), "column")
		}
		p.line(doc.Line{doc.Plain.Cellf("%sNot shown for lack of width: %s. COLUMNS=%d shows more.", indent, columns, 2*p.width)})
	}
}

// hasTitles reports whether the first row has the titles.
func hasTitles(rows [][]doc.Cell) bool {
	return len(rows[0]) > 0 && rows[0][0].Style == doc.Bold && len(rows) > 1
}

// narrowerRows returns the rows of a table that is too wide: with spaces in its titles if Apart is set, and with the first Least columns if
// that is set.
func narrowerRows(t doc.Table) [][]doc.Cell {
	rows := slices.Clone(t.Rows)
	if t.Apart {
		rows[0] = slices.Clone(rows[0])
		for i := range rows[0] {
			rows[0][i].Text = spaceWords(rows[0][i].Text)
		}
	}
	if t.Least > 0 {
		for i, cells := range rows {
			rows[i] = cells[:min(len(cells), t.Least)]
		}
	}
	return rows
}

// spaceWords puts spaces between the words of a plugin's name, so that it can be wrapped: "Node Resources Fit".
func spaceWords(name string) string {
	var text strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(name[i-1])) {
			text.WriteByte(' ')
		}
		text.WriteRune(r)
	}
	return text.String()
}

func columnWidths(rows [][]doc.Cell) []int {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, minColumn)
			}
			widths[i] = max(widths[i], cellLength(c))
		}
	}
	return widths
}

func cellLength(c doc.Cell) int { return utf8.RuneCountInString(doc.Clean(c.Text)) }

// excessWidth returns by how many characters the table is too wide, or 0.
func (p *page) excessWidth(indent string, widths []int) int {
	if p.width == 0 {
		return 0
	}
	sum := len(indent) + columnGap*(len(widths)-1)
	for _, w := range widths {
		sum += w
	}
	return max(0, sum-p.width)
}

// nextDropped returns the index of the column that is left out next, or -1 if every column must stay.
func nextDropped(titles []doc.Cell) int {
	next := -1
	for i, title := range titles {
		if title.Drop > 0 && (next < 0 || title.Drop < titles[next].Drop) {
			next = i
		}
	}
	return next
}

func removeColumn(rows [][]doc.Cell, column int) [][]doc.Cell {
	kept := make([][]doc.Cell, len(rows))
	for i, cells := range rows {
		kept[i] = slices.Clone(cells)
		if column < len(cells) {
			kept[i] = slices.Delete(kept[i], column, column+1)
		}
	}
	return kept
}

// leastWidths returns how narrow each column can be, if these functions split its title and its cells into parts that stay whole.
func leastWidths(rows [][]doc.Cell, widths []int, splitTitle, splitCell func(text string) []string) []int {
	least := make([]int, len(widths))
	for y, cells := range rows {
		split := splitCell
		if y == 0 && hasTitles(rows) {
			split = splitTitle
		}
		for i, c := range cells {
			for _, part := range split(doc.Clean(c.Text)) {
				least[i] = max(least[i], utf8.RuneCountInString(part))
			}
		}
	}
	for i := range least {
		least[i] = min(max(least[i], minWrapped), widths[i])
	}
	return least
}

func splitNothing(text string) []string { return []string{text} }

func splitWords(text string) []string { return strings.Split(text, " ") }

// splitName splits a text between words, and after the dots, dashes, slashes and other signs of names, which may continue on the next line.
func splitName(text string) []string {
	var parts []string
	for word := range strings.SplitSeq(text, " ") {
		begin := 0
		for i, r := range word {
			if next := i + utf8.RuneLen(r); strings.ContainsRune(".-/:=,_@", r) && next < len(word) && i > begin {
				parts, begin = append(parts, word[begin:next]), next
			}
		}
		parts = append(parts, word[begin:])
	}
	return parts
}

// shrinkColumns reduces the widest columns until the table fits, but no column below its least width.
func (p *page) shrinkColumns(indent string, widths, least []int) {
	for p.excessWidth(indent, widths) > 0 {
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

// wrapCell breaks a text at spaces, and words that are longer than the width as splitName does.
func wrapCell(text string, width int) []string {
	var lines []string
	line, empty := "", true
	put := func(part, space string) {
		switch {
		case empty:
			line, empty = part, false
		case utf8.RuneCountInString(line+space+part) <= width:
			line += space + part
		default:
			lines, line = append(lines, line), part
		}
	}
	for word := range strings.SplitSeq(text, " ") {
		if utf8.RuneCountInString(word) <= width {
			put(word, " ")
			continue
		}
		space := " "
		for _, part := range splitName(word) {
			put(part, space)
			space = ""
		}
	}
	return append(lines, line)
}

// row writes cells side by side, on as many lines as the longest of them needs.
func (p *page) row(indent string, cells []doc.Cell, widths []int) {
	parts := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		parts[i] = []string{doc.Clean(c.Text)}
		if cellLength(c) > widths[i] {
			parts[i] = wrapCell(parts[i][0], widths[i])
		}
		height = max(height, len(parts[i]))
	}
	for y := range height {
		line, pad := doc.Line{{Text: indent}}, 0
		for i, c := range cells {
			text := ""
			if y < len(parts[i]) {
				text = parts[i][y]
			}
			if text != "" {
				line = append(line, doc.Cell{Text: strings.Repeat(" ", pad)}, c.Style.Cell(text))
				pad = 0
			}
			pad += widths[i] - utf8.RuneCountInString(text) + columnGap
		}
		p.write(line)
	}
}
