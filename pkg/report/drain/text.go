package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// writer writes the report as text: whether the drain ends and what blocks it, then which pods are evicted and where they go.
type writer struct {
	doc.Doc
	report     *Report
	namespaced bool
}

func newWriter(r *Report, opts report.Options) *writer {
	t := &writer{Doc: doc.New(r.Head, opts), report: r}
	for _, node := range slices.Concat(r.Nodes, r.Order) {
		t.namespaced = t.namespaced ||
			slices.ContainsFunc(node.Evicted, func(p cluster.PodRef) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(slices.Concat(node.Blocked, node.Refused), func(p world.BlockedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(node.Placed, func(p placement.RecoveredPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(node.NotCreated, func(r cluster.Refusal) bool { return r.Namespace != "default" })
	}
	return t
}

func (t *writer) fullText() {
	r := t.report
	t.Line(t.verdict())
	if !r.Ends && len(r.Nodes) > 1 {
		t.Line(t.otherOrder())
	}
	t.attention()
	t.fixes()
	t.Space()
	t.Table("", nodeTable(r.Nodes)...)
	t.Space()
	t.workloads()
	for i := range r.Nodes {
		node := &r.Nodes[i]
		if t.All {
			t.node(node)
		}
		after, before := splitPending(node)
		t.ReplacementCycles(node.Placed, slices.Concat(after, before), t.podName)
	}
	if len(r.Order) > 0 {
		t.Space()
		t.Linef(doc.Bold, "In the order %s:", orderText(r.Order))
		t.Space()
		t.Table("", nodeTable(r.Order)...)
	}
	t.Header()
}

// verdict returns the first line.
func (t *writer) verdict() doc.Cell {
	var stuck []string
	var pending []placement.StrandedPod
	evicted, refused, placed := 0, 0, 0
	for _, node := range t.report.Nodes {
		evicted += len(node.Evicted)
		placed += len(node.Placed)
		pending, _ = splitPending(&node)
		refused = countNotCreated(&node)
		if !node.Ends {
			stuck = append(stuck, "node/"+node.Node)
		}
	}
	are, none := words.Is(evicted, "pod"), "no pod"
	if in := t.report.Namespace; in != "" {
		are, none = fmt.Sprintf("%s of namespace %s %s", words.Count(evicted, "pod"), in, words.Pick(evicted, "is", "are")), "none"
	}
	if len(stuck) > 0 {
		return doc.Red.Cellf("The drain does not end%s: %s. %s evicted.", t.withNodes(), t.ListNames(stuck), are)
	}
	line := fmt.Sprintf("The drain ends%s: %s evicted", t.withNodes(), are)
	switch {
	case len(pending) > 0 && refused > 0:
		return doc.Yellow.Cellf("%s, and because of it %s Pending and %s not created.", line, words.Is(len(pending), "pod"), words.Is(refused, "pod"))
	case refused > 0:
		return doc.Yellow.Cellf("%s, and %s not created because of it.", line, words.Is(refused, "pod"))
	case len(pending) > 0:
		return doc.Yellow.Cellf("%s, and %s Pending because of it.", line, words.Is(len(pending), "pod"))
	case evicted == 0 || len(t.report.Nodes) > 1 || t.report.Namespace != "": // a pod may be evicted from several nodes in turn
	case evicted == 1 && placed == 0:
		return doc.Red.Cellf("%s, and it does not come back.", line)
	case placed < evicted:
		return doc.Red.Cellf("%s, and %d of them %s not come back.", line, evicted-placed, words.Pick(evicted-placed, "does", "do"))
	default:
		return doc.Green.Cellf("%s, and %s again.", line, words.Pick(evicted, "it has a node", "all of them have a node"))
	}
	return doc.Green.Cellf("%s, and %s is Pending because of it.", line, none)
}

// withNodes returns " with 1 more node (general from 3 to 4 nodes)" or " with 1 more node of karpenter (m5.large, zone-1, spot)"; "" if neither the
// autoscaler nor a decider adds or removes one.
func (t *writer) withNodes() string {
	with := doc.WithNodes(t.report.Autoscaling)
	for i := range t.report.Decided {
		with += t.report.Decided[i].DescribeNodes()
	}
	return with
}

// attention writes what blocks the drain, in the words of kubectl and the API server, and which pods have no node after it.
func (t *writer) attention() {
	var pending, before []placement.StrandedPod
	var refused []cluster.Refusal
	var work []cluster.PodRef
	for i := range t.report.Nodes {
		node := &t.report.Nodes[i]
		work = append(work, node.LostWork...)
		t.writeBlocked(node, "cannot evict", node.Blocked)
		t.writeBlocked(node, "error when evicting", node.Refused)
		pending, before = splitPending(node)
		refused = node.NotCreated
	}
	if len(work) > 0 {
		t.Linef(doc.Yellow, "Lost work: %s: %s once, for a controller that is not part of the input", t.namePods(work), words.Pick(len(work), "it runs", "they run"))
	}
	reasons := list.GroupBy(refused, cluster.Refusal.Reason)
	t.UpTo(len(reasons), "reason", "reasons", func(i int) {
		t.Linef(doc.Yellow, "Not created: %s", t.ListNames(list.Map(reasons[i], t.lackingText)))
		message := reasons[i][0].Message
		if len(reasons[i]) > 1 {
			message = reasons[i][0].Reason()
		}
		t.Linef(doc.Plain, "  %s", message)
	})
	groups := list.GroupBy(pending, placement.StrandedPod.Why)
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		t.Linef(doc.Yellow, "Pending: %s", t.namePods(list.Map(groups[i], podRef)))
		first := groups[i][0]
		for _, line := range doc.WaitLines(first.Message, first.Reason, first.Untried) {
			t.Linef(doc.Plain, "  %s", line)
		}
		for _, line := range doc.CauseLines(t.report.causesOf(groups[i])) {
			t.Linef(doc.Plain, "  %s", line)
		}
	})
	if len(before) > 0 {
		t.Linef(doc.Plain, "Pending as before the drain: %s", t.namePods(list.Map(before, podRef)))
	}
}

// causesOf returns why the first of the pods that the report explains has no node.
func (r *Report) causesOf(pods []placement.StrandedPod) []cause.Cause {
	for _, pod := range pods {
		for _, why := range r.Causes {
			if why.Pod == pod.Namespace+"/"+pod.Name {
				return why.Causes
			}
		}
	}
	return nil
}

// fixes writes the changes with which the drain ends.
func (t *writer) fixes() {
	r := t.report
	if len(r.Fixes)+len(r.Tried) == 0 {
		return
	}
	t.Line(doc.Bold.Cell("Changes that help"), doc.Plain.Cell(", each made in the cluster as it is, and the drain tried again:"))
	if len(r.Fixes) == 0 {
		t.Linef(doc.Plain, "  none of those tried")
	}
	var rows [][]doc.Cell
	for _, fix := range r.Fixes {
		rows = append(rows, doc.Plain.Row(fix.Change, words.Is(fix.Pending, "pod")+" Pending because of it", strings.Join(fix.Price, "; ")))
	}
	t.Table("  ", rows...)
	for i, fix := range r.Fixes {
		commands := words.Pick(len(fix.Commands), "command", "commands")
		switch {
		case len(fix.Commands) == 0:
		case t.All:
			t.Linef(doc.Plain, "  As %s, %s: %s", commands, fix.Change, strings.Join(fix.Commands, "; "))
		case i == 0:
			t.Linef(doc.Plain, "  The first as %s: %s", words.Pick(len(fix.Commands), "a command", commands), strings.Join(fix.Commands, "; "))
		}
	}
	if len(r.Tried) > 0 {
		t.Linef(doc.Plain, "  Tried without success: %s", t.NameFew(r.Tried, len(r.Tried)))
	}
}

// writeBlocked writes which pods stay on the node, grouped by reason.
func (t *writer) writeBlocked(node *world.DrainedNode, what string, pods []world.BlockedPod) {
	groups := list.GroupBy(pods, func(p world.BlockedPod) string { return p.Reason })
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		pods := list.Map(groups[i], func(p world.BlockedPod) cluster.PodRef { return p.PodRef })
		t.Linef(doc.Red, "node/%s: %s %s: %s", node.Node, what, t.namePods(pods), groups[i][0].Reason)
	})
}

func podRef(p placement.StrandedPod) cluster.PodRef { return p.PodRef }

// namePods names a few pods, or counts more of them by workload.
func (t *writer) namePods(pods []cluster.PodRef) string {
	if len(pods) <= maxNamed || t.All {
		return strings.Join(list.Map(pods, func(p cluster.PodRef) string { return t.podName(p.Namespace, p.Name) }), ", ")
	}
	groups := list.GroupBy(pods, cluster.PodRef.Owner)
	return fmt.Sprintf("%s (%s)", words.Count(len(pods), "pod"), t.ListNames(list.Map(groups, func(group []cluster.PodRef) string {
		return fmt.Sprintf("%d of %s", len(group), t.ownerName(group[0].Owner()))
	})))
}

// lackingText returns "2 pods of deployment/web".
func (t *writer) lackingText(r cluster.Refusal) string {
	return fmt.Sprintf("%s of %s", words.Count(r.Pods, "pod"), t.ownerName(r.Ref))
}

// maxNamed is the largest number of pods that a line names, and of nodes that a cell names.
const maxNamed = 3

func (t *writer) ownerName(of cluster.Ref) string {
	if t.namespaced {
		return of.Namespace + "/" + of.String()
	}
	return of.String()
}

// workloads writes a table of the evicted pods by workload, and where their replacements go. Workloads with pods that have no node come
// first, then those with most evicted pods.
func (t *writer) workloads() {
	type row struct {
		name                              string
		evicted, placed, pending, refused int
		on                                []string
	}
	var rows []*row
	known := map[cluster.Ref]*row{}
	at := func(of cluster.Ref) *row {
		of.Kind = strings.ToLower(of.Kind)
		r := known[of]
		if r == nil {
			r = &row{name: t.ownerName(of)}
			known[of] = r
			rows = append(rows, r)
		}
		return r
	}
	var pending []placement.StrandedPod
	var refused []cluster.Refusal
	for i := range t.report.Nodes {
		node := &t.report.Nodes[i]
		for _, pod := range node.Evicted {
			at(pod.Owner()).evicted++
		}
		for _, pod := range node.Placed {
			r := at(pod.Owner())
			r.placed++
			if !slices.Contains(r.on, pod.Node) {
				r.on = append(r.on, pod.Node)
			}
		}
		pending, _ = splitPending(node)
		refused = node.NotCreated
	}
	for _, pod := range pending {
		at(pod.Owner()).pending++
	}
	for _, r := range refused {
		at(r.Ref).refused += r.Pods
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.pending+b.refused, a.pending+a.refused), cmp.Compare(b.evicted, a.evicted))
	})
	var c doc.TableBuilder[*row]
	c.AddTextColumn("WORKLOAD", func(r *row) string { return r.name })
	c.AddNumberColumn("EVICTED", doc.Plain, func(r *row) int { return r.evicted })
	c.AddNumberColumn("PLACED", doc.Plain, func(r *row) int { return r.placed })
	c.AddNumberColumn("PENDING", doc.Yellow, func(r *row) int { return r.pending })
	if len(refused) > 0 {
		c.AddNumberColumn("NOT CREATED", doc.Yellow, func(r *row) int { return r.refused })
	}
	c.AddTextColumn("ON", func(r *row) string {
		on := r.on
		if more := len(on) - maxNamed; more > 0 && !t.All {
			on = append(on[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
		}
		return doc.OrNone(strings.Join(on, ", "))
	})
	shown := rows
	if !t.All {
		shown = rows[:min(len(rows), doc.MaxDetails)]
	}
	t.Table("", c.Rows(shown)...)
	if more := len(rows) - doc.MaxDetails; more > 0 && !t.All {
		t.More(more, "workload", "workloads")
	}
}

// otherOrder says whether the drain ends in another order.
func (t *writer) otherOrder() doc.Cell {
	switch r := t.report; {
	case len(r.Order) > 0:
		return doc.Green.Cellf("It ends in the order %s.", orderText(r.Order))
	case !r.Searched:
		return doc.Plain.Cellf("No order of the nodes changes that.")
	}
	return doc.Plain.Cellf("No order in which it ends was found: at some point no remaining node can be drained.")
}

func orderText(nodes []world.DrainedNode) string {
	names := list.Map(nodes, func(node world.DrainedNode) string { return "node/" + node.Node })
	return strings.Join(names, ", ")
}

// nodeTable returns the titles, and a row for each node.
func nodeTable(nodes []world.DrainedNode) [][]doc.Cell {
	var c doc.TableBuilder[world.DrainedNode]
	c.AddTextColumn("NODE", func(n world.DrainedNode) string { return n.Node })
	c.AddColumn("ENDS", func(n world.DrainedNode) doc.Cell {
		if n.Ends {
			return doc.Green.Cell("yes")
		}
		return doc.Red.Cell("no")
	})
	c.AddNumberColumn("EVICTED", doc.Plain, func(n world.DrainedNode) int { return len(n.Evicted) })
	c.AddNumberColumn("BLOCKED", doc.Red, func(n world.DrainedNode) int { return len(n.Blocked) })
	c.AddNumberColumn("REFUSED", doc.Red, func(n world.DrainedNode) int { return len(n.Refused) })
	c.AddNumberColumn("PLACED", doc.Plain, func(n world.DrainedNode) int { return len(n.Placed) })
	c.AddNumberColumn("PENDING", doc.Yellow, func(n world.DrainedNode) int { pending, _ := splitPending(&n); return len(pending) })
	if slices.ContainsFunc(nodes, func(n world.DrainedNode) bool { return len(n.NotCreated) > 0 }) {
		c.AddNumberColumn("NOT CREATED", doc.Yellow, func(n world.DrainedNode) int { return countNotCreated(&n) })
	}
	if slices.ContainsFunc(nodes, func(n world.DrainedNode) bool { return len(n.LostWork) > 0 }) {
		c.AddNumberColumn("LOST WORK", doc.Yellow, func(n world.DrainedNode) int { return len(n.LostWork) })
	}
	return c.Rows(nodes)
}

// node lists the pods of one node.
func (t *writer) node(node *world.DrainedNode) {
	t.Space()
	if node.Ends {
		t.Linef(doc.Bold, "node/%s drained", node.Node)
	} else {
		t.Linef(doc.Bold, "node/%s: the drain does not end", node.Node)
	}
	for _, pod := range node.Evicted {
		t.Linef(doc.Plain, "  evicted %s", t.podName(pod.Namespace, pod.Name))
	}
	for _, pod := range node.Placed {
		t.Linef(doc.Green, "  placed %s on %s", t.podName(pod.Namespace, pod.Name), pod.Node)
	}
	for _, pod := range node.Pending {
		since := ""
		if pod.Before {
			since = ", as before the drain"
		}
		t.Linef(doc.Yellow, "  Pending %s%s", t.podName(pod.Namespace, pod.Name), since)
		for _, line := range doc.WaitLines(pod.Message, pod.Reason, pod.Untried) {
			t.Linef(doc.Plain, "    %s", line)
		}
	}
	for _, r := range node.NotCreated {
		t.Linef(doc.Yellow, "  not created %s", t.lackingText(r))
		t.Linef(doc.Plain, "    %s", r.Message)
	}
	if node.Ends && len(node.Evicted) == 0 {
		t.Linef(doc.Plain, "  no pod to evict")
	}
}

func (t *writer) podName(namespace, name string) string {
	if t.namespaced {
		return "pod/" + name + " of " + namespace
	}
	return "pod/" + name
}
