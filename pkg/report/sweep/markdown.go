package sweep

import (
	"github.com/faultline/faultline/pkg/report/format/markdown"
)

// markdownPage is the verdict and a table of points.
func markdownPage(r *Report) []byte {
	m := &markdown.Page{}
	m.Block("**%s**", markdown.Prose(r.verdict()))
	m.Block("%s", markdown.Prose(r.about()))
	m.About(r.Head)
	shown, rest := r.shown(false)
	m.Table(r.table(shown), "point")
	if rest != "" {
		m.Block("%s", markdown.Prose(rest))
	}
	return m.Bytes()
}
