// Package words puts numbers and lists into English: "1 pod", "2 pods are", "a, b and c", "3rd".
package words

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Count is "1 pod" or "2 pods".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Is is "1 pod is" or "2 pods are".
func Is(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " is"
	}
	return Count(n, noun) + " are"
}

// Has is "1 pod has" or "2 pods have".
func Has(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " has"
	}
	return Count(n, noun) + " have"
}

// And is "a", "a and b", "a, b and c".
func And(names []string) string {
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Few lists a few names, and counts the others of many: "a, b, c, d, e, f and 2 more".
func Few(names []string) string {
	const most = 6
	if len(names) <= most {
		return And(names)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Or is "a", "a or b", "a, b or c".
func Or(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Pick returns one for a number of 1.
func Pick(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// Ordinal is 1st, 2nd, 3rd, 4th, 11th.
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

// Short is a text of at most that many characters. The middle of a longer one gives way to how long it is.
func Short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	const marked = 40 // more than the marks and the number have
	kept := max(most-marked, marked) / 2
	return fmt.Sprintf("%s… (%d characters) …%s", string(runes[:kept]), len(runes), string(runes[len(runes)-kept:]))
}

// longest is how many characters of a value an error repeats.
const longest = 200

// values finds what an error may have of its input: texts in quotes, and words.
var values = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s"]+`)

// ShortValues is the line with each long value in it cut by Short.
func ShortValues(line string) string {
	if len(line) <= longest {
		return line
	}
	return values.ReplaceAllStringFunc(line, func(value string) string {
		if text, err := strconv.Unquote(value); err == nil && len(value) > longest {
			return strconv.Quote(Short(text, longest))
		}
		return Short(value, longest)
	})
}

// UpperFirst is the line as a sentence begins.
func UpperFirst(line string) string { return strings.ToUpper(line[:1]) + line[1:] }
