package capacity

import (
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// markdownPage is the answers, a table of them, and what becomes of the free resources.
func markdownPage(r *Report) []byte {
	m := &markdown.Page{}
	for i := range r.Safety {
		for _, line := range r.Safety[i].Lines() {
			m.Block("%s", markdown.Prose(line.Text))
		}
	}
	for i := range r.Mixes {
		for j, line := range r.answers(&r.Mixes[i]) {
			if i == text.MaxDetails {
				break
			}
			if j == 0 {
				m.Block("**%s**", markdown.Prose(line.Text))
			} else {
				m.Block("%s", markdown.Prose(line.Text))
			}
		}
	}
	m.About(r.Head)
	if len(r.Mixes) > 1 {
		m.Table(r.summary(r.tightest(), true), "workload")
	}
	m.Details(len(r.Mixes), "workload", func(i int) string {
		mix := &r.Mixes[i]
		part := &markdown.Page{}
		part.Block("%s", markdown.Summary(mix.Name, "what becomes of the free resources"))
		part.Table(mix.headroom(), "resource")
		var refused []string
		for _, l := range append([]Limit{mix.Fit}, mix.Survive...) {
			if l.Message != "" {
				refused = append(refused, markdown.Prose(l.when())+": "+markdown.Code(l.Pod)+": "+markdown.Prose(l.Message))
			}
		}
		part.List("The first pod without a node", refused)
		part.Block("</details>")
		return part.Text()
	})
	var pods []string
	for _, pod := range r.Largest {
		pods = append(pods, markdown.Prose(pod.text()))
	}
	m.List("Largest pods that fit now", pods)
	return m.Bytes()
}
