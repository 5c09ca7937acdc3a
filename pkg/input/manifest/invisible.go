package manifest

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode"
)

// IsInvisible reports whether the character must not appear in text: some invisible characters control terminals, or change the direction of
// writing.
func IsInvisible(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// escape writes invisible characters as \uXXXX, which JSON and JavaScript read as the characters themselves. A YAML reader refuses some
// invisible characters, and reads U+0085 as a line break. Line feeds and tabs stay, since they are layout: those in strings are already
// escaped.
func escape(data []byte) []byte {
	if !bytes.ContainsFunc(data, IsInvisible) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if r <= 0xffff && IsInvisible(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// NewEscaper returns a writer that escapes what is written to w. Each write must consist of whole characters.
func NewEscaper(w io.Writer) io.Writer { return escaper{w} }

type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	if _, err := e.w.Write(escape(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// YAML libraries escape control characters, but write other invisible characters unchanged. So MarkInvisible replaces each such character
// in the JSON by a mark: its code between two control characters. The library escapes the control characters, and EscapeMarked replaces
// each escaped mark by an escape of the character itself. A backslash that would read as the beginning of a mark is marked, too.
const (
	markBegins = `\u0001`
	markEnds   = `\u0002`
)

var (
	markable = regexp.MustCompile(`\\\\(?:x01)?|\\u[0-9a-f]{4}`)
	marked   = regexp.MustCompile(`\\x01([0-9a-f]{4})\\x02`)
)

// MarkInvisible marks the invisible characters in JSON that will be converted to YAML.
func MarkInvisible(json []byte) []byte {
	return markable.ReplaceAllFunc(escape(json), func(found []byte) []byte {
		switch string(found) {
		case `\\`:
			return found
		case `\\x01`:
			return []byte(markBegins + "005c" + markEnds + "x01")
		}
		code := found[len(`\u`):]
		if r, _ := strconv.ParseUint(string(code), 16, 16); r != 1 && (r < 0xa0 || !IsInvisible(rune(r))) {
			return found
		}
		return []byte(markBegins + string(code) + markEnds)
	})
}

// EscapeMarked replaces the marks in YAML by escapes.
func EscapeMarked(yaml []byte) []byte { return marked.ReplaceAll(yaml, []byte(`\u$1`)) }
