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

// phase is a node from one of its changes to the next, as far as it is known. What nobody recorded follows from its neighbours: from the
// dump, in which the last phase ends, and from the pods that came to the node.
type phase struct {
	// It begins at the time at: not before lo and not after hi.
	at, lo, hi time.Time
	// turns is how spec.unschedulable changed when it began, cordoned what it is then; nil if that is unknown.
	turns    turn
	cordoned *bool
	// taints are the other taints. Phases share them as long as nobody can have changed them.
	taints *taints
	// silent means that the node did not answer, mayBeSilent that nobody recorded whether it answered again, removed that it was gone.
	// mayBeReplaced means that it was gone at some time of the phase.
	silent, mayBeSilent, removed, mayBeReplaced bool
	// known is the node, nil if it was gone. avoided is the node if pods avoided it for an unknown reason; nil if it is known that they did
	// not, or why they did.
	known, avoided *v1.Node
	// dumped is the node as the dump has it, without the taints that it dates later.
	dumped *v1.Node
}

// turn is how spec.unschedulable changes from one phase to the next.
type turn int

const (
	same     turn = iota // it does not
	opposite             // the node was cordoned or uncordoned
	anyhow               // nobody recorded it
)

// taints are the taints of a node, apart from that of a cordon, until they change.
type taints struct {
	// known means that the list is theirs; dumped that the dump has it, and from when each of them was there.
	known, dumped bool
	list          []v1.Taint
	// used means that a pod came to the node which tolerates none of them, evicting that they evicted pods.
	used, evicting bool
	// by is how a pod that came to the node tolerates taints that are not known; nil if none did.
	by *v1.Toleration
}

const (
	// together is how long after a change of spec.unschedulable the node lifecycle controller changes the taint that goes with it, at most.
	together = time.Second
	// settled is how long it takes, at most, to change all taints of a node that fell silent, or that answers again.
	settled = 3 * time.Second
)

// newPhases returns the life of the node as the facts have it, in order, or nil if it always was as in the dump. Its managed fields take the
// place of an audit log.
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

// dumped returns what the dump says about the past of the node: when it was created, since when it answers, and when its taints came.
func dumped(node *v1.Node, facts []fact, lives []*life) []fact {
	var more []fact
	second := func(what what, at time.Time) fact { return fact{what: what, at: at, node: node.Name} }
	removed := slices.ContainsFunc(facts, func(f fact) bool {
		return f.what == nodeRemoved && !f.at.After(node.CreationTimestamp.Add(monitorPeriod))
	})
	if removed {
		more = append(more, second(nodeAdded, node.CreationTimestamp.Time))
	} else if i := slices.IndexFunc(lives, func(l *life) bool { return !l.hi.Before(node.CreationTimestamp.Time) }); i != 0 && len(lives) > 0 {
		// It had pods before it was created, so it is not the first of its name.
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

// dated returns the node with the times at which its taints came, also of those without timeAdded: when the list was last set, or the node
// was cordoned.
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

// settle gives the taints and the cordon of the dump to the phases that begin after these were last set, back to the one that began in that
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

// audited reports whether an audit log says this of a node.
func audited(f fact) bool {
	return f.audit && f.what >= nodePatched
}

func ofSilence(taint v1.Taint) bool {
	return taint.Key == v1.TaintNodeNotReady || taint.Key == v1.TaintNodeUnreachable
}

// phases are the life of one node.
type phases []*phase

// begin adds a phase that begins with that fact, and is otherwise as the one before.
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

// then adds what the fact says of the node, and returns how many of the next facts belong to it.
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
			// The controller adds or removes the taint of a cordon at once, and changes nothing else then.
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

// spread completes what follows from the neighbours.
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

// use notes what follows from a pod that came to the node, or that its taints evicted from it.
func (all phases) use(l *life) {
	if l.asked != nil && l.byTaint {
		if p := all[all.index(moment{at: l.asked.at})]; !p.silent && !p.removed {
			p.taints.evicting = true
		}
	}
	p := all[all.index(l.moment())]
	for _, edge := range []edge{early, late} {
		if m := l.moment(); l.given || all[all.index(m.on(edge))] != p {
			return // it is not certain in which phase it came
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

// unknown returns a taint that stands for those that nobody recorded. The pods that came to the node tolerate it.
func (t *taints) unknown() v1.Taint {
	taint := v1.Taint{Key: "unknown", Effect: v1.TaintEffectNoSchedule}
	if t.by != nil {
		taint.Key, taint.Value = t.by.Key, t.by.Value
	}
	return taint
}

// tolerates reports whether any of them tolerates that pods are kept away by a taint with such a key.
func tolerates(tolerations []v1.Toleration, by func(key string) bool) bool {
	return slices.ContainsFunc(tolerations, func(t v1.Toleration) bool {
		return (t.Effect == "" || t.Effect == v1.TaintEffectNoSchedule) && (t.Key == "" || by(t.Key))
	})
}

// index returns the index of the phase at that moment.
func (all phases) index(m moment) int {
	i := 0
	for i+1 < len(all) && m.reached(all[i+1]) {
		i++
	}
	return i
}

// conclude makes the node of the phase from what is known of it.
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

// timed returns the node without the taints that the dump dates later.
func (p *phase) timed(node *v1.Node) *v1.Node {
	list := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t v1.Taint) bool { return t.TimeAdded != nil && t.TimeAdded.After(p.at) })
	return withTaints(node, node.Spec.Unschedulable && slices.ContainsFunc(list, func(t v1.Taint) bool {
		return t.Key == v1.TaintNodeUnschedulable
	}), list)
}

// withTaints returns the node with these taints; itself, if it has none and needs none.
func withTaints(node *v1.Node, cordoned bool, list []v1.Taint) *v1.Node {
	if node.Spec.Unschedulable == cordoned && len(node.Spec.Taints) == 0 && len(list) == 0 {
		return node
	}
	was := node.DeepCopy()
	was.Spec.Unschedulable, was.Spec.Taints = cordoned, list
	return was
}

// moment is a time at which a pod was scheduled, which is not known exactly: not before lo and not after hi.
type moment struct {
	at, lo, hi time.Time
	edge       edge
	nodes      nodesBy
}

// edge is on which side of a change a moment is if either is possible.
type edge int

const (
	likely edge = iota // as the times are recorded
	early              // after it
	late               // before it
)

// nodesBy is how far the nodes of a moment are known.
type nodesBy int

const (
	assumed     nodesBy = iota // pods avoided each node that was changed in an unknown way, and to which none came
	proven                     // only what the sources prove
	undisturbed                // as the dump has them, without the taints that it dates later
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

// reached reports whether the phase had begun.
func (m moment) reached(p *phase) bool {
	switch m.edge {
	case early:
		return !p.lo.After(m.hi)
	case late:
		return p.hi.Before(m.lo)
	}
	return !p.at.After(m.at)
}

// ofNodes returns the facts about each node.
func ofNodes(facts []fact) map[string][]fact {
	of := map[string][]fact{}
	for _, f := range facts {
		if f.what >= nodePatched {
			of[f.node] = append(of[f.node], f)
		}
	}
	return of
}

// livesOn returns the pods that came to each node, in order.
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
