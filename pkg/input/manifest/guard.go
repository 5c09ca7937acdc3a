package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxObject is the maximum number of bytes of one object in JSON. An API server takes requests of up to 3 MiB, which indentation can make a
// few times larger.
const maxObject = 16 << 20

var errObjectTooLarge = errors.New("too large; of one object at most 16 MiB are read, and an API server takes at most 3 MiB, so leave it out")

// notTextError is the error of a text with a zero byte.
type notTextError struct{ at int }

// Error names the position of the byte, from 1.
func (e notTextError) Error() string {
	return fmt.Sprintf("byte %d is 0, so this is no text; give YAML or JSON in UTF-8", e.at)
}

// guard is a reader that refuses JSON with a string larger than any object may be, or with as many bytes outside of strings. Without it, a
// few kilobytes that gzip has compressed could become a gigabyte, which a decoder stores before it looks at it. guard passes other text
// unchanged.
type guard struct {
	in           io.Reader
	offset       int  // bytes read
	began        bool // the first byte that is not white space was read
	isJSON       bool
	inString     bool
	escaped      bool // the last byte was a backslash that escapes the next one
	segmentBytes int  // bytes since the string began, or since it ended
}

// Read reads from the text, and checks the bytes.
func (g *guard) Read(p []byte) (int, error) {
	n, err := g.in.Read(p)
	if wrong := g.check(p[:n]); wrong != nil {
		return 0, wrong
	}
	return n, err
}

func (g *guard) check(text []byte) error {
	if !g.began {
		if first := bytes.TrimLeft(text, "\xef\xbb\xbf \t\r\n"); len(first) > 0 {
			g.began, g.isJSON = true, first[0] == '{' || first[0] == '['
		}
	}
	zero := -1
	if g.isJSON {
		zero = bytes.IndexByte(text, 0)
	}
	if zero >= 0 {
		return notTextError{g.offset + zero + 1}
	}
	g.offset += len(text)
	for g.isJSON && len(text) > 0 {
		next := g.nextQuote(text)
		if g.segmentBytes += next; g.segmentBytes > maxObject {
			return errObjectTooLarge
		}
		if text = text[next:]; len(text) > 0 { // a quote
			text, g.inString, g.segmentBytes = text[1:], !g.inString, 0
		}
	}
	return nil
}

// nextQuote returns the position of the quote that begins or ends a string, or the length of the text.
func (g *guard) nextQuote(text []byte) int {
	for at := 0; ; {
		if g.escaped && at < len(text) {
			at, g.escaped = at+1, false
		}
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			quote = len(text) - at
		}
		slashes := 0
		for slashes < quote && text[at+quote-1-slashes] == '\\' {
			slashes++
		}
		at += quote
		switch g.escaped = g.inString && slashes%2 == 1; {
		case at == len(text), !g.escaped:
			return at
		}
	}
}
