package verify

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/admission"
)

// phase is a node from one of its changes to the next, as far as the sources show it. What no source records follows from the neighbouring
// phases, from the dump, which shows the node at the end of the last phase, and from the pods that came to the node.
type phase struct {
	// at is the best estimate of when the phase begins, which was not before lo and not after hi.
	at, lo, hi time.Time
	// turns is how spec.unschedulable changed when the phase began. cordoned is its value in the phase; nil if unknown.
	turns    turn
	cordoned *bool
	// taints are the taints besides that of a cordon. Phases share them as long as nobody can have changed them.
	taints *taints
	// silent means that the node did not answer, mayBeSilent that no source records whether it answered again, removed that it did not exist,
	// and mayBeReplaced that it did not exist for some time of the phase.
	silent, mayBeSilent, removed, mayBeReplaced bool
	// known is the node in the phase, nil if it did not exist. avoided is the node as pods see it if they avoided it for an unknown reason;
	// nil if they did not avoid it, or if the reason is known.
	known, avoided *v1.Node
	// dumped is the node as the dump has it, without the taints that the dump dates later.
	dumped *v1.Node
}

// turn is how spec.unschedulable changes from one phase to the next.
type turn int

const (
	same     turn = iota // spec.unschedulable does not change
	opposite             // the node was cordoned or uncordoned
	anyhow               // no source records whether it changes
)

// taints are the taints of a node from one change of its taints to the next, without the taint of a cordon.
type taints struct {
	// known means that list has these taints. fromDump means that the dump has them, with the time at which each was added.
	known, dumped bool
	list          []v1.Taint
	// intolerantPodCame means that a pod which tolerates no user's taint came to the node. evictedPods means that the taints evicted pods.
	used, evicting bool
	// by is the toleration of a pod that came to the node, for a taint that no source records; nil if no such pod came.
	by *v1.Toleration
}

const (
	// together is the longest time between a change of spec.unschedulable and the node lifecycle controller's change of the taint that goes
	// with it.
	together = time.Second
	// settled is the longest time in which the node lifecycle controller changes all taints of a node that stops answering or answers again.
	settled = 3 * time.Second
)

// newPhases returns the phases of a node in order, according to the facts, or nil if the node always was as in the dump. Without an audit
// log, the node's managed fields say when its taints and its cordon were set.
func newPhases(node *v1.Node, facts []fact, lives []*life, audit bool) []*phase {
	if !audit {
		node = dated(node)
	}
	facts = append(slices.Clone(facts), dumped(node, facts, lives)...)
	slices.SortStableFunc(facts, func(a, b fact) int { return a.at.Compare(b.at) })
	all := phases{{taints: &taints{}}}
	for i := 0; i < len(facts); i++ {
		i += all.then(facts[i], facts[i+1:])
	}
	if len(all) == 1 {
		return nil
	}
	last := all[len(all)-1]
	last.cordoned = &node.Spec.Unschedulable
	if !last.taints.known {
		last.taints.dumped = true
	}
	if last.silent && !slices.ContainsFunc(node.Spec.Taints, ofSilence) {
		last.silent, last.mayBeSilent = false, true
	}
	all.settle(node)
	all.spread()
	for _, l := range lives {
		all.use(l)
	}
	all.spread()
	for _, p := range all {
		p.conclude(node)
	}
	return all
}

// dumped returns the facts that the dump has about the node's past: when it was created, since when it has been ready, and when its taints
// were added.
func dumped(node *v1.Node, facts []fact, lives []*life) []fact {
	var more []fact
	second := func(what what, at time.Time) fact { return fact{what: what, at: at, node: node.Name} }
	removed := slices.ContainsFunc(facts, func(f fact) bool {
		return f.what == nodeRemoved && !f.at.After(node.CreationTimestamp.Add(monitorPeriod))
	})
	if removed {
		more = append(more, second(nodeAdded, node.CreationTimestamp.Time))
	} else if i := slices.IndexFunc(lives, func(l *life) bool { return !l.hi.Before(node.CreationTimestamp.Time) }); i != 0 && len(lives) > 0 {
		// The node had pods before it was created, so an earlier node had its name.
		last := lives[len(lives)-1]
		if i > 0 {
			last = lives[i-1]
		}
		more = append(more, fact{what: nodeReplaced, at: last.hi, exact: true, node: node.Name}, second(nodeAdded, node.CreationTimestamp.Time))
	}
	if i := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady }); i >= 0 {
		if at := node.Status.Conditions[i].LastTransitionTime; node.Status.Conditions[i].Status == v1.ConditionTrue &&
			slices.ContainsFunc(facts, func(f fact) bool { return f.what == nodeNotReady && f.at.Before(at.Time) }) {
			more = append(more, second(nodeReady, at.Time))
		}
	}
	for _, taint := range node.Spec.Taints {
		switch {
		case taint.TimeAdded == nil:
		case taint.Key != v1.TaintNodeUnschedulable:
			more = append(more, second(nodeTimed, taint.TimeAdded.Time))
		case node.Spec.Unschedulable && !slices.ContainsFunc(facts, audited):
			f := second(nodeScheduled, taint.TimeAdded.Time)
			f.cordoned = new(true)
			more = append(more, f)
		}
	}
	return more
}

// dated returns the node with a time for each taint. A taint without timeAdded gets the time at which the list of taints was last set, or
// the node was cordoned.
func dated(node *v1.Node) *v1.Node {
	tainted, cordoned := admission.LastSet(node, "taints"), admission.LastSet(node, "unschedulable")
	if tainted.IsZero() && cordoned.IsZero() {
		return node
	}
	node = node.DeepCopy()
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		at := tainted
		if taint.Key == v1.TaintNodeUnschedulable && !cordoned.IsZero() {
			at = cordoned
		}
		if (taint.TimeAdded == nil || taint.TimeAdded.Equal(&unknown)) && !at.IsZero() {
			taint.TimeAdded = &metav1.Time{Time: at}
		}
	}
	return node
}

// settle copies the dump's taints and cordon to each phase that begins after they were last set, and to the phase that begins in that
// second.
func (all phases) settle(node *v1.Node) {
	last := all[len(all)-1]
	since := func(at time.Time, is func(p *phase)) {
		for _, p := range slices.Backward(all) {
			if at.IsZero() || p.at.Before(at) {
				return
			}
			if is(p); p.lo.Before(at.Add(time.Second)) {
				return
			}
		}
	}
	since(admission.LastSet(node, "taints"), func(p *phase) { p.taints = last.taints })
	since(admission.LastSet(node, "unschedulable"), func(p *phase) { p.cordoned = last.cordoned })
}

// audited reports whether the fact is about a node and from an audit log.
func audited(f fact) bool {
	return f.audit && f.what >= nodePatched
}

func ofSilence(taint v1.Taint) bool {
	return taint.Key == v1.TaintNodeNotReady || taint.Key == v1.TaintNodeUnreachable
}

// phases are all phases of one node, in order.
type phases []*phase

// begin appends a phase that begins with the fact, and otherwise equals the phase before it.
func (all *phases) begin(f fact) *phase {
	next := *(*all)[len(*all)-1]
	next.at, next.lo, next.hi = f.at, f.at.Add(-f.late), f.at
	if !f.exact {
		next.hi = f.at.Add(time.Second - 1)
	}
	next.turns, next.cordoned = same, nil
	*all = append(*all, &next)
	return &next
}

// then appends the phase that the fact begins, if any. It returns how many of the next facts belong to the same change.
func (all *phases) then(f fact, next []fact) int {
	last := (*all)[len(*all)-1]
	switch f.what {
	case nodeRemoved:
		if !last.removed {
			p := all.begin(f)
			p.turns, p.taints = anyhow, &taints{}
			p.removed, p.silent, p.mayBeSilent = true, false, false
		}
	case nodeReplaced:
		p := all.begin(f)
		p.turns, p.taints, p.mayBeReplaced = anyhow, &taints{}, true
	case nodeAdded:
		if last.removed || last.mayBeReplaced {
			p := all.begin(f)
			p.turns, p.taints = anyhow, &taints{}
			p.removed, p.mayBeReplaced, p.silent, p.mayBeSilent = false, false, false, false
		}
	case nodeNotReady:
		all.begin(f).silent = true
	case nodeReady:
		p := all.begin(f)
		p.silent, p.mayBeSilent = false, false
	case nodeTimed:
		all.begin(f)
	case nodeScheduled:
		p := all.begin(f)
		p.turns, p.cordoned = opposite, f.cordoned
	case nodeTainted:
		p := all.begin(f)
		if f.cordoned != nil {
			p.turns, p.cordoned = anyhow, f.cordoned
		}
		p.taints = &taints{known: true, list: f.taints}
		p.silent, p.mayBeSilent = false, false
	case nodePatched:
		looked := 0
		for looked < len(next) && next[looked].what == nodeLooked && next[looked].at.Sub(f.at) <= []time.Duration{together, settled}[min(looked, 1)] {
			looked++
		}
		p := all.begin(f)
		switch {
		case looked == 1 && !last.silent:
			// The controller adds or removes the taint of a cordon at once, and changes nothing else at that time.
			p.turns, p.hi = opposite, next[0].at
		case looked == 1:
			p.turns, p.taints = anyhow, &taints{}
		case looked > 1:
			p.taints, p.silent, p.hi = &taints{}, false, next[looked-1].at
		default:
			p.taints = &taints{}
		}
		return looked
	case nodeLooked:
		since := last.at
		p := all.begin(f)
		p.taints = &taints{}
		p.silent = last.silent && f.at.Sub(since) <= settled
	}
	return 0
}

// spread copies spec.unschedulable between neighbouring phases: it is equal, or opposite after a change that flipped it.
func (all phases) spread() {
	follow := func(from, to *phase, turns turn) {
		switch {
		case from.cordoned == nil || to.cordoned != nil || turns == anyhow:
		case turns == same:
			to.cordoned = from.cordoned
		default:
			to.cordoned = new(!*from.cordoned)
		}
	}
	for i := len(all) - 1; i > 0; i-- {
		follow(all[i], all[i-1], all[i].turns)
	}
	for i := 1; i < len(all); i++ {
		follow(all[i-1], all[i], all[i].turns)
	}
}

// use notes what a pod shows about the node's taints: the pod came to the node in a phase, or the node's taints evicted it.
func (all phases) use(l *life) {
	if l.asked != nil && l.byTaint {
		if p := all[all.index(moment{at: l.asked.at})]; !p.silent && !p.removed {
			p.taints.evicting = true
		}
	}
	p := all[all.index(l.moment())]
	for _, edge := range []edge{early, late} {
		if m := l.moment(); l.given || all[all.index(m.on(edge))] != p {
			return // the pod may have come in either of two phases
		}
	}
	var tolerations []v1.Toleration
	if l.pod != nil {
		tolerations = l.pod.Spec.Tolerations
	}
	if p.cordoned == nil && !tolerates(tolerations, func(key string) bool { return key == v1.TaintNodeUnschedulable }) {
		p.cordoned = new(false)
	}
	ofUser := func(key string) bool { return !strings.HasPrefix(key, "node.kubernetes.io/") }
	if !tolerates(tolerations, ofUser) {
		p.taints.used, p.mayBeSilent = true, false
		return
	}
	for _, t := range tolerations {
		if t.Key != "" && ofUser(t.Key) {
			p.taints.by = &t
		}
	}
}

// unknown returns a taint that stands for the taints that no source records. The pods that came to the node tolerate it.
func (t *taints) unknown() v1.Taint {
	taint := v1.Taint{Key: "unknown", Effect: v1.TaintEffectNoSchedule}
	if t.by != nil {
		taint.Key, taint.Value = t.by.Key, t.by.Value
	}
	return taint
}

// tolerates reports whether any of the tolerations tolerates a NoSchedule taint whose key satisfies by.
func tolerates(tolerations []v1.Toleration, by func(key string) bool) bool {
	return slices.ContainsFunc(tolerations, func(t v1.Toleration) bool {
		return (t.Effect == "" || t.Effect == v1.TaintEffectNoSchedule) && (t.Key == "" || by(t.Key))
	})
}

// index returns the index of the phase that contains the moment.
func (all phases) index(m moment) int {
	i := 0
	for i+1 < len(all) && m.reached(all[i+1]) {
		i++
	}
	return i
}

// conclude sets the nodes of the phase: as the dump has it, as the sources show it, and as pods may have avoided it.
func (p *phase) conclude(node *v1.Node) {
	p.dumped = p.timed(node)
	if p.removed {
		return
	}
	cordoned := p.cordoned != nil && *p.cordoned
	var list []v1.Taint
	keep := func(taint v1.Taint) {
		if taint.Key != v1.TaintNodeUnschedulable && !slices.ContainsFunc(list, func(t v1.Taint) bool { return t.MatchTaint(&taint) }) {
			list = append(list, taint)
		}
	}
	switch {
	case p.taints.known:
		for _, taint := range p.taints.list {
			keep(taint)
		}
	case p.taints.dumped:
		for _, taint := range node.Spec.Taints {
			if taint.TimeAdded == nil || !taint.TimeAdded.After(p.at) {
				keep(taint)
			}
		}
	case p.taints.evicting:
		keep(p.taints.unknown())
	}
	if p.silent {
		keep(v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule})
	}
	if cordoned {
		list = append(list, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	p.known = withTaints(node, cordoned, list)
	if kept := slices.ContainsFunc(list, func(t v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }); kept {
		return
	}
	if p.mayBeSilent || p.mayBeReplaced || p.cordoned == nil || !p.taints.known && !p.taints.dumped && !p.taints.used {
		p.avoided = withTaints(node, false, append(list, p.taints.unknown()))
	}
}

// timed returns the node without the taints that were added after the phase began, according to the dump.
func (p *phase) timed(node *v1.Node) *v1.Node {
	list := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t v1.Taint) bool { return t.TimeAdded != nil && t.TimeAdded.After(p.at) })
	return withTaints(node, node.Spec.Unschedulable && slices.ContainsFunc(list, func(t v1.Taint) bool {
		return t.Key == v1.TaintNodeUnschedulable
	}), list)
}

// withTaints returns the node with this cordon and these taints. It returns the node itself if there is nothing to change.
func withTaints(node *v1.Node, cordoned bool, list []v1.Taint) *v1.Node {
	if node.Spec.Unschedulable == cordoned && len(node.Spec.Taints) == 0 && len(list) == 0 {
		return node
	}
	was := node.DeepCopy()
	was.Spec.Unschedulable, was.Spec.Taints = cordoned, list
	return was
}

// moment is when a pod was scheduled. at is the best estimate, which was not before lo and not after hi.
type moment struct {
	at, lo, hi time.Time
	edge       edge
	nodes      nodesBy
}

// edge says whether a moment is before or after a change if both are possible.
type edge int

const (
	likely edge = iota // the side that the recorded times show
	early              // after the change
	late               // before the change
)

// nodesBy says which nodes a moment has.
type nodesBy int

const (
	assumed     nodesBy = iota // pods avoided each node that was changed in an unknown way and that got no pod since
	proven                     // as the sources prove them
	undisturbed                // as the dump has them, without the taints that the dump dates later
)

func (l *life) moment() moment { return moment{at: l.at, lo: l.lo, hi: l.hi} }

func (m moment) on(edge edge) moment {
	m.edge = edge
	return m
}

func (m moment) by(nodes nodesBy) moment {
	m.nodes = nodes
	return m
}

// reached reports whether the phase had begun at the moment.
func (m moment) reached(p *phase) bool {
	switch m.edge {
	case early:
		return !p.lo.After(m.hi)
	case late:
		return p.hi.Before(m.lo)
	}
	return !p.at.After(m.at)
}

// ofNodes groups the facts about nodes by the node's name.
func ofNodes(facts []fact) map[string][]fact {
	of := map[string][]fact{}
	for _, f := range facts {
		if f.what >= nodePatched {
			of[f.node] = append(of[f.node], f)
		}
	}
	return of
}

// livesOn groups the lives by node, in the order in which the pods came.
func livesOn(lives []*life) map[string][]*life {
	on := map[string][]*life{}
	for _, l := range lives {
		on[l.node] = append(on[l.node], l)
	}
	for _, all := range on {
		slices.SortStableFunc(all, func(a, b *life) int { return cmp.Or(a.at.Compare(b.at), a.lo.Compare(b.lo)) })
	}
	return on
}
