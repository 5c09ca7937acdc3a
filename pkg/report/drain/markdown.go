package drain

import (
	"cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/markdown"
)

// markdownPage is whether the drain ends, the nodes, and details of each.
func markdownPage(r *Report) []byte {
	m, t := &markdown.Page{}, newWriter(r, report.Options{})
	m.Block("**%s**", markdown.Prose(t.verdict().Text))
	m.About(r.Head)
	if !r.Ends && len(r.Nodes) > 1 {
		m.Block("%s", markdown.Prose(t.otherOrder().Text))
	}
	m.Table(summaryOfNodes(r.Nodes), "node")
	m.Details(len(r.Nodes), "node", func(i int) string { return t.details(&r.Nodes[i]) })
	return m.Bytes()
}

// details are what comes of one node's pods, in the words of kubectl and of the API server.
func (t *writer) details(node *DrainedNode) string {
	m := &markdown.Page{}
	ends := "drained"
	if !node.Ends {
		ends = "the drain does not end"
	}
	m.Block("%s", markdown.Summary("node/"+node.Node, ends))
	lines := func(n int, line func(i int) string) []string {
		all := make([]string, n)
		for i := range n {
			all[i] = line(i)
		}
		return all
	}
	name := func(namespace, name string) string { return markdown.Code(t.pod(namespace, name)) }
	m.List("Cannot be evicted", lines(len(node.Blocked), func(i int) string {
		return name(node.Blocked[i].Namespace, node.Blocked[i].Name) + ": " + markdown.Prose(node.Blocked[i].Reason)
	}))
	m.List("Refused", lines(len(node.Refused), func(i int) string {
		return name(node.Refused[i].Namespace, node.Refused[i].Name) + ": " + markdown.Prose(node.Refused[i].Reason)
	}))
	m.List("Evicted", lines(len(node.Evicted), func(i int) string { return name(node.Evicted[i].Namespace, node.Evicted[i].Name) }))
	m.List("Placed", lines(len(node.Placed), func(i int) string {
		return name(node.Placed[i].Namespace, node.Placed[i].Name) + " on " + markdown.Code(node.Placed[i].Node)
	}))
	after, before := node.pending()
	waiting := func(pods []report.StrandedPod) []string {
		return lines(len(pods), func(i int) string {
			return name(pods[i].Namespace, pods[i].Name) + ": " + markdown.Prose(cmp.Or(pods[i].Why(), expect.NoMessage))
		})
	}
	m.List("Pending", waiting(after))
	m.List("Not created", lines(len(node.NotCreated), func(i int) string {
		return markdown.Code(t.lacking(node.NotCreated[i])) + ": " + markdown.Prose(node.NotCreated[i].Message)
	}))
	m.List("Pending before the drain, too", waiting(before))
	m.Block("</details>")
	return m.Text()
}
