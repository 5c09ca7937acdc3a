package report

import (
	"cmp"
)

// sizeMarkdown is the answer, the numbers, and what goes wrong with fewer.
func sizeMarkdown(r *SizeReport) []byte {
	m := &markdown{}
	for i, line := range r.verdict() {
		if i == 0 {
			m.block("**%s**", prose(line.text))
		} else {
			m.block("%s", prose(line.text))
		}
	}
	m.about(r.Head)
	m.table(r.table(), "group")
	var fewer []string
	for _, f := range r.Fewer {
		fewer = append(fewer, prose(f.text())+": "+prose(cmp.Or(f.Message, silent)))
	}
	m.list("With fewer", fewer)
	return m.bytes()
}
