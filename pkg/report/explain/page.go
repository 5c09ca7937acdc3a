package explain

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/words"
)

// Page returns the page of the report.
func (r *Report) Page() *page.Page {
	p := &page.Page{Head: r.Head, Question: r.question(), Verdict: r.answer(), Outcome: "open", Data: page.Data{Explain: r}}
	for _, e := range r.Pods {
		p.Pods = append(p.Pods, page.Pod{Namespace: e.Namespace, Name: e.Name, Step: e.Step, Node: e.Node, Message: e.Why()})
	}
	return p
}

// question is the title of the report.
func (r *Report) question() string {
	switch {
	case len(r.Pods) == 1 && r.Pods[0].Node == "":
		return "Why " + r.Pods[0].Name + " is Pending"
	case len(r.Pods) == 1:
		return "Why " + r.Pods[0].Name + " is on " + r.Pods[0].Node
	case len(r.Pods) == 0 && r.Binding != nil:
		return "Why " + r.Binding.Template + " has no pods"
	}
	return "Why pods are where they are"
}

// answer returns where the pods are, and what decided about the first of them.
func (r *Report) answer() string {
	switch {
	case len(r.Pods) > 0:
	case r.Binding != nil:
		return r.Binding.Template + " has no pods: " + r.Binding.Message
	case len(r.NotMade) > 0:
		return "The API server refuses " + r.NotMade[0].Qualified() + ": " + r.NotMade[0].Message
	case len(r.Gaps) > 0:
		return r.Gaps[0].Qualified() + ": " + r.Gaps[0].Says
	default:
		return words.Count(len(r.Preempted), "pod") + " was preempted"
	}
	first := &r.Pods[0]
	answer := fmt.Sprintf("%s is on %s", first.Name, first.Node)
	if first.Node == "" {
		answer = first.Name + " is Pending"
	}
	if n := len(r.Pods) + r.More; n > 1 {
		waiting := list.Count(r.Pods, func(e Explanation) bool { return e.Node == "" })
		switch {
		case waiting == 0 && r.More == 0:
			answer = fmt.Sprintf("%s have a node, %s", words.Count(n, "pod"), strings.Replace(answer, " is on ", " is the first: on ", 1))
		case waiting > 0 && r.More > 0: // some of these may be Pending, too
			answer = fmt.Sprintf("At least %d of %s are Pending; %s is the first", waiting, words.Count(n, "pod"), first.Name)
		case waiting > 0:
			answer = fmt.Sprintf("%d of %s Pending; %s is the first", waiting, words.Is(n, "pod"), first.Name)
		}
	}
	switch {
	case first.Verdict != "":
		return answer + ". " + first.Verdict
	case first.Node == "":
		return answer + ". " + doc.RefusalText(first.Why())
	}
	return answer + "."
}
