package report

import (
	"fmt"
	"slices"
	"strings"
)

// drainText renders a DrainReport as text: whether the drain ends, then node by node what is evicted and where it goes.
type drainText struct {
	page
	report     *DrainReport
	namespaced bool
}

func newDrainText(r *DrainReport, opts Options) *drainText {
	t := &drainText{page: newPage(opts), report: r}
	for _, node := range slices.Concat(r.Nodes, r.Order) {
		t.namespaced = t.namespaced ||
			slices.ContainsFunc(node.Evicted, func(p DrainedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(slices.Concat(node.Blocked, node.Refused), func(p BlockedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(node.Placed, func(p RecoveredPod) bool { return p.Namespace != "default" })
	}
	return t
}

func (t *drainText) everything() {
	r := t.report
	t.line(t.verdict())
	if !r.Ends && len(r.Nodes) > 1 {
		t.line(t.otherOrder())
	}
	t.space()
	t.table("", summaryOfNodes(r.Nodes)...)
	for i := range r.Nodes {
		t.node(&r.Nodes[i])
	}
	if len(r.Order) > 0 {
		t.space()
		t.linef(bold, "In the order %s:", orderOf(r.Order))
		t.space()
		t.table("", summaryOfNodes(r.Order)...)
	}
}

// verdict is the first line.
func (t *drainText) verdict() cell {
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
		return red.cellf("The drain does not end: %s. %s evicted.", t.some(stuck), is(evicted, "pod"))
	}
	line := fmt.Sprintf("The drain ends: %s evicted", is(evicted, "pod"))
	if pending > 0 {
		return yellow.cellf("%s, and %s Pending after it.", line, is(pending, "pod"))
	}
	return green.cellf("%s, and no pod is Pending after it.", line)
}

// otherOrder says whether another order ends.
func (t *drainText) otherOrder() cell {
	switch r := t.report; {
	case len(r.Order) > 0:
		return green.cellf("It ends in the order %s.", orderOf(r.Order))
	case !r.Searched:
		return plain.cellf("No order of the nodes changes that.")
	}
	return plain.cellf("No order in which it ends was found: at some point no remaining node can be drained.")
}

func orderOf(nodes []DrainedNode) string {
	var names []string
	for _, node := range nodes {
		names = append(names, "node/"+node.Node)
	}
	return strings.Join(names, ", ")
}

// summaryOfNodes is a row for each node below the titles.
func summaryOfNodes(nodes []DrainedNode) [][]cell {
	table := [][]cell{bold.row("NODE", "ENDS", "EVICTED", "BLOCKED", "REFUSED", "PLACED", "PENDING")}
	for _, node := range nodes {
		ends := green.cell("yes")
		if !node.Ends {
			ends = red.cell("no")
		}
		table = append(table, []cell{
			plain.cell(node.Node), ends, number(len(node.Evicted), plain), number(len(node.Blocked), red), number(len(node.Refused), red),
			number(len(node.Placed), plain), number(len(node.Pending), yellow),
		})
	}
	return table
}

// node tells of one node in the words of kubectl and of the API server.
func (t *drainText) node(node *DrainedNode) {
	t.space()
	if node.Ends {
		t.linef(bold, "node/%s drained", node.Node)
	} else {
		t.linef(bold, "node/%s: the drain does not end", node.Node)
	}
	for _, pod := range node.Blocked {
		t.linef(red, "  cannot evict %s: %s", t.pod(pod.Namespace, pod.Name), pod.Reason)
	}
	t.upTo(len(node.Evicted), "evicted pod", "evicted pods", func(i int) {
		pod := node.Evicted[i]
		t.linef(plain, "  evicted %s", t.pod(pod.Namespace, pod.Name))
	})
	for _, pod := range node.Refused {
		t.linef(red, "  error when evicting %s: %s", t.pod(pod.Namespace, pod.Name), pod.Reason)
	}
	t.upTo(len(node.Placed), "placed pod", "placed pods", func(i int) {
		pod := node.Placed[i]
		t.linef(green, "  placed %s on %s", t.pod(pod.Namespace, pod.Name), pod.Node)
	})
	t.upTo(len(node.Pending), "Pending pod", "Pending pods", func(i int) {
		pod := node.Pending[i]
		t.linef(yellow, "  Pending %s", t.pod(pod.Namespace, pod.Name))
		t.linef(plain, "    %s", refused(pod.Message))
	})
	t.replacements(node.Placed, node.Pending, t.pod)
	if node.Ends && len(node.Evicted) == 0 {
		t.linef(plain, "  no pod to evict")
	}
}

func (t *drainText) pod(namespace, name string) string {
	if t.namespaced {
		return "pod/" + name + " of " + namespace
	}
	return "pod/" + name
}
