package doc

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// Style is the parameter of an ANSI "select graphic rendition" sequence.
type Style string

const (
	Plain  Style = ""
	Bold   Style = "1"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Cell is a piece of a line, or a cell of a table.
type Cell struct {
	Text  string
	Style Style
	// Drop says of a column's title when the column is left out of a table that is too wide: those with 1 first, those with 0 never.
	Drop int
}

// Cell is the text in the style.
func (s Style) Cell(text string) Cell { return Cell{Text: text, Style: s} }

// Cellf is the formatted text in the style.
func (s Style) Cellf(format string, args ...any) Cell { return s.Cell(fmt.Sprintf(format, args...)) }

// Row makes cells of one style.
func (s Style) Row(texts ...string) []Cell {
	return list.Each(texts, s.Cell)
}

// Dropped gives titles their place in the order in which columns are left out: the first of them goes first.
func Dropped(titles []Cell, order ...string) []Cell {
	for i := range titles {
		titles[i].Drop = slices.Index(order, titles[i].Text) + 1
	}
	return titles
}

// NoBreak is a space where a line is not broken.
const NoBreak = "\u00a0"

// Clean is a text from elsewhere as it may stand on a page.
func Clean(text string) string { return manifest.Clean(text) }

// None is what kubectl prints for an empty cell.
const None = "<none>"

// OrNone is the text, or None if it is empty.
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
