package blast

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// markdownPage is the verdict, quorums that are lost, the worst failure of each step and level, and details of those.
func markdownPage(r *Report) []byte {
	m, t := &markdown.Page{}, newWriter(r, report.Options{}, false)
	m.Block("**%s**", markdown.Prose(r.verdict().Text))
	for _, line := range r.conclusion(false) {
		m.Block("%s", markdown.Prose(line))
	}
	m.About(r.Head)
	var errors []string
	for _, f := range r.Findings() {
		if f.Level == expect.Error {
			errors = append(errors, markdown.Code(f.Step)+": "+markdown.Prose(f.Message))
		}
	}
	m.List("Quorum lost", errors)
	if len(r.Steps) == 0 {
		return m.Bytes()
	}
	m.Block("%s:", markdown.Prose(t.question()))
	m.Table(t.levels(), "row")
	m.Details(len(r.Steps), "step", func(i int) string { return t.details(&r.Steps[i]) })
	return m.Bytes()
}

// details are what the worst failure of each level takes, what comes of it, and what was found of any.
func (t *writer) details(step *Step) string {
	m := &markdown.Page{}
	m.Block("%s", markdown.Summary(step.Name, step.Action))
	for i := range step.Levels {
		l := &step.Levels[i]
		f := l.worst()
		if f == nil {
			m.Block("**No failure of one %s takes anything.**", markdown.Prose(text.DomainNoun(l.TopologyKey, step.levels()[i])))
			continue
		}
		m.Block("**Failure of %s**: %s on %s, %s of the CPU", markdown.Prose(step.failed(i, f)),
			words.Count(f.Pods, "pod"), words.Count(len(f.Nodes), "node"), text.Percent(f.CPU))
		m.Items(t.consequences(l, f))
		var found []string
		others, note := folded(step.findings(i))
		for _, finding := range others {
			found = append(found, markdown.Prose(finding.Message))
		}
		if note != "" {
			found = append(found, note)
		}
		m.List("Of all failures of the level", found)
	}
	m.Block("</details>")
	return m.Text()
}

// consequences are the lines below a failure: what it takes, and what comes of it.
func (t *writer) consequences(l *Level, f *Failure) []string {
	lines := []string{"takes " + markdown.Prose(t.hit(f.severalReplicas()))}
	r := l.Recovery(f)
	if r == nil {
		return lines
	}
	lines = append(lines, fmt.Sprintf("%d recovered, %d stranded, %d not replaced", len(r.Recovered), len(r.Stranded), r.Unreplaced()))
	unreplaced := slices.DeleteFunc(slices.Clone(r.NotReplaced), func(p UnreplacedPod) bool { return p.Why == ofDaemonSet })
	for _, pods := range report.Group(unreplaced, func(p UnreplacedPod) string { return p.Why }) {
		lines = append(lines, fmt.Sprintf("%s not replaced: %s", words.Count(len(pods), "pod"), markdown.Prose(pods[0].Why)))
	}
	if waiting := len(slices.DeleteFunc(slices.Clone(r.Stranded), func(p report.StrandedPod) bool { return !p.Waiting })); waiting > 0 {
		lines = append(lines, fmt.Sprintf("%d of the stranded wait only until the lost pods have ended, which stay Terminating", waiting))
	}
	return append(lines, fmt.Sprintf("one more failure of the level takes up to %s of a workload of several replicas", text.Percent(r.AfterReplicated.Share)))
}
