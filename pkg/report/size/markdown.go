package size

import (
	"cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/format/markdown"
)

// markdownPage is the answer, the numbers, and what goes wrong with fewer.
func markdownPage(r *Report) []byte {
	m := &markdown.Page{}
	for i, line := range r.verdict() {
		if i == 0 {
			m.Block("**%s**", markdown.Prose(line.Text))
		} else {
			m.Block("%s", markdown.Prose(line.Text))
		}
	}
	m.About(r.Head)
	m.Table(r.table(), "group")
	var fewer []string
	for _, f := range r.Fewer {
		fewer = append(fewer, markdown.Prose(f.text())+": "+markdown.Prose(cmp.Or(f.Message, expect.NoMessage)))
	}
	m.List("With fewer", fewer)
	return m.Bytes()
}
