package report

import (
	"cmp"
	"fmt"
	"strings"
)

// reportMarkdown is the verdict, what is not met, the steps, what is Pending and why, and details of each step.
func reportMarkdown(r *Report) []byte {
	m, t := &markdown{}, &runText{report: r}
	m.block("**%s**", r.verdict())
	m.about(r.Head)
	unmet := [][]cell{bold.row("STEP", "WANT", "GOT", "WHY", "WHERE")}
	pending := [][]cell{bold.row("STEP", "PODS", "KUBE-SCHEDULER SAYS")}
	for i := range r.Steps {
		s := t.stepText(i)
		for _, e := range failures(s.Expectations) {
			unmet = append(unmet, plain.row(s.Name, e.Want, e.Got, cmp.Or(e.Why, none), e.Source.text()))
		}
		for _, pods := range s.refusals() {
			pending = append(pending, plain.row(s.Name, s.waiting(pods), cmp.Or(pods[0].Message, silent)))
		}
	}
	if len(unmet) > 1 {
		m.block("### Not met")
		m.table(unmet, "expectation")
	}
	if len(r.Steps) > 0 {
		m.table(t.steps(), "step")
	}
	if len(pending) > 1 {
		m.block("### Pending")
		m.table(pending, "group")
	}
	m.details(len(r.Steps), "step", func(i int) string { return t.stepText(i).details() })
	return m.bytes()
}

// verdict is "2 of 8 steps: 3 pods Pending; 1 of 9 expectations not met". A pod that waits through several steps counts once.
func (r *Report) verdict() string {
	if len(r.Steps) == 0 {
		return "No steps"
	}
	type name struct{ namespace, name string }
	pending, notReady := map[name]bool{}, map[name]bool{}
	troubled, rollouts, total, failed := 0, 0, 0, 0
	for i := range r.Steps {
		s := &r.Steps[i]
		unmet := len(failures(s.Expectations))
		total, failed, rollouts = total+len(s.Expectations), failed+unmet, rollouts+len(s.Rollouts)
		if unmet > 0 || troubles(*s) != "" {
			troubled++
		}
		for _, pod := range s.Pods {
			switch {
			case pod.Node == "":
				pending[name{pod.Namespace, pod.Name}] = true
			case pod.Status == "NotReady":
				notReady[name{pod.Namespace, pod.Name}] = true
			}
		}
	}
	var parts []string
	if n := len(pending); n > 0 {
		parts = append(parts, count(n, "pod")+" Pending")
	}
	if n := len(notReady); n > 0 {
		parts = append(parts, count(n, "pod")+" not ready")
	}
	if rollouts > 0 {
		parts = append(parts, count(rollouts, "rollout")+" stuck")
	}
	line := count(len(r.Steps), "step") + ": every pod runs"
	if troubled > 0 {
		line = fmt.Sprintf("%d of %s: %s", troubled, count(len(r.Steps), "step"), cmp.Or(strings.Join(parts, ", "), "every pod runs"))
	}
	switch {
	case failed > 0:
		return fmt.Sprintf("%s; %d of %s not met", line, failed, count(total, "expectation"))
	case total > 0:
		return fmt.Sprintf("%s; %d of %s met", line, total, count(total, "expectation"))
	}
	return line
}

// details are how the step's workloads are distributed, and why.
func (s *stepText) details() string {
	m := &markdown{}
	m.block("%s", summary(s.Name, s.Action))
	table := [][]cell{bold.row("WORKLOAD", "LEVEL", "PODS", "SKEW")}
	for _, w := range rows(s.Workloads) {
		for _, key := range s.keys {
			if d := w.distribution(key); d != nil && d.used() {
				table = append(table, []cell{plain.cell(s.qualified(w.Namespace, w.title())), plain.cell(key), plain.cell(d.text(maxDomains)), number(d.Skew, plain)})
			}
		}
	}
	m.table(table, "distribution")
	var stuck, preempted []string
	for _, r := range s.Rollouts {
		stuck = append(stuck, fmt.Sprintf("%s: %d of %d updated, %d old, %d ready. %s", code(s.qualified(r.Namespace, strings.ToLower(r.Kind)+"/"+r.Name)),
			r.Updated, r.Desired, r.Old, r.Ready, prose(r.Waiting)))
	}
	for _, p := range s.Preempted {
		preempted = append(preempted, fmt.Sprintf("%s made room on %s for %s", code(s.short(p.Victim)), code(p.Node), code(s.short(p.For))))
	}
	m.list("Stuck", stuck)
	m.list("Preempted", preempted)
	m.list("Why", proses(s.Why))
	m.list("Notes", proses(s.Notes))
	m.block("</details>")
	return m.text()
}
