package blast

import (
	"strings"

	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/report/run"
)

// Page returns the page of the report, with the run in which domains fail. It begins with the same verdict as the text.
func (r *Report) Page(ran *run.Report) *page.Page {
	p := ran.Page()
	p.Question, p.Data.Blast = r.question(), r
	verdict := r.verdict()
	p.Verdict = strings.Join(append([]string{verdict.Text}, r.conclusion(false)...), " ")
	switch verdict.Style {
	case doc.Green:
		p.Outcome = "met"
	case doc.Red, doc.Yellow:
		p.Outcome = "failed"
	default:
		p.Outcome = "open"
	}
	return p
}
