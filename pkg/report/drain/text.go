package drain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// writer renders a report as text: whether the drain ends, then node by node what is evicted and where it goes.
type writer struct {
	text.Page
	report     *Report
	namespaced bool
}

func newWriter(r *Report, opts report.Options) *writer {
	t := &writer{Page: text.NewPage(opts), report: r}
	for _, node := range slices.Concat(r.Nodes, r.Order) {
		t.namespaced = t.namespaced ||
			slices.ContainsFunc(node.Evicted, func(p DrainedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(slices.Concat(node.Blocked, node.Refused), func(p BlockedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(node.Placed, func(p report.RecoveredPod) bool { return p.Namespace != "default" })
	}
	return t
}

func (t *writer) everything() {
	r := t.report
	t.Line(t.verdict())
	if !r.Ends && len(r.Nodes) > 1 {
		t.Line(t.otherOrder())
	}
	t.Space()
	t.Table("", summaryOfNodes(r.Nodes)...)
	for i := range r.Nodes {
		t.node(&r.Nodes[i])
	}
	if len(r.Order) > 0 {
		t.Space()
		t.Linef(text.Bold, "In the order %s:", orderOf(r.Order))
		t.Space()
		t.Table("", summaryOfNodes(r.Order)...)
	}
}

// verdict is the first line.
func (t *writer) verdict() text.Cell {
	var stuck []string
	evicted, pending := 0, 0
	for _, node := range t.report.Nodes {
		evicted += len(node.Evicted)
		pending = len(node.Pending)
		if !node.Ends {
			stuck = append(stuck, "node/"+node.Node)
		}
	}
	if len(stuck) > 0 {
		return text.Red.Cellf("The drain does not end: %s. %s evicted.", t.Some(stuck), words.Is(evicted, "pod"))
	}
	line := fmt.Sprintf("The drain ends: %s evicted", words.Is(evicted, "pod"))
	if pending > 0 {
		return text.Yellow.Cellf("%s, and %s Pending after it.", line, words.Is(pending, "pod"))
	}
	return text.Green.Cellf("%s, and no pod is Pending after it.", line)
}

// otherOrder says whether another order ends.
func (t *writer) otherOrder() text.Cell {
	switch r := t.report; {
	case len(r.Order) > 0:
		return text.Green.Cellf("It ends in the order %s.", orderOf(r.Order))
	case !r.Searched:
		return text.Plain.Cellf("No order of the nodes changes that.")
	}
	return text.Plain.Cellf("No order in which it ends was found: at some point no remaining node can be drained.")
}

func orderOf(nodes []DrainedNode) string {
	var names []string
	for _, node := range nodes {
		names = append(names, "node/"+node.Node)
	}
	return strings.Join(names, ", ")
}

// summaryOfNodes is a row for each node below the titles.
func summaryOfNodes(nodes []DrainedNode) [][]text.Cell {
	table := [][]text.Cell{text.Bold.Row("NODE", "ENDS", "EVICTED", "BLOCKED", "REFUSED", "PLACED", "PENDING")}
	for _, node := range nodes {
		ends := text.Green.Cell("yes")
		if !node.Ends {
			ends = text.Red.Cell("no")
		}
		table = append(table, []text.Cell{
			text.Plain.Cell(node.Node), ends, text.Number(len(node.Evicted), text.Plain), text.Number(len(node.Blocked), text.Red), text.Number(len(node.Refused), text.Red),
			text.Number(len(node.Placed), text.Plain), text.Number(len(node.Pending), text.Yellow),
		})
	}
	return table
}

// node shows one node in the words of kubectl and of the API server.
func (t *writer) node(node *DrainedNode) {
	t.Space()
	if node.Ends {
		t.Linef(text.Bold, "node/%s drained", node.Node)
	} else {
		t.Linef(text.Bold, "node/%s: the drain does not end", node.Node)
	}
	for _, pod := range node.Blocked {
		t.Linef(text.Red, "  cannot evict %s: %s", t.pod(pod.Namespace, pod.Name), pod.Reason)
	}
	t.UpTo(len(node.Evicted), "evicted pod", "evicted pods", func(i int) {
		pod := node.Evicted[i]
		t.Linef(text.Plain, "  evicted %s", t.pod(pod.Namespace, pod.Name))
	})
	for _, pod := range node.Refused {
		t.Linef(text.Red, "  error when evicting %s: %s", t.pod(pod.Namespace, pod.Name), pod.Reason)
	}
	t.UpTo(len(node.Placed), "placed pod", "placed pods", func(i int) {
		pod := node.Placed[i]
		t.Linef(text.Green, "  placed %s on %s", t.pod(pod.Namespace, pod.Name), pod.Node)
	})
	t.UpTo(len(node.Pending), "Pending pod", "Pending pods", func(i int) {
		pod := node.Pending[i]
		t.Linef(text.Yellow, "  Pending %s", t.pod(pod.Namespace, pod.Name))
		t.Linef(text.Plain, "    %s", text.Refused(pod.Message))
	})
	t.Replacements(node.Placed, node.Pending, t.pod)
	if node.Ends && len(node.Evicted) == 0 {
		t.Linef(text.Plain, "  no pod to evict")
	}
}

func (t *writer) pod(namespace, name string) string {
	if t.namespaced {
		return "pod/" + name + " of " + namespace
	}
	return "pod/" + name
}
