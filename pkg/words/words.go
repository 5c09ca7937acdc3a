// Package words writes numbers and lists in English: "1 pod", "2 pods are", "a, b and c", "3rd".
package words

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Count returns "1 pod" or "2 pods": the number and the noun, with an s unless the number is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Is returns "1 pod is" or "2 pods are".
func Is(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " is"
	}
	return Count(n, noun) + " are"
}

// Has returns "1 pod has" or "2 pods have".
func Has(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " has"
	}
	return Count(n, noun) + " have"
}

// And returns "a", "a and b", or "a, b and c".
func And(names []string) string {
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Few returns the list as And does. Of more than six names it counts the last ones: "a, b, c, d, e, f and 2 more".
func Few(names []string) string {
	const most = 6
	if len(names) <= most {
		return And(names)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Or returns "a", "a or b", or "a, b or c". The list must not be empty.
func Or(names []string) string {
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Pick returns one if n is 1, and several otherwise.
func Pick(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// Ordinal returns 1st, 2nd, 3rd, 4th, 11th and so on. The number must not be negative.
func Ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// Shorten returns the text if it has at most that many characters. Otherwise it keeps the beginning and the end of the text, and puts the length
// of the text between them. The result then has at most that many characters, or 80 if that is more. A limit below 20 is not allowed.
func Shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	const marked = 40 // more than the marks and the number take
	kept := max(most-marked, marked) / 2
	return fmt.Sprintf("%s… (%d characters) …%s", string(runes[:kept]), len(runes), string(runes[len(runes)-kept:]))
}

// maxValueLength is the maximum number of characters of a value in an error.
const maxValueLength = 200

// values matches the values that an error may repeat from its input: quoted strings and words.
var values = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s"]+`)

// ShortenValues returns the line. If the line is long, each long value in it is shortened by [Shorten].
func ShortenValues(line string) string {
	if len(line) <= maxValueLength {
		return line
	}
	return values.ReplaceAllStringFunc(line, func(value string) string {
		if text, err := strconv.Unquote(value); err == nil && len(value) > maxValueLength {
			return strconv.Quote(Shorten(text, maxValueLength))
		}
		return Shorten(value, maxValueLength)
	})
}

// UpperFirst returns the line with its first letter in upper case.
func UpperFirst(line string) string {
	first, size := utf8.DecodeRuneInString(line)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + line[size:]
}

// FormatDuration returns a duration to the second, or to the minute from one hour on: "50 s", "5 min 50 s", "2 h 5 min".
func FormatDuration(d time.Duration) string {
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	var parts []string
	if hours > 0 {
		parts = append(parts, fmt.Sprintf("%d h", hours))
	}
	if minutes > 0 {
		parts = append(parts, fmt.Sprintf("%d min", minutes))
	}
	if hours == 0 && (seconds > 0 || minutes == 0) {
		parts = append(parts, fmt.Sprintf("%d s", seconds))
	}
	return strings.Join(parts, " ")
}
