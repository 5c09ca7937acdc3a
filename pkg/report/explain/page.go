package explain

import (
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/words"
)

// Page returns the page of the report.
func (r *Report) Page() *page.Page {
	p := &page.Page{Head: r.Head, Verdict: "Why " + r.question(), Outcome: "open", Data: page.Data{Explain: r}}
	for _, e := range r.Pods {
		p.Pods = append(p.Pods, page.Pod{Namespace: e.Namespace, Name: e.Name, Step: e.Step, Node: e.Node, Message: e.Why()})
	}
	return p
}

// question returns what the report explains: "web-0 is on worker-2".
func (r *Report) question() string {
	pods := r.Pods
	switch {
	case len(pods) == 0 && r.Binding != nil:
		return r.Binding.Template + " has no pods: " + r.Binding.Message
	case len(pods) != 1:
		return words.Count(len(pods), "pod") + " are where they are, or Pending"
	case pods[0].Node == "":
		return pods[0].Name + " is Pending"
	}
	return pods[0].Name + " is on " + pods[0].Node
}
