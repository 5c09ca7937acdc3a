package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes the report as text: the conclusion, each step, and the scenario.
type writer struct {
	doc.Doc
	report *Report
	wide   bool
	page   bool // the pods of a step are folded away
}

func (t *writer) fullText() {
	t.conclusion()
	if t.page {
		t.Space()
		t.Add(doc.Table{Rows: t.steps(), Noun: "step", Nouns: "steps"})
		t.notMet()
	}
	for i := range t.report.Steps {
		t.step(i)
	}
	t.Space()
	t.Header()
}

// step writes one step: troubles first, then the pods, or a table of their workloads if there are too many pods.
func (t *writer) step(i int) {
	s := t.newStepText(i)
	t.Section(doc.StepHeading(t.report.Skipped+i, max(t.report.All, len(t.report.Steps)), s.Name, s.Action))
	t.description(s.Description)
	if !t.page {
		t.Space()
	}

	t.federationTroubles(s)
	t.pending(s)
	t.notStarted(s)
	t.refused(s)
	t.preempted(s)
	t.rollouts(s)
	t.drains(s)
	t.autoscaling(s)
	t.decided(s)
	t.notCreated(s)
	listed := listsPods(s.Step, t.All)
	t.why(s, listed)
	t.cronJobs(i)
	t.Sentences("Notes:", s.Notes)
	t.expectations(s)
	t.Space()
	if t.page {
		t.Folded("Pods after step " + s.Name)
	}
	t.bindings(s)

	workloads := mergeBarePods(s.Workloads)
	switch {
	case len(s.Pods) == 0 && len(s.CronJobs) > 0: // cronJobs has written these
	case len(s.Pods) == 0:
		t.Linef(doc.Plain, "No pods.")
	case listed:
		t.pods(s)
		if t.wide {
			t.decisions(s)
		}
		t.Cycles(list.Map(s.Pods, func(pod Pod) doc.Explained {
			return doc.Explained{Name: "Pod " + s.qualify(pod.Namespace, pod.Name), Node: pod.Node, Decision: pod.Decision, Cycle: pod.Cycle}
		}))
	case len(t.report.Steps) > 1:
		t.Linef(doc.Plain, "%s.", s.Summary.text())
	}
	if !t.page {
		t.Space()
	}
	if len(workloads) > 1 || !listed {
		t.workloads(s, workloads, listed)
	} else if len(workloads) == 1 && len(s.Pods) > 0 {
		t.distributions(s, workloads[0])
	}
	if t.wide {
		t.statuses(s)
	}
}

// description writes what the scenario says about the step, a line for each paragraph and each item of a list.
func (t *writer) description(text string) {
	paragraph := ""
	end := func() {
		if paragraph != "" {
			t.Linef(doc.Plain, "%s", paragraph)
		}
		paragraph = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "- ") {
			end()
		}
		paragraph = strings.TrimSpace(paragraph + " " + line)
	}
	end()
}

// listsPods reports whether every pod of the step is listed.
func listsPods(s *Step, all bool) bool { return all || len(s.Pods) <= doc.MaxPods }

// maxWhy is how many sentences explain a step if not every pod is listed. maxWhyOfFederation takes its place beside a table of Karmada's
// decisions.
const maxWhy, maxWhyOfFederation = 4, 1

// why explains the decisions for each workload. If not every pod is listed, it leaves out workloads whose pods are all Pending: pending has
// written the whole reason.
func (t *writer) why(s *stepText, listed bool) {
	sentences := s.Why
	if !listed {
		sentences = list.Without(sentences, s.isOfPendingPods)
	}
	most := maxWhy
	if len(s.Bindings) > 0 {
		most = maxWhyOfFederation
	}
	if more := len(sentences) - most; more > 0 && !listed {
		sentences = append(slices.Clone(sentences[:most]), fmt.Sprintf("and %s%s.", words.Count(more, "more workload"), t.HowToList("them")))
	}
	t.Sentences("Why:", sentences)
}

// isOfPendingPods reports whether the sentence is about a workload whose pods of this step are all Pending.
func (s *stepText) isOfPendingPods(sentence string) bool {
	of, _, _ := strings.Cut(sentence, ": ")
	waits := false
	for _, pod := range s.Pods {
		switch {
		case pod.Owner().String() != of:
		case pod.Decision != nil:
			return false
		case pod.Node == "":
			waits = true
		}
	}
	return waits
}

// text returns "50 pods: 48 running, 2 pending; 50 placed in this step".
func (s Summary) text() string {
	line := fmt.Sprintf("%s: %d running, %d pending", words.Count(s.Pods, "pod"), s.Running, s.Pending)
	if s.NotReady > 0 {
		line += fmt.Sprintf(", %d not ready", s.NotReady)
	}
	if s.NotCreated > 0 {
		line += fmt.Sprintf(", and %d more refused", s.NotCreated)
	}
	if s.Terminating > 0 {
		line += fmt.Sprintf(", and %d more Terminating", s.Terminating)
	}
	line += fmt.Sprintf("; %d placed", s.Placed)
	if s.Preempted > 0 {
		line += fmt.Sprintf(" and %d preempted", s.Preempted)
	}
	return line + " in this step"
}

// expectations counts the met expectations, and writes the others.
func (t *writer) expectations(s *stepText) {
	if len(s.Expectations) == 0 {
		return
	}
	failed := expect.Unmet(s.Expectations)
	result := doc.Green.Cellf(" %d of %d met", len(s.Expectations)-len(failed), len(s.Expectations))
	if len(failed) > 0 {
		result.Style = doc.Red
	}
	t.Line(doc.Bold.Cell("Expectations:"), result)
	for _, e := range failed {
		t.Linef(doc.Red, "  FAILED  %s", e.String())
		if e.Why != "" {
			t.Linef(doc.Plain, "          why  %s", e.Why)
		}
	}
}

// notMet writes a table of the unmet expectations of all steps, with their lines in the files.
func (t *writer) notMet() {
	table := [][]doc.Cell{doc.Bold.Row("STEP", "WANT", "GOT", "WHY", "WHERE")}
	for _, s := range t.report.Steps {
		for _, e := range expect.Unmet(s.Expectations) {
			where := doc.None
			if e.Source != nil {
				where = fmt.Sprintf("%s:%d", e.Source.File, e.Source.Line)
			}
			table = append(table, doc.Plain.Row(s.Name, e.Want, e.Got, doc.OrNone(e.Why), where))
		}
	}
	if len(table) > 1 {
		t.Section("Not met")
		t.Add(doc.Table{Rows: table, Noun: "expectation", Nouns: "expectations"})
	}
}

// quietText writes one line per step, then why pods are Pending and which expectations failed.
func (t *writer) quietText() {
	if len(t.report.Steps) == 0 {
		t.Linef(doc.Plain, "No steps.")
		return
	}
	if answer := t.report.fullAnswer(); answer != "" {
		t.Linef(doc.Bold, "%s", answer)
		t.Space()
	}
	t.Table("", t.steps()...)
	t.Space()
	for i := range t.report.Steps {
		s := t.newStepText(i)
		for _, pods := range groupByReason(s.pendingPods()) {
			t.Linef(doc.Yellow, "%s: %s: %s", s.Name, t.nameGroup(s, pods), doc.RefusalText(pods[0].Why()))
		}
		for _, pods := range s.unattachedPods() {
			t.Linef(doc.Yellow, "%s: %s: %s", s.Name, t.nameGroup(s, pods), doc.RefusalText(pods[0].Waits))
		}
		for _, b := range list.GroupBy(s.notScheduled(), Binding.reasonText) {
			t.Linef(doc.Yellow, "%s: %s: %s", s.Name, t.ListNames(list.Map(b, s.bindingName)), b[0].reasonText())
		}
		for _, r := range list.GroupBy(s.Refused, Refused.Reason) {
			t.Linef(doc.Yellow, "%s: %s: %s", s.Name, t.ListNames(list.Map(r, s.nameRefused)), r[0].Reason())
		}
		for _, r := range s.Rollouts {
			t.Linef(doc.Yellow, "%s: rollout stuck: %s: %s", s.Name, s.qualify(r.Namespace, r.String()), r.Waiting)
		}
		for _, pods := range s.stayingPods() {
			t.Linef(doc.Yellow, "%s: drain does not end: %s: %s", s.Name, t.describeStaying(s, pods), pods[0].reason)
		}
		for _, e := range expect.Unmet(s.Expectations) {
			t.Linef(doc.Red, "%s: FAILED  %s", s.Name, e.String())
		}
	}
}

// steps returns a table with a row for each step.
func (t *writer) steps() [][]doc.Cell {
	var c doc.TableBuilder[Step]
	c.AddTextColumn("NAME", func(s Step) string { return doc.OrNone(s.Name) })
	c.AddNumberColumn("RUNNING", doc.Plain, func(s Step) int { return s.Summary.Running })
	c.AddNumberColumn("PENDING", doc.Yellow, func(s Step) int { return s.Summary.Pending })
	if slices.ContainsFunc(t.report.Steps, func(s Step) bool { return len(s.Refused) > 0 }) {
		c.AddNumberColumn("REFUSED", doc.Yellow, func(s Step) int { return s.Summary.NotCreated })
	}
	if slices.ContainsFunc(t.report.Steps, func(s Step) bool { return s.Summary.NotReady > 0 }) {
		c.AddNumberColumn("NOT READY", doc.Red, func(s Step) int { return s.Summary.NotReady })
	}
	c.AddColumn("EXPECTATIONS", func(s Step) doc.Cell {
		switch failed := len(expect.Unmet(s.Expectations)); {
		case len(s.Expectations) == 0:
			return doc.Plain.Cell(doc.None)
		case failed == 0:
			return doc.Green.Cell("ok")
		default:
			return doc.Red.Cellf("%d of %d failed", failed, len(s.Expectations))
		}
	})
	return c.Rows(t.report.Steps)
}
