package run

import (
	"fmt"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/words"
)

// Page returns the page of the report. A caller can add the report on failures to its data.
func (r *Report) Page() *page.Page {
	p := &page.Page{Head: r.Head, Question: r.question(), Data: page.Data{Report: r, Labels: r.Labels}, Course: r.course()}
	p.Verdict, p.Outcome = pageVerdict(r.Steps)
	lead := r.Answer
	if n := len(r.Steps); lead == "" && n > 0 && r.Steps[n-1].Change != nil && (n == 1 || r.ScenarioName() == "") {
		lead = r.Steps[n-1].describeStuck() + r.Steps[n-1].Change.Text(doc.WithNodes(r.Steps[n-1].Autoscaling))
	}
	if lead != "" {
		p.Verdict = lead + ". " + p.Verdict
	}
	for _, step := range r.Steps {
		s := page.Step{Name: step.Name, Action: step.Action, Running: step.Summary.Running, Pending: step.Summary.Pending}
		for _, e := range step.Expectations {
			s.Expectations = append(s.Expectations, page.Expectation{Want: e.Want, Got: e.Got, Met: e.Met})
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

// pageVerdict says in one sentence whether the expectations were met and every pod runs. outcome is met, failed or open.
func pageVerdict(steps []Step) (sentence, outcome string) {
	if len(steps) == 0 {
		return "The scenario has no steps.", "open"
	}
	total, failed := countJudged(steps)
	switch {
	case total == 0:
		outcome = "open"
	case failed == 0:
		sentence, outcome = fmt.Sprintf("%d of %s met; ", total, words.Count(total, "expectation")), "met"
	default:
		sentence, outcome = fmt.Sprintf("%d of %s not met; ", failed, words.Count(total, "expectation")), "failed"
	}
	last := steps[len(steps)-1].Summary
	switch {
	case last.Pods == 0 && last.NotCreated == 0:
		sentence += "after the last step there are no pods"
	case last.Running == last.Pods && last.NotCreated == 0:
		sentence += "after the last step every pod runs (" + fmt.Sprint(last.Pods) + ")"
	default:
		sentence += fmt.Sprintf("after the last step %d of %s running, %d Pending", last.Running, words.Count(last.Pods, "pod"), last.Pending)
		if last.NotReady > 0 {
			sentence += fmt.Sprintf(", %d not ready", last.NotReady)
		}
		if last.NotCreated > 0 {
			sentence += fmt.Sprintf(", %d refused by the API server", last.NotCreated)
		}
	}
	for _, trouble := range steps[len(steps)-1].karmadaTroubles() {
		sentence += ", " + trouble
	}
	waiting := list.Count(steps[:len(steps)-1], func(step Step) bool { return step.Summary.Pending > 0 })
	if waiting > 0 {
		sentence += fmt.Sprintf("; pods stayed Pending in %s before it", words.Count(waiting, "step"))
	}
	return words.UpperFirst(sentence) + ".", outcome
}
