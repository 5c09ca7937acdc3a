package compare

import (
	"github.com/faultline/faultline/pkg/report/format/markdown"
)

// markdownPage is the verdict, the numbers, and what failures leave behind.
func markdownPage(r *Report) []byte {
	m := &markdown.Page{}
	m.Block("**%s**", markdown.Prose(r.verdict()))
	m.Block("%s", markdown.Prose(r.about()))
	m.About(r.Head)
	m.Table(r.table(), "variant")
	if failures := r.failures(); len(failures) > 1 {
		m.Block("%s", leftBehind)
		m.Table(failures, "failure")
	}
	m.List("Variants", markdown.Proses(r.descriptions()))
	return m.Bytes()
}
