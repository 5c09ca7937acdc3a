package manifest

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode"
)

// Invisible reports whether a page of text should not have the character: some drive terminals, or turn the direction of writing.
func Invisible(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// escape writes invisible characters as \uXXXX, which strings of JSON and of JavaScript take for the characters themselves: a YAML reader
// refuses some and takes U+0085 for a line break. Line feeds and tabs are the layout's: those in strings are escaped already.
func escape(data []byte) []byte {
	if !bytes.ContainsFunc(data, Invisible) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if r <= 0xffff && Invisible(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// Escaper escapes what is written, each piece of which has whole characters.
func Escaper(w io.Writer) io.Writer { return escaper{w} }

type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	if _, err := e.w.Write(escape(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// YAML libraries escape control characters, and write other invisible ones as they are. So what becomes YAML is marked as JSON: the code of
// each such character stands between two control characters, and what the library makes of these is made an escape of the character
// itself. A backslash that would read as the beginning of a mark is marked, too.
const (
	markBegins = `\u0001`
	markEnds   = `\u0002`
)

var (
	markable = regexp.MustCompile(`\\\\(?:x01)?|\\u[0-9a-f]{4}`)
	marked   = regexp.MustCompile(`\\x01([0-9a-f]{4})\\x02`)
)

// MarkInvisible marks the invisible characters in JSON that becomes YAML.
func MarkInvisible(json []byte) []byte {
	return markable.ReplaceAllFunc(escape(json), func(found []byte) []byte {
		switch string(found) {
		case `\\`:
			return found
		case `\\x01`:
			return []byte(markBegins + "005c" + markEnds + "x01")
		}
		code := found[len(`\u`):]
		if r, _ := strconv.ParseUint(string(code), 16, 16); r != 1 && (r < 0xa0 || !Invisible(rune(r))) {
			return found
		}
		return []byte(markBegins + string(code) + markEnds)
	})
}

// EscapeMarked makes escapes of the marks in YAML.
func EscapeMarked(yaml []byte) []byte { return marked.ReplaceAll(yaml, []byte(`\u$1`)) }
