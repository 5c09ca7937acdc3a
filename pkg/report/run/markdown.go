package run

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// markdownPage is the verdict, what is not met, the steps, what is Pending and why, and details of each step.
func markdownPage(r *Report) []byte {
	m, t := &markdown.Page{}, &writer{report: r}
	m.Block("**%s**", r.verdict())
	m.About(r.Head)
	unmet := [][]text.Cell{text.Bold.Row("STEP", "WANT", "GOT", "WHY", "WHERE")}
	refused := [][]text.Cell{text.Bold.Row("STEP", "PODS", "REASON")}
	unscheduled := [][]text.Cell{text.Bold.Row("STEP", "WORKLOAD", "KARMADA SAYS")}
	pending := [][]text.Cell{text.Bold.Row("STEP", "PODS", "KUBE-SCHEDULER SAYS")}
	unattached := [][]text.Cell{text.Bold.Row("STEP", "PODS", "WHY")}
	for i := range r.Steps {
		s := t.stepText(i)
		for _, e := range Unmet(s.Expectations) {
			unmet = append(unmet, text.Plain.Row(s.Name, e.Want, e.Got, cmp.Or(e.Why, text.None), place(e.Source)))
		}
		for _, b := range s.notScheduled() {
			unscheduled = append(unscheduled, text.Plain.Row(s.Name, s.binding(b), b.why()))
		}
		for _, pods := range s.refusals() {
			pending = append(pending, text.Plain.Row(s.Name, s.waiting(pods), cmp.Or(pods[0].Why(), expect.NoMessage)))
		}
		for _, pods := range s.unattached() {
			unattached = append(unattached, text.Plain.Row(s.Name, t.sharing(s, pods), pods[0].Waits))
		}
		for _, r := range s.Refused {
			refused = append(refused, text.Plain.Row(s.Name, s.subject(r), r.Message))
		}
	}
	if len(unmet) > 1 {
		m.Block("### Not met")
		m.Table(unmet, "expectation")
	}
	if len(r.Steps) > 0 {
		m.Table(t.steps(), "step")
	}
	if last := r.last(); last != nil && len(last.Bindings) > 0 {
		m.Block("### Karmada")
		m.Table(t.stepText(len(r.Steps)-1).bindingTable(last.Bindings, false), "workload")
	}
	if len(unscheduled) > 1 {
		m.Block("### Not scheduled by Karmada")
		m.Table(unscheduled, "workload")
	}
	if len(pending) > 1 {
		m.Block("### Pending")
		m.Table(pending, "group")
	}
	if len(unattached) > 1 {
		m.Block("### Not started")
		m.Table(unattached, "group")
	}
	if len(refused) > 1 {
		m.Block("### Refused")
		m.Table(refused, "refusal")
	}
	m.Details(len(r.Steps), "step", func(i int) string { return t.stepText(i).details() })
	return m.Bytes()
}

// last is the last step; nil if there is none.
func (r *Report) last() *Step {
	if len(r.Steps) == 0 {
		return nil
	}
	return &r.Steps[len(r.Steps)-1]
}

// verdict is "2 of 8 steps: 3 pods Pending; 1 of 9 expectations not met". A pod that waits through several steps counts once.
func (r *Report) verdict() string {
	if len(r.Steps) == 0 {
		return "No steps"
	}
	type name struct{ namespace, name string }
	pending, notReady := map[name]bool{}, map[name]bool{}
	troubled, refused, rollouts, unscheduled, overfull, total, failed := 0, 0, 0, 0, 0, 0, 0
	for i := range r.Steps {
		s := &r.Steps[i]
		unmet := len(Unmet(s.Expectations))
		total, failed, rollouts = total+len(s.Expectations), failed+unmet, rollouts+len(s.Rollouts)
		refused, unscheduled = max(refused, s.Summary.NotCreated), max(unscheduled, len(s.notScheduled()))
		overfull = max(overfull, s.overfull())
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
		parts = append(parts, words.Count(n, "pod")+" Pending")
	}
	if refused > 0 {
		parts = append(parts, words.Count(refused, "pod")+" refused")
	}
	if n := len(notReady); n > 0 {
		parts = append(parts, words.Count(n, "pod")+" not ready")
	}
	if rollouts > 0 {
		parts = append(parts, words.Count(rollouts, "rollout")+" stuck")
	}
	parts = append(parts, karmada(unscheduled, overfull)...)
	line := words.Count(len(r.Steps), "step") + ": every pod runs"
	if troubled > 0 {
		line = fmt.Sprintf("%d of %s: %s", troubled, words.Count(len(r.Steps), "step"), cmp.Or(strings.Join(parts, ", "), "every pod runs"))
	}
	switch {
	case failed > 0:
		return fmt.Sprintf("%s; %d of %s not met", line, failed, words.Count(total, "expectation"))
	case total > 0:
		return fmt.Sprintf("%s; %d of %s met", line, total, words.Count(total, "expectation"))
	}
	return line
}

// details are how the step's workloads are distributed, and why.
func (s *stepText) details() string {
	m := &markdown.Page{}
	m.Block("%s", markdown.Summary(s.Name, s.Action))
	table := [][]text.Cell{text.Bold.Row("WORKLOAD", "LEVEL", "PODS", "SKEW")}
	for _, w := range rows(s.Workloads) {
		for _, key := range s.keys {
			if d := w.Distribution(key); d != nil && d.used() {
				table = append(table, []text.Cell{text.Plain.Cell(s.qualified(w.Namespace, w.Title())), text.Plain.Cell(key), text.Plain.Cell(d.Text(text.MaxDomains)), text.Number(d.Skew, text.Plain)})
			}
		}
	}
	m.Table(table, "distribution")
	var stuck, preempted []string
	for _, r := range s.Rollouts {
		stuck = append(stuck, fmt.Sprintf("%s: %d of %d updated, %d old, %d ready. %s", markdown.Code(s.qualified(r.Namespace, strings.ToLower(r.Kind)+"/"+r.Name)),
			r.Updated, r.Desired, r.Old, r.Ready, markdown.Prose(r.Waiting)))
	}
	for _, p := range s.Preempted {
		preempted = append(preempted, fmt.Sprintf("%s made room on %s for %s", markdown.Code(s.short(p.Victim)), markdown.Code(p.Node), markdown.Code(s.short(p.For))))
	}
	m.List("Stuck", stuck)
	m.List("Preempted", preempted)
	m.List("Why", markdown.Proses(s.Why))
	m.List("Notes", markdown.Proses(s.Notes))
	m.Block("</details>")
	return m.Text()
}

// place is "file:line".
func place(s *report.Source) string {
	if s == nil {
		return text.None
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}
