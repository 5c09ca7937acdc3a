package doc

import (
	"fmt"

	"github.com/faultline/faultline/pkg/words"
)

// Bars is a picture of what a report counts: a bar for each row, the gravest first, in which parts stand one after the other.
type Bars struct {
	// Title says what the bars show.
	Title string
	Parts []Part
	Rows  []BarRow
	// Noun and Nouns name one and several of the rows.
	Noun, Nouns string
}

// Part is a part of each bar. Its style is the colour: Red is wrong, Yellow worth a look, Green good, and Plain neither.
type Part struct {
	Name  string
	Style Style
}

// BarRow is a bar: the values of the parts, and what stands behind it.
type BarRow struct {
	Name   string
	Values []int
	Note   string
}

// maxBarRows is how many bars a picture has.
const maxBarRows = 24

// Shown are the rows that are drawn, what the longest of them adds up to, and how many are left out, in words; "" if none.
func (b *Bars) Shown() (rows []BarRow, longest int, more string) {
	rows, longest = b.Rows[:min(len(b.Rows), maxBarRows)], 1
	for _, row := range rows {
		longest = max(longest, row.sum())
	}
	if n := len(b.Rows) - len(rows); n > 0 {
		more = fmt.Sprintf("and %d more %s", n, words.Pick(n, b.Noun, b.Nouns))
	}
	return rows, longest, more
}

func (r BarRow) sum() int {
	sum := 0
	for _, n := range r.Values {
		sum += n
	}
	return sum
}
