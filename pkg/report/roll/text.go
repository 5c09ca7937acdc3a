package roll

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Formats are the formats of the report. Quiet prints only the answer, and All lists every turn.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, Course: course}.Formats()

// document says whether the roll ends, what stops it and which pods wait, then lists the turns. For a comparison it is a table of the ways.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	if len(r.Rolls) == 1 {
		t := &writer{Doc: &d, a: &r.Rolls[0]}
		t.fullText()
	} else {
		d.Line(r.compareWays())
		d.Space()
		d.Table("", r.sideBySide()...)
	}
	d.Header()
	return &d
}

// writer writes one answer.
type writer struct {
	*doc.Doc
	a *roll.Answer
}

func (t *writer) fullText() {
	a := t.a
	t.Line(verdict(a))
	t.plan()
	t.blockingPods()
	pending := list.GroupBy(a.Pending, placement.StrandedPod.Why)
	t.UpTo(len(pending), "reason", "reasons", func(i int) {
		t.Linef(doc.Yellow, "Pending at the end: %s", t.ListNames(list.Map(pending[i], func(p placement.StrandedPod) string { return podName(p.Namespace, p.Name) })))
		for _, line := range doc.WaitLines(pending[i][0].Message, pending[i][0].Reason, pending[i][0].Untried) {
			t.Linef(doc.Plain, "  %s", line)
		}
	})
	if a.StillPending > 0 {
		t.Linef(doc.Plain, "%s Pending as before.", words.Is(a.StillPending, "pod"))
	}
	if a.NotReplaced > 0 {
		t.Linef(doc.Yellow, "%s in whose place no other is created.", words.Count(a.NotReplaced, "pod"))
	}
	t.worstMoment()
	t.nodesLeft()
	t.UpTo(len(a.Delays), "budget", "budgets", func(i int) {
		d := a.Delays[i]
		longest := words.Pick(d.Pods, " waits for its eviction, for ", " wait for their eviction, the longest for ")
		t.Linef(doc.Plain, "Budget %s: %s%s.", d.Budget, words.Count(d.Pods, "pod")+longest, spanText(d.Seconds))
	})
	t.UpTo(len(a.Waited), "Pending pod", "Pending pods", func(i int) {
		w := a.Waited[i]
		t.Linef(doc.Plain, "Pending for %s: %s, from turn %d", spanText(w.Seconds), podName(w.Namespace, w.Name), w.Turn)
	})
	t.Space()
	t.levels()
	t.Space()
	t.turns()
}

// nodesLeft writes how many nodes more or fewer the autoscaler leaves. Without it, a roll replaces each node by one.
func (t *writer) nodesLeft() {
	n := len(t.a.Turns)
	if n == 0 || len(t.a.Blocked) > 0 {
		return
	}
	before, after := t.a.Start.Total, t.a.Turns[n-1].Total
	switch {
	case after > before:
		t.Linef(doc.Yellow, "The Cluster Autoscaler leaves %s, %d in place of %d.", words.Count(after-before, "more node"), after, before)
	case after < before:
		t.Linef(doc.Plain, "The Cluster Autoscaler leaves %s, %d in place of %d.", words.Count(before-after, "fewer node"), after, before)
	}
}

// verdict returns the first line.
func verdict(a *roll.Answer) doc.Cell {
	after, even := planText(a.Plan), ""
	if after != "" {
		even = "even " + after
	}
	if n := len(a.Blocked); n > 0 && a.KeepsGoing {
		return doc.Red.Cellf("No: %s%d of %s of %s %s replaced, and the drains of %d do not end: %s.", even, a.Replaced, words.Count(a.Nodes, "node"), a.Pool, words.Pick(a.Replaced, "is", "are"), n, blocksText(a.Blocked))
	} else if n > 0 {
		return doc.Red.Cellf("No: %sthe roll of %s stops at node %d of %d: %s.", even, a.Pool, a.Blocked[0].Number, a.Nodes, blockText(&a.Blocked[0]))
	}
	style, begin := doc.Green, "Yes: "
	if n := len(a.Pending); n > 0 {
		style, begin = doc.Red, fmt.Sprintf("No: %s; ", lostText(a))
	}
	begin += after
	all := fmt.Sprintf("all %s of %s are", words.Count(a.Nodes, "node"), a.Pool)
	if a.Nodes == 1 {
		all = "the one node of " + a.Pool + " is"
	}
	return style.Cellf("%s%s replaced in %s (%s); %s; %s.", begin, all, words.Count(len(a.Turns), "turn"), spanText(a.Seconds), movesText(a), waitsText(a))
}

// planText returns "after 1 node is removed and 12 budgets are patched, ", or "" if the plan does neither.
func planText(p *roll.Plan) string {
	if p == nil {
		return ""
	}
	var parts []string
	if n := len(p.Remove); n > 0 {
		parts = append(parts, words.Is(n, "node")+" removed")
	}
	if n := len(p.Patches); n > 0 {
		parts = append(parts, words.Is(n, "budget")+" patched")
	}
	if parts == nil {
		return ""
	}
	return "after " + words.And(parts) + ", "
}

// plan lists the commands of the plan, in order.
func (t *writer) plan() {
	p := t.a.Plan
	switch {
	case p == nil:
		return
	case len(p.Remove)+len(p.Patches) == 0:
		t.Linef(doc.Plain, "Nothing has to be done first.")
		return
	}
	t.Linef(doc.Bold, "First:")
	for _, node := range p.Remove {
		t.Linef(doc.Plain, "  kubectl delete node %s", node)
		t.Linef(doc.Plain, "    its kubelet does not answer, so that its pods stay Terminating and no drain of it ends")
	}
	for _, b := range p.Patches {
		t.Linef(doc.Plain, "  %s", b.Command)
		t.Linef(doc.Plain, "    budget %s allows no eviction (%s)", b.Name, budgetNeeds(&b.Budget))
	}
	t.Space()
}

// lostText returns "shop/deployment/web lost a replica", and how many other pods are Pending in the end.
func lostText(a *roll.Answer) string {
	replicas := 0
	for _, l := range a.Lost {
		replicas += l.Replicas
	}
	var parts []string
	switch {
	case len(a.Lost) == 1 && replicas == 1:
		parts = append(parts, a.Lost[0].Qualified()+" lost a replica")
	case len(a.Lost) == 1:
		parts = append(parts, fmt.Sprintf("%s lost %d replicas", a.Lost[0].Qualified(), replicas))
	case replicas > 0:
		names := list.Map(a.Lost, func(l roll.Lost) string { return fmt.Sprintf("%s %d", l.Qualified(), l.Replicas) })
		parts = append(parts, fmt.Sprintf("%d workloads lost %d replicas (%s)", len(a.Lost), replicas, words.Few(names)))
	}
	if n := len(a.Pending) - replicas; n > 0 {
		parts = append(parts, words.Count(n, "new pod")+words.Pick(n, " stays", " stay")+" Pending in the end")
	}
	return words.And(parts)
}

// blockText returns in short what blocks a drain.
func blockText(b *roll.Blocked) string {
	if b.Budget != nil {
		return fmt.Sprintf("budget %s allows no eviction (%s)", b.Budget.Name, budgetNeeds(b.Budget))
	}
	return fmt.Sprintf("%s stays on node/%s", podName(b.Stays[0].Namespace, b.Stays[0].Name), b.Node)
}

// blocksText returns in short what blocks the drains of several nodes.
func blocksText(all []roll.Blocked) string {
	first := all[0].Budget
	other := func(b roll.Blocked) bool { return b.Budget != nil && b.Budget.Name != first.Name }
	if first == nil || !slices.ContainsFunc(all, other) {
		return blockText(&all[0])
	}
	return fmt.Sprintf("budgets allow no eviction, such as %s (%s)", first.Name, budgetNeeds(first))
}

// budgetNeeds says why the budget allows no eviction. A budget that needs no pod would allow all, so Needs is 0 if the controller cannot count
// how many pods there should be.
func budgetNeeds(b *roll.Budget) string {
	if b.Needs == 0 {
		return "it cannot be computed"
	}
	return fmt.Sprintf("%d of %d needed", b.Healthy, b.Needs)
}

// blockingPods writes which pods block which drains, grouped by reason, and what happens then.
func (t *writer) blockingPods() {
	var stays []stayingPod
	for i := range t.a.Blocked {
		b := &t.a.Blocked[i]
		for _, p := range b.Stays {
			stays = append(stays, stayingPod{b.Node, p})
		}
	}
	if stays == nil {
		return
	}
	groups := list.GroupBy(stays, func(s stayingPod) string { return s.Reason })
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		t.Linef(doc.Red, "Stays: %s: %s", t.ListNames(list.Map(groups[i], func(s stayingPod) string { return podName(s.Namespace, s.Name) + " on node/" + s.node })), groups[i][0].Reason)
	})
	if t.a.KeepsGoing {
		t.Linef(doc.Plain, "These nodes are open to pods again, and the turns of the others come.")
		return
	}
	more := " --keep-going shows what blocks the other nodes."
	if t.Page {
		more = ""
	}
	t.Linef(doc.Plain, "What follows is the state at that time: %s replaced, and node/%s is cordoned.%s", words.Is(t.a.Replaced, "node"), t.a.Blocked[0].Node, more)
}

// stayingPod is a pod that blocks the drain of its node.
type stayingPod struct {
	node string
	world.BlockedPod
}

// movesText returns "612 pods move once, 14 twice".
func movesText(a *roll.Answer) string {
	var parts []string
	for i, m := range a.Moves {
		often := fmt.Sprintf("%d times", m.Moves)
		if m.Moves <= 2 {
			often = []string{"once", "twice"}[m.Moves-1]
		}
		who := fmt.Sprint(m.Pods)
		if i == 0 {
			who = words.Count(m.Pods, "pod") + words.Pick(m.Pods, " moves", " move")
		}
		parts = append(parts, who+" "+often)
	}
	if parts == nil {
		return "no pod moves"
	}
	return strings.Join(parts, ", ")
}

// waitsText says how long pods are Pending.
func waitsText(a *roll.Answer) string {
	if len(a.Waited) == 0 {
		return "none is ever Pending"
	}
	if len(a.Pending) > 0 {
		return fmt.Sprintf("at most %d %s Pending at once", a.MostPending, words.Pick(a.MostPending, "is", "are"))
	}
	return "none is Pending for longer than " + words.FormatDuration(a.Longest())
}

func (t *writer) worstMoment() {
	w := t.a.Worst
	if w == nil {
		return
	}
	lacks := list.Map(w.Workloads, func(l roll.Lack) string { return fmt.Sprintf("%s has %d of %d", l.Qualified(), l.Ready, l.Of) })
	pending := ""
	if w.Pending > 0 {
		pending = fmt.Sprintf(", %d of them Pending", w.Pending)
	}
	t.Linef(doc.Plain, "Worst moment: in turn %d, after %s, %s fewer %s ready than at the start%s: %s", w.Turn, spanText(w.Seconds),
		words.Count(w.Unavailable, "pod"), words.Pick(w.Unavailable, "is", "are"), pending, t.ListNames(lacks))
}

// levels writes a table of how the pods are spread over domains at the start, at the worst moment and at the end.
func (t *writer) levels() {
	rows := [][]doc.Cell{doc.Bold.Row("LEVEL", "RADIUS AT START", "AT WORST", "AT THE END", "SKEW AT START", "AT THE END")}
	for _, l := range t.a.Levels {
		worst := doc.None
		if l.Worst != nil {
			worst = doc.Percent(l.Worst.Radius)
		}
		end := doc.Plain.Cell(doc.Percent(l.End.Radius))
		if l.End.Radius > l.Start.Radius {
			end.Style = doc.Yellow
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(doc.Noun(l.TopologyKey)), doc.Plain.Cell(doc.Percent(l.Start.Radius)), doc.Plain.Cell(worst), end,
			doc.Number(l.Start.Skew, doc.Plain), doc.Number(l.End.Skew, doc.Plain)})
	}
	if len(rows) > 1 {
		t.Table("", rows...)
	}
}

// maxTurns is the largest number of turns that text lists.
const maxTurns = 15

func (t *writer) turns() {
	rows := [][]doc.Cell{doc.Bold.Row("TURN", "OLD", "NEW", "TIME", "EVICTED", "NOT READY", "PENDING", "NODES")}
	for i := range t.a.Turns {
		turn := &t.a.Turns[i]
		rows = append(rows, []doc.Cell{
			doc.Number(i+1, doc.Plain), doc.Plain.Cell(strings.Join(turn.Old, ", ")), doc.Plain.Cell(doc.OrNone(strings.Join(turn.New, ", "))), doc.Plain.Cell(spanText(turn.Seconds)),
			doc.Number(turn.Evicted, doc.Plain), doc.Number(turn.Unavailable, doc.Plain), doc.Number(turn.Pending, doc.Yellow), doc.Number(turn.Total, doc.Plain),
		})
	}
	rows[0] = doc.SetDropOrder(rows[0], "NODES", "NEW")
	t.Add(doc.Table{Rows: rows, Most: maxTurns, Noun: "turn", Nouns: "turns"})
}

// compareWays returns the first line of a comparison.
func (r *Report) compareWays() doc.Cell {
	done := 0
	for i := range r.Rolls {
		if r.Rolls[i].Done() {
			done++
		}
	}
	pool := r.Rolls[0].Pool
	switch {
	case r.NeverPending != nil:
		return doc.Green.Cellf("The smallest surge that never leaves a pod Pending is %d; %s replace all nodes of %s.", *r.NeverPending, waysText(done, len(r.Rolls)), pool)
	case done == 0:
		return doc.Red.Cellf("None of %s replaces all nodes of %s: the roll stops at node %d of %d or before.", words.Count(len(r.Rolls), "way"), pool, furthestNode(r.Rolls), r.Rolls[0].Nodes)
	}
	return doc.Yellow.Cellf("Each of %s that replace all nodes of %s leaves pods Pending on the way.", waysText(done, len(r.Rolls)), pool)
}

func waysText(n, of int) string { return fmt.Sprintf("%d of %s", n, words.Count(of, "way")) }

func furthestNode(all []roll.Answer) int {
	most := 0
	for i := range all {
		most = max(most, all[i].Blocked[0].Number)
	}
	return most
}

// sideBySide returns the titles, and a row for each way.
func (r *Report) sideBySide() [][]doc.Cell {
	rows := [][]doc.Cell{doc.Bold.Row("SURGE", "MAX UNAVAILABLE", "ORDER", "REPLACED", "TURNS", "TIME", "EVICTED", "MOVED TWICE", "NOT READY", "PENDING", "FOR AT MOST", "AT THE END")}
	for i := range r.Rolls {
		a := &r.Rolls[i]
		replaced := doc.Green.Cell("all")
		if !a.Done() {
			replaced = doc.Red.Cellf("%d of %d", a.Replaced, a.Nodes)
		}
		rows = append(rows, []doc.Cell{
			doc.Number(a.Surge, doc.Plain), doc.Number(a.MaxUnavailable, doc.Plain), doc.Plain.Cell(string(a.Order)), replaced, doc.Number(len(a.Turns), doc.Plain),
			doc.Plain.Cell(spanText(a.Seconds)), doc.Number(a.Evicted, doc.Plain), doc.Number(countMovedAgain(a), doc.Plain), doc.Number(maxUnavailablePods(a), doc.Plain),
			doc.Number(a.MostPending, doc.Yellow), doc.Plain.Cell(words.FormatDuration(a.Longest())), doc.Number(len(a.Pending), doc.Red),
		})
	}
	rows[0] = doc.SetDropOrder(rows[0], "EVICTED", "AT THE END", "NOT READY", "MAX UNAVAILABLE")
	return rows
}

// course returns a picture of nodes, pods that are not ready, Pending pods and the price from turn to turn. For a comparison it is
// courseOfWays.
func course(r *Report) *doc.Course {
	if len(r.Rolls) != 1 {
		return r.courseOfWays()
	}
	a := &r.Rolls[0]
	c := &doc.Course{Title: "turn by turn", Moments: []string{"start"}}
	samples := []roll.Sample{a.Start}
	priced := a.Start.Price != nil
	for i := range a.Turns {
		c.Moments = append(c.Moments, fmt.Sprint(i+1))
		samples = append(samples, a.Turns[i].Sample)
		priced = priced && a.Turns[i].Price != nil
	}
	nodes, lacking, pending, price := doc.Curve{Name: "nodes"}, doc.Curve{Name: "pods that are not ready, at most", Style: doc.Yellow}, doc.Curve{Name: "Pending pods, at most", Style: doc.Red}, doc.Curve{Name: "price in an hour", Style: doc.Bold}
	for _, s := range samples {
		nodes.Values, lacking.Values, pending.Values = append(nodes.Values, float64(s.Total)), append(lacking.Values, float64(s.Unavailable)), append(pending.Values, float64(s.Pending))
		if priced {
			price.Values = append(price.Values, *s.Price)
		}
	}
	if c.Curves = []doc.Curve{nodes, lacking, pending}; priced {
		c.Curves = append(c.Curves, price)
	}
	return c
}

// courseOfWays returns a picture of the ways side by side.
func (r *Report) courseOfWays() *doc.Course {
	c := &doc.Course{Title: "way by way"}
	pending, lacking, twice := doc.Curve{Name: "Pending pods, at most", Style: doc.Red}, doc.Curve{Name: "pods that are not ready, at most", Style: doc.Yellow}, doc.Curve{Name: "pods that move more than once"}
	for i := range r.Rolls {
		a := &r.Rolls[i]
		c.Moments = append(c.Moments, fmt.Sprintf("surge %d, max unavailable %d, by %s", a.Surge, a.MaxUnavailable, a.Order))
		pending.Values, lacking.Values = append(pending.Values, float64(a.MostPending)), append(lacking.Values, float64(maxUnavailablePods(a)))
		twice.Values = append(twice.Values, float64(countMovedAgain(a)))
	}
	c.Curves = []doc.Curve{pending, lacking, twice}
	return c
}

// countMovedAgain counts the pods that move more than once.
func countMovedAgain(a *roll.Answer) int {
	pods := 0
	for _, m := range a.Moves {
		if m.Moves > 1 {
			pods += m.Pods
		}
	}
	return pods
}

// maxUnavailablePods returns how many pods are not ready at the worst moment.
func maxUnavailablePods(a *roll.Answer) int {
	if a.Worst == nil {
		return 0
	}
	return a.Worst.Unavailable
}

func spanText(seconds float64) string {
	return words.FormatDuration(time.Duration(seconds * float64(time.Second)))
}

func podName(namespace, name string) string {
	if namespace == "default" {
		return "pod/" + name
	}
	return "pod/" + name + " of " + namespace
}
