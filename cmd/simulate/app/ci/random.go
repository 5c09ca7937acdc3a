package ci

import (
	"regexp"
	"slices"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/pkg/list"
)

// withoutRandom gives what is random in the manifests, as with randAlphaNum of helm, the values that the other side has: names, passwords, and the
// checksums of these in annotations. Otherwise each would be a change: an object that is removed and a new one, or a rollout. A value is random
// if the command prints another one in its place when it runs once more. That is tried only if a difference looks random.
func (g *gateRun) withoutRandom(c *command.Call, base *checkout, command string, head, before []byte) ([]byte, error) {
	now, then := strings.Split(string(head), "\n"), strings.Split(string(before), "\n")
	if !looksRandom(now, then) || !looksRandom(then, now) {
		return head, nil
	}
	printed, err := renderHead(c, base, command)
	if err != nil {
		return nil, err
	}
	if once := strings.Split(string(printed), "\n"); len(once) == len(now) {
		copyRandom(now, once, then)
	}
	return []byte(strings.Join(now, "\n")), nil
}

// randomLine matches a line that may have a random value: a name, or a long word.
var randomLine = regexp.MustCompile(`^  name: |[A-Za-z0-9+/]{8}`)

// looksRandom reports whether a line that the others lack may have a random value.
func looksRandom(lines, others []string) bool {
	known := list.KeySet(others, func(line string) string { return line })
	return slices.ContainsFunc(lines, func(line string) bool { return !known[line] && randomLine.MatchString(line) })
}

// copyRandom replaces what differs between two outputs of one command by what the other side has between the same text. A value that occurs again gets
// the same one.
func copyRandom(now, once, then []string) {
	type place struct{ before, after string }
	seen, copied := map[place]int{}, map[string]string{}
	for i, line := range now {
		if line == once[i] {
			continue
		}
		before, random, after := cutDifference(line, once[i])
		value, known := copied[random]
		if !known {
			at := place{before, after}
			var there []string
			for _, other := range then {
				if len(other) > len(before)+len(after) && strings.HasPrefix(other, before) && strings.HasSuffix(other, after) {
					there = append(there, other[len(before):len(other)-len(after)])
				}
			}
			if seen[at] >= len(there) {
				continue
			}
			value = there[seen[at]]
			seen[at]++
			copied[random] = value
		}
		now[i] = before + value + after
	}
}

// cutDifference cuts the line around the words in which it differs from the other one.
func cutDifference(line, other string) (before, differs, after string) {
	start := 0
	for start < min(len(line), len(other)) && line[start] == other[start] {
		start++
	}
	end := 0
	for end < min(len(line), len(other))-start && line[len(line)-1-end] == other[len(other)-1-end] {
		end++
	}
	for start > 0 && isWordByte(line[start-1]) {
		start--
	}
	for end > 0 && isWordByte(line[len(line)-end]) {
		end--
	}
	return line[:start], line[start : len(line)-end], line[len(line)-end:]
}

func isWordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '+' || b == '/' || b == '='
}
