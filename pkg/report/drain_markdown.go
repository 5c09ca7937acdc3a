package report

import (
	"cmp"
)

// drainMarkdown is whether the drain ends, the nodes, and details of each.
func drainMarkdown(r *DrainReport) []byte {
	m, t := &markdown{}, newDrainText(r, Options{})
	m.block("**%s**", prose(t.verdict().text))
	m.about(r.Head)
	if !r.Ends && len(r.Nodes) > 1 {
		m.block("%s", prose(t.otherOrder().text))
	}
	m.table(summaryOfNodes(r.Nodes), "node")
	m.details(len(r.Nodes), "node", func(i int) string { return t.details(&r.Nodes[i]) })
	return m.bytes()
}

// details are what comes of one node's pods, in the words of kubectl and of the API server.
func (t *drainText) details(node *DrainedNode) string {
	m := &markdown{}
	ends := "drained"
	if !node.Ends {
		ends = "the drain does not end"
	}
	m.block("%s", summary("node/"+node.Node, ends))
	lines := func(n int, line func(i int) string) []string {
		all := make([]string, n)
		for i := range n {
			all[i] = line(i)
		}
		return all
	}
	name := func(namespace, name string) string { return code(t.pod(namespace, name)) }
	m.list("Cannot be evicted", lines(len(node.Blocked), func(i int) string {
		return name(node.Blocked[i].Namespace, node.Blocked[i].Name) + ": " + prose(node.Blocked[i].Reason)
	}))
	m.list("Refused", lines(len(node.Refused), func(i int) string {
		return name(node.Refused[i].Namespace, node.Refused[i].Name) + ": " + prose(node.Refused[i].Reason)
	}))
	m.list("Evicted", lines(len(node.Evicted), func(i int) string { return name(node.Evicted[i].Namespace, node.Evicted[i].Name) }))
	m.list("Placed", lines(len(node.Placed), func(i int) string {
		return name(node.Placed[i].Namespace, node.Placed[i].Name) + " on " + code(node.Placed[i].Node)
	}))
	m.list("Pending", lines(len(node.Pending), func(i int) string {
		return name(node.Pending[i].Namespace, node.Pending[i].Name) + ": " + prose(cmp.Or(node.Pending[i].Message, silent))
	}))
	m.block("</details>")
	return m.text()
}
