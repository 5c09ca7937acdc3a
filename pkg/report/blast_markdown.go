package report

import (
	"fmt"
	"slices"
	"strings"
)

// blastMarkdown is the verdict, quorums that are lost, the worst failure of each step and level, and details of those.
func blastMarkdown(r *BlastReport) []byte {
	m, t := &markdown{}, newBlastText(r, Options{}, false)
	m.block("**%s**", prose(r.verdict()))
	m.about(r.Head)
	var errors []string
	for _, f := range r.Findings() {
		if f.Level == Error {
			errors = append(errors, code(f.Step)+": "+prose(f.Message))
		}
	}
	m.list("Quorum lost", errors)
	if len(r.Steps) == 0 {
		return m.bytes()
	}
	m.block("%s:", prose(t.question()))
	m.table(t.worstFailures(), "row")
	m.details(len(r.Steps), "step", func(i int) string { return t.details(&r.Steps[i]) })
	return m.bytes()
}

// verdict is the largest radius of each level over all steps, and the most pods that a failure strands.
func (r *BlastReport) verdict() string {
	type level struct {
		name  string
		share float64
	}
	var levels []level
	stranded := 0
	for i := range r.Steps {
		names := r.Steps[i].levels()
		for j := range r.Steps[i].Levels {
			l := &r.Steps[i].Levels[j]
			name := "one " + domainNoun(l.TopologyKey, names[j])
			if r.Simultaneous > 1 {
				name = count(r.Simultaneous, domainNoun(l.TopologyKey, names[j])) + " together"
			}
			k := slices.IndexFunc(levels, func(other level) bool { return other.name == name })
			if k < 0 {
				k = len(levels)
				levels = append(levels, level{name: name})
			}
			levels[k].share = max(levels[k].share, l.Radius.Share)
			for n := range l.Failures {
				if recovery := l.recovery(&l.Failures[n]); recovery != nil {
					stranded = max(stranded, len(recovery.Stranded))
				}
			}
		}
	}
	if len(levels) == 0 {
		return "No failure was looked at"
	}
	var parts []string
	for i, l := range levels {
		part := fmt.Sprintf("of %s %s", l.name, percent(l.share))
		if i == 0 {
			part = fmt.Sprintf("Failure of %s takes up to %s of a workload", l.name, percent(l.share))
		}
		parts = append(parts, part)
	}
	line := strings.Join(parts, ", ")
	switch {
	case stranded > 0:
		line += fmt.Sprintf("; up to %s stranded", count(stranded, "pod"))
	case r.Recover:
		line += "; no pod stranded"
	}
	return line
}

// details are what the worst failure of each level takes, what comes of it, and what was found of any.
func (t *blastText) details(step *BlastStep) string {
	m := &markdown{}
	m.block("%s", summary(step.Name, step.Action))
	for i := range step.Levels {
		l := &step.Levels[i]
		f := l.worst()
		if f == nil {
			m.block("**No failure of one %s takes anything.**", prose(domainNoun(l.TopologyKey, step.levels()[i])))
			continue
		}
		m.block("**Failure of %s**: %s on %s, %s of the CPU", prose(step.failed(i, f)),
			count(f.Pods, "pod"), count(len(f.Nodes), "node"), percent(f.CPU))
		m.items(t.consequences(l, f))
		var found []string
		for _, finding := range step.findings(i) {
			found = append(found, prose(finding.Message))
		}
		m.list("Of all failures of the level", found)
	}
	m.block("</details>")
	return m.text()
}

// consequences are the lines below a failure: what it takes, and what comes of it.
func (t *blastText) consequences(l *BlastLevel, f *Failure) []string {
	hit := t.hit(f.Workloads, func(l Loss) string { return fmt.Sprintf(" %d/%d", l.Lost, l.Replicas) }, plain)
	lines := []string{"takes " + prose(hit.text)}
	r := l.recovery(f)
	if r == nil {
		return lines
	}
	lines = append(lines, fmt.Sprintf("%d recovered, %d stranded, %d not replaced", len(r.Recovered), len(r.Stranded), len(r.NotReplaced)))
	for _, pods := range grouped(r.NotReplaced, func(p UnreplacedPod) string { return p.Why }) {
		lines = append(lines, fmt.Sprintf("%s not replaced: %s", count(len(pods), "pod"), prose(pods[0].Why)))
	}
	if waiting := len(slices.DeleteFunc(slices.Clone(r.Stranded), func(p StrandedPod) bool { return !p.Waiting })); waiting > 0 {
		lines = append(lines, fmt.Sprintf("%d of the stranded wait only until the lost pods have ended, which stay Terminating", waiting))
	}
	return append(lines, fmt.Sprintf("one more failure of the level takes up to %s of a workload", percent(r.After.Share)))
}
