package manifest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean writes whatever could drive a terminal, break a line or turn the direction of writing as an escape that shows it. Names
// and messages come from other people's files.
func Clean(text string) string {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
