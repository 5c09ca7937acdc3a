package report

import (
	"fmt"
	"strings"
)

// count is "1 pod" or "2 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// is is "1 pod is" or "2 pods are".
func is(n int, noun string) string {
	if n == 1 {
		return count(n, noun) + " is"
	}
	return count(n, noun) + " are"
}

// and is "a", "a and b", "a, b and c".
func and(names []string) string {
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// or is "a", "a or b", "a, b or c".
func or(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// pick returns one for a number of 1.
func pick(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// ordinal is 1st, 2nd, 3rd, 4th, 11th.
func ordinal(n int) string {
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

func joinOr(words []string) string { return strings.Join(words, " or ") }

func upperFirst(line string) string { return strings.ToUpper(line[:1]) + line[1:] }
