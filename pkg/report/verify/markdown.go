package verify

import (
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// markdownPage is the verdict, the divergences and what they could be, the Pending pods, and what was left out.
func markdownPage(r *Report) []byte {
	m := &markdown.Page{}
	for i, line := range r.verdict() {
		if i == 0 {
			m.Block("**%s**", markdown.Prose(line.Text))
		} else {
			m.Block("%s", markdown.Prose(line.Text))
		}
	}
	h := r.Head
	h.Scenario = "" // a command line
	m.About(h)
	m.Table(r.divergences(), "divergence")
	var causes []string
	for _, line := range r.words() {
		causes = append(causes, markdown.Prose(line))
	}
	m.List("What they could be", causes)
	var assumed []string
	for _, a := range r.Assumed {
		assumed = append(assumed, markdown.Prose(a.text()))
	}
	if len(assumed) > 0 {
		m.Block("%s", assumedVerdict)
		m.Items(assumed)
	}
	var pending []string
	for _, p := range r.Pending {
		pending = append(pending, markdown.Code(p.Namespace+"/"+p.Name)+": "+markdown.Prose(p.text()))
	}
	if len(pending) > 0 {
		m.Block("%s", markdown.Prose(r.pendingVerdict()))
		m.Items(pending)
	}
	var left []string
	for _, s := range r.Skipped {
		left = append(left, markdown.Prose(words.Count(s.Count, "pod")+": "+s.Why))
	}
	m.List("Skipped", left)
	if len(r.Ignored) > 0 {
		m.List("Ignored", []string{markdown.Prose(text.IgnoredLines(r.Ignored, false)[0])})
	}
	return m.Bytes()
}
