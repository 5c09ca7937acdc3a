package run

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// maxTroubles is the largest number of steps that the first line names.
const maxTroubles = 5

// conclusion writes how the run went: the steps in which not every pod runs, and the expectations that were not met.
func (t *writer) conclusion() {
	steps := t.report.Steps
	switch len(steps) {
	case 0:
		t.Line(doc.Bold.Cell("No steps."))
		return
	case 1:
		t.concludeStep(steps[0])
		t.verdict()
		return
	}
	style := doc.Bold
	if refused := steps[len(steps)-1].describeRefusedObjects(); refused != "" {
		t.Line(doc.Bold.Cell(refused))
		style = doc.Plain
	}
	if answer := t.report.fullAnswer(); answer != "" {
		t.Line(style.Cell(answer))
		style = doc.Plain
	}
	var parts []string
	clean, empty := 0, 0
	for _, s := range steps {
		trouble := stepTroubles(s)
		switch {
		case trouble != "":
			parts = append(parts, trouble+" in "+s.Name)
		case len(s.Pods) == 0:
			empty++
		default:
			clean++
		}
	}
	if more := len(parts) - maxTroubles; more > 0 && !t.All {
		parts = append(parts[:maxTroubles:maxTroubles], "and more in "+words.Count(more, "other step"))
	}
	if empty > 0 {
		parts = append([]string{fmt.Sprintf("%d without pods", empty)}, parts...)
	}
	switch {
	case clean == len(steps):
		parts = []string{"every pod running"}
	case clean > 0:
		parts = append([]string{fmt.Sprintf("%d with every pod running", clean)}, parts...)
	}
	t.Linef(style, "%s: %s%s", words.Count(len(steps), "step"), strings.Join(parts, ", "), t.report.describeResizing()+t.report.describeDecided())
	t.verdict()
}

// concludeStep writes how a run of one step went.
func (t *writer) concludeStep(s Step) {
	line, then := s.Summary.text()+t.report.describeResizing()+t.report.describeDecided(), ""
	if s.Change != nil {
		line, then = s.Change.Text(doc.WithNodes(s.Autoscaling)), line
	}
	line = s.describeStuck() + line
	if n := len(s.Drains); n > 0 {
		line = describeUnended(n) + "; " + line
	}
	for _, trouble := range s.karmadaTroubles() {
		line += "; " + trouble
	}
	if waiting := s.waitingCronJobs(); len(s.Pods) == 0 && len(waiting) > 0 {
		line = "Nothing runs now: " + words.Few(list.Map(waiting, cronjob.CronJob.DescribeRuns))
	}
	if refused := s.describeRefusedObjects(); refused != "" {
		t.Line(doc.Bold.Cell(refused))
		t.Linef(doc.Plain, "%s", line)
	} else {
		t.Line(doc.Bold.Cell(line))
	}
	if then != "" {
		t.Linef(doc.Plain, "%s", then)
	}
}

// describeStuck names the rollouts that do not end, with "; " after them; "" if all end.
func (s *Step) describeStuck() string {
	if len(s.Rollouts) == 0 {
		return ""
	}
	return words.Count(len(s.Rollouts), "rollout") + " stuck, of " + words.Few(list.Map(s.Rollouts, func(r controller.Rollout) string { return r.Ref.Qualified() })) + "; "
}

// stepTroubles lists what is wrong after the step, such as "2 pods pending and 1 rollout stuck"; "" if nothing is.
func stepTroubles(s Step) string {
	var parts []string
	if n := s.Summary.Pending; n > 0 {
		parts = append(parts, words.Count(n, "pod")+" pending")
	}
	if n := s.Summary.NotCreated; n > 0 {
		parts = append(parts, words.Count(n, "pod")+" refused")
	}
	if n := list.Count(s.Refused, Refused.OfObject); n > 0 {
		parts = append(parts, words.Count(n, "object")+" refused")
	}
	if n := s.Summary.NotReady; n > 0 {
		parts = append(parts, words.Count(n, "pod")+" not ready")
	}
	if n := s.Summary.Terminating; n > 0 {
		parts = append(parts, words.Count(n, "pod")+" Terminating on lost nodes")
	}
	if n := len(s.Rollouts); n > 0 {
		parts = append(parts, words.Count(n, "rollout")+" stuck")
	}
	if n := len(s.Drains); n > 0 {
		parts = append(parts, describeUnended(n))
	}
	return strings.Join(append(parts, s.karmadaTroubles()...), " and ")
}

func (t *writer) verdict() {
	total, failed := countJudged(t.report.Steps)
	switch {
	case total == 0:
		return
	case failed == 0:
		t.Linef(doc.Green, "Expectations: %d of %d met", total, total)
		return
	}
	t.Linef(doc.Red, "Expectations: %d of %d failed", failed, total)
	for _, s := range t.report.Steps {
		for _, e := range expect.Unmet(s.Expectations) {
			t.Linef(doc.Red, "  %s: %s", s.Name, e.String())
		}
	}
}

// fullAnswer returns the answer to the question of flags, after the rollouts that do not end; "" without such flags.
func (r *Report) fullAnswer() string {
	last := r.Last()
	switch {
	case r.Answer != "":
		return last.describeStuck() + r.Answer
	case r.ScenarioName() == "" && last.Change != nil:
		return last.describeStuck() + last.Change.Text(doc.WithNodes(last.Autoscaling))
	}
	return ""
}
