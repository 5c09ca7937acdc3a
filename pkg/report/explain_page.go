package report

// Page is the page of the report.
func (r *ExplainReport) Page() *Page {
	p := &Page{Head: r.Head, Verdict: "Why " + question(r.Pods), Outcome: "open", Data: PageData{Explain: r}}
	for _, e := range r.Pods {
		p.Pods = append(p.Pods, PagePod{Namespace: e.Namespace, Name: e.Name, Step: e.Step, Node: e.Node, Message: e.Message})
	}
	return p
}

// question is what an explanation answers: "web-0 is on worker-2".
func question(pods []Explanation) string {
	switch {
	case len(pods) != 1:
		return count(len(pods), "pod") + " are where they are, or Pending"
	case pods[0].Node == "":
		return pods[0].Name + " is Pending"
	}
	return pods[0].Name + " is on " + pods[0].Node
}
