package doc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
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
	// Link is the address of a page about the text; only a page shows it.
	Link string
	// Drop is the order, in a row of titles, in which columns are left out of a table that is too wide: 1 goes first, and 0 stays.
	Drop int
}

// Cell returns the text in the style.
func (s Style) Cell(text string) Cell { return Cell{Text: text, Style: s} }

// Cellf returns the formatted text in the style.
func (s Style) Cellf(format string, args ...any) Cell { return s.Cell(fmt.Sprintf(format, args...)) }

// LinkTo returns the text in the style, as a link to an address.
func (s Style) LinkTo(text, address string) Cell { return Cell{Text: text, Style: s, Link: address} }

// Row returns cells of one style.
func (s Style) Row(texts ...string) []Cell {
	return list.Map(texts, s.Cell)
}

// SetDropOrder sets the order in which columns are left out: the first of order goes first. It returns the titles.
func SetDropOrder(titles []Cell, order ...string) []Cell {
	for i := range titles {
		titles[i].Drop = slices.Index(order, titles[i].Text) + 1
	}
	return titles
}

// SentenceCase returns the title of a column as a page and a comment write it: Not back/zone for NOT BACK/ZONE. A title that is not in
// capital letters, such as the name of a plugin, stays as it is.
func SentenceCase(title string) string {
	if title == "" || title[0] >= utf8.RuneSelf || title != strings.ToUpper(title) {
		return title
	}
	return abbreviations.ReplaceAllStringFunc(words.UpperFirst(strings.ToLower(title)), strings.ToUpper)
}

// abbreviations matches what is written in capital letters also in the middle of a sentence.
var abbreviations = regexp.MustCompile(`(?i)\b(cpu|gpu)\b`)

// NoBreak is a space at which lines are not broken.
const NoBreak = "\u00a0"

// Clean removes from a text what could control a terminal or a page.
func Clean(text string) string { return manifest.Clean(text) }

// None is what kubectl prints for an empty cell.
const None = "<none>"

// OrNone returns the text, or None if it is empty.
func OrNone(text string) string {
	if text == "" {
		return None
	}
	return text
}

// Number returns a cell with the number, in the style unless it is 0.
func Number(n int, s Style) Cell {
	if n == 0 {
		s = Plain
	}
	return s.Cellf("%d", n)
}
