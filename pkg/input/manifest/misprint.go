package manifest

import (
	"bytes"
	"fmt"
	"regexp"
)

// What kubectl prints for people is no manifest, and what it says on standard error can stand between objects, after 2>&1.

var (
	described    = regexp.MustCompile(`\A\s*Name:[ \t]{2,}\S`)
	printedTable = regexp.MustCompile(`\A\s*(?:NAMESPACE[ \t]+)?NAME[ \t]{2,}[A-Z][A-Z-]+`)
	prompted     = regexp.MustCompile(`\A\s*\$ (?:kubectl|oc) [^\n]*`)
	fenced       = regexp.MustCompile("\\A\\s*```")
	// kubectl warns of deprecated versions, its client logs what the discovery of other kinds fails with, and an empty answer is told in words.
	warned      = regexp.MustCompile(`\A(?:` + warning + `\n)+`)
	warnedAtEnd = regexp.MustCompile(`(?:\n` + warning + `)+\s*\z`)
)

const warning = `(?:Warning: [^\n]*|No resources found[^\n]*|[WEI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\] [^\n]*)`

// kubectlErrors are the beginnings of lines on which kubectl says what it could not list.
var kubectlErrors = []string{"Error from server", "The connection to the server ", "Unable to connect to the server", "error: the server ", "error: You must be logged in"}

// findMisprint says what the text is, if it is what kubectl prints for people; "" if it is not.
func findMisprint(text []byte) string {
	switch {
	case described.Match(text):
		return "this is what kubectl describe prints, which lacks most of each object; give what kubectl get -o json or -o yaml prints"
	case printedTable.Match(text):
		return "this is a table of kubectl get, which lacks most of each object; give what kubectl get -o json or -o yaml prints"
	case prompted.Match(text):
		return fmt.Sprintf("line %d: a command stands before its output; remove the line", 1+leadingLines(text))
	case fenced.Match(text):
		return fmt.Sprintf("line %d: a fence of Markdown stands before the objects; remove it, and the one after them", 1+leadingLines(text))
	}
	for _, says := range kubectlErrors {
		at := 0
		if !bytes.HasPrefix(text, []byte(says)) {
			at = 1 + bytes.Index(text, []byte("\n"+says))
		}
		if at > 0 || bytes.HasPrefix(text, []byte(says)) {
			line, _, _ := bytes.Cut(text[at:], []byte("\n"))
			return fmt.Sprintf("line %d: kubectl says %q, so that objects are missing here; mend that, and write the file anew", 1+bytes.Count(text[:at], []byte("\n")), bytes.TrimSpace(line))
		}
	}
	return ""
}

// blankWarnings replaces the warnings of kubectl at the beginning of a text by empty lines, so that other lines keep their numbers, and leaves out
// those at the end.
func blankWarnings(text []byte) []byte {
	if end := text[max(0, len(text)-maxWarnings):]; warnedAtEnd.Match(end) {
		text = text[:len(text)-len(end)+warnedAtEnd.FindIndex(end)[0]+1]
	}
	at := warned.FindIndex(text)
	if at == nil {
		return text
	}
	return append(bytes.Repeat([]byte("\n"), bytes.Count(text[:at[1]], []byte("\n"))), text[at[1]:]...)
}

// maxWarnings is how many bytes at the end of a text may be warnings.
const maxWarnings = 64 << 10
