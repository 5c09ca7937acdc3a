package doc

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/words"
)

// Bars is a picture of counts: a bar for each row, the worst first, whose parts stand one after the other.
type Bars struct {
	// Title says what the bars show.
	Title string
	Parts []Part
	Rows  []BarRow
	// Noun and Nouns name one row and several rows, and Unit names what the values count.
	Noun, Nouns string
	Unit        string
}

// Part is a part of each bar. Its style is its colour: Red is wrong, Yellow worth a look, Green good, and Plain neither.
type Part struct {
	Name  string
	Style Style
}

// BarRow is a bar: its name, the values of the parts, and a note behind the bar.
type BarRow struct {
	Name   string
	Values []int
	Note   string
}

// maxBarRows is the largest number of bars in a picture.
const maxBarRows = 24

// Shown returns the rows that are drawn, the sum of the longest one, and how many rows are left out, in words; "" if none is.
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

// Figures returns the values of the parts: "2 + 1", or "0".
func (r BarRow) Figures() string {
	var figures []string
	for _, n := range r.Values {
		if n > 0 {
			figures = append(figures, strconv.Itoa(n))
		}
	}
	return cmp.Or(strings.Join(figures, " + "), "0")
}

func (r BarRow) sum() int {
	sum := 0
	for _, n := range r.Values {
		sum += n
	}
	return sum
}
