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
	// cordonChange is how spec.unschedulable changed when the phase began. cordoned is its value in the phase; nil if unknown.
	cordonChange cordonChange
	cordoned     *bool
	// taints are the taints besides that of a cordon. Phases share them as long as nobody can have changed them.
	taints *taintSet
	// silent means that the node did not answer, mayBeSilent that no source records whether it answered again, removed that it did not exist,
	// and mayBeReplaced that it did not exist for some time of the phase.
	silent, mayBeSilent, removed, mayBeReplaced bool
	// known is the node in the phase, nil if it did not exist. avoided is the node as pods see it if they avoided it for an unknown reason;
	// nil if they did not avoid it, or if the reason is known.
	known, avoided *v1.Node
	// asDumped is the node as the dump has it, without the taints that the dump dates later.
	asDumped *v1.Node
}

// cordonChange is how spec.unschedulable changes from one phase to the next.
type cordonChange int

const (
	cordonKept       cordonChange = iota // spec.unschedulable does not change
	cordonFlipped                        // the node was cordoned or uncordoned
	cordonUnrecorded                     // no source records whether it changes
)

// taintSet are the taints of a node from one change of its taints to the next, without the taint of a cordon.
type taintSet struct {
	// known means that list has these taints. fromDump means that the dump has them, with the time at which each was added.
	known, fromDump bool
	list            []v1.Taint
	// intolerantPodCame means that a pod which tolerates no user's taint came to the node. evictedPods means that the taints evicted pods.
	intolerantPodCame, evictedPods bool
	// toleration is the toleration of a pod that came to the node, for a taint that no source records; nil if no such pod came.
	toleration *v1.Toleration
}

const (
	// cordonTaintDelay is the longest time between a change of spec.unschedulable and the node lifecycle controller's change of the taint that goes
	// with it.
	cordonTaintDelay = time.Second
	// silenceTaintsDelay is the longest time in which the node lifecycle controller changes all taints of a node that stops answering or answers again.
	silenceTaintsDelay = 3 * time.Second
)

// newPhases returns the phases of a node in order, according to the facts, or nil if the node always was as in the dump. Without an audit
// log, the node's managed fields say when its taints and its cordon were set.
func newPhases(node *v1.Node, facts []fact, lives []*podLife, audit bool) []*phase {
	if !audit {
		node = dateTaints(node)
	}
	facts = append(slices.Clone(facts), dumpFacts(node, facts, lives)...)
	slices.SortStableFunc(facts, func(a, b fact) int { return a.at.Compare(b.at) })
	all := phases{{taints: &taintSet{}}}
	for i := 0; i < len(facts); i++ {
		i += all.applyFact(facts[i], facts[i+1:])
	}
	if len(all) == 1 {
		return nil
	}
	last := all[len(all)-1]
	last.cordoned = &node.Spec.Unschedulable
	if !last.taints.known {
		last.taints.fromDump = true
	}
	if last.silent && !slices.ContainsFunc(node.Spec.Taints, isSilenceTaint) {
		last.silent, last.mayBeSilent = false, true
	}
	all.applyLastSet(node)
	all.propagateCordons()
	for _, l := range lives {
		all.learnFromPod(l)
	}
	all.propagateCordons()
	for _, p := range all {
		p.buildNodes(node)
	}
	return all
}

// dumpFacts returns the facts that the dump has about the node's past: when it was created, since when it has been ready, and when its taints
// were added.
func dumpFacts(node *v1.Node, facts []fact, lives []*podLife) []fact {
	var more []fact
	second := func(what factKind, at time.Time) fact { return fact{kind: what, at: at, node: node.Name} }
	removed := slices.ContainsFunc(facts, func(f fact) bool {
		return f.kind == nodeRemoved && !f.at.After(node.CreationTimestamp.Add(monitorPeriod))
	})
	if removed {
		more = append(more, second(nodeAdded, node.CreationTimestamp.Time))
	} else if i := slices.IndexFunc(lives, func(l *podLife) bool { return !l.hi.Before(node.CreationTimestamp.Time) }); i != 0 && len(lives) > 0 {
		// The node had pods before it was created, so an earlier node had its name.
		last := lives[len(lives)-1]
		if i > 0 {
			last = lives[i-1]
		}
		more = append(more, fact{kind: nodeReplaced, at: last.hi, exact: true, node: node.Name}, second(nodeAdded, node.CreationTimestamp.Time))
	}
	if i := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady }); i >= 0 {
		if at := node.Status.Conditions[i].LastTransitionTime; node.Status.Conditions[i].Status == v1.ConditionTrue &&
			slices.ContainsFunc(facts, func(f fact) bool { return f.kind == nodeNotReady && f.at.Before(at.Time) }) {
			more = append(more, second(nodeReady, at.Time))
		}
	}
	for _, taint := range node.Spec.Taints {
		switch {
		case taint.TimeAdded == nil:
		case taint.Key != v1.TaintNodeUnschedulable:
			more = append(more, second(nodeTaintDated, taint.TimeAdded.Time))
		case node.Spec.Unschedulable && !slices.ContainsFunc(facts, isAuditedNodeFact):
			f := second(nodeCordonChanged, taint.TimeAdded.Time)
			f.cordoned = new(true)
			more = append(more, f)
		}
	}
	return more
}

// dateTaints returns the node with a time for each taint. A taint without timeAdded gets the time at which the list of taints was last set, or
// the node was cordoned.
func dateTaints(node *v1.Node) *v1.Node {
	tainted, cordoned := admission.UnchangedSince(node, "taints"), admission.UnchangedSince(node, "unschedulable")
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
		if (taint.TimeAdded == nil || taint.TimeAdded.Equal(&unknownTime)) && !at.IsZero() {
			taint.TimeAdded = &metav1.Time{Time: at}
		}
	}
	return node
}

// applyLastSet copies the dump's taints and cordon to each phase that begins after they were last set, and to the phase that begins in that
// second.
func (all phases) applyLastSet(node *v1.Node) {
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
	since(admission.UnchangedSince(node, "taints"), func(p *phase) { p.taints = last.taints })
	since(admission.UnchangedSince(node, "unschedulable"), func(p *phase) { p.cordoned = last.cordoned })
}

// isAuditedNodeFact reports whether the fact is about a node and from an audit log.
func isAuditedNodeFact(f fact) bool {
	return f.audit && f.kind >= nodePatched
}

func isSilenceTaint(taint v1.Taint) bool {
	return taint.Key == v1.TaintNodeNotReady || taint.Key == v1.TaintNodeUnreachable
}

// phases are all phases of one node, in order.
type phases []*phase

// beginPhase appends a phase that begins with the fact, and otherwise equals the phase before it.
func (all *phases) beginPhase(f fact) *phase {
	next := *(*all)[len(*all)-1]
	next.at, next.lo, next.hi = f.at, f.at.Add(-f.maxDelay), f.at
	if !f.exact {
		next.hi = f.at.Add(time.Second - 1)
	}
	next.cordonChange, next.cordoned = cordonKept, nil
	*all = append(*all, &next)
	return &next
}

// applyFact appends the phase that the fact begins, if any. It returns how many of the next facts belong to the same change.
func (all *phases) applyFact(f fact, next []fact) int {
	last := (*all)[len(*all)-1]
	switch f.kind {
	case nodeRemoved:
		if !last.removed {
			p := all.beginPhase(f)
			p.cordonChange, p.taints = cordonUnrecorded, &taintSet{}
			p.removed, p.silent, p.mayBeSilent = true, false, false
		}
	case nodeReplaced:
		p := all.beginPhase(f)
		p.cordonChange, p.taints, p.mayBeReplaced = cordonUnrecorded, &taintSet{}, true
	case nodeAdded:
		if last.removed || last.mayBeReplaced {
			p := all.beginPhase(f)
			p.cordonChange, p.taints = cordonUnrecorded, &taintSet{}
			p.removed, p.mayBeReplaced, p.silent, p.mayBeSilent = false, false, false, false
		}
	case nodeNotReady:
		all.beginPhase(f).silent = true
	case nodeReady:
		p := all.beginPhase(f)
		p.silent, p.mayBeSilent = false, false
	case nodeTaintDated:
		all.beginPhase(f)
	case nodeCordonChanged:
		p := all.beginPhase(f)
		p.cordonChange, p.cordoned = cordonFlipped, f.cordoned
	case nodeTaintsSet:
		p := all.beginPhase(f)
		if f.cordoned != nil {
			p.cordonChange, p.cordoned = cordonUnrecorded, f.cordoned
		}
		p.taints = &taintSet{known: true, list: f.taints}
		p.silent, p.mayBeSilent = false, false
	case nodePatched:
		looked := 0
		for looked < len(next) && next[looked].kind == nodePatchedByController && next[looked].at.Sub(f.at) <= []time.Duration{cordonTaintDelay, silenceTaintsDelay}[min(looked, 1)] {
			looked++
		}
		p := all.beginPhase(f)
		switch {
		case looked == 1 && !last.silent:
			// The controller adds or removes the taint of a cordon at once, and changes nothing else at that time.
			p.cordonChange, p.hi = cordonFlipped, next[0].at
		case looked == 1:
			p.cordonChange, p.taints = cordonUnrecorded, &taintSet{}
		case looked > 1:
			p.taints, p.silent, p.hi = &taintSet{}, false, next[looked-1].at
		default:
			p.taints = &taintSet{}
		}
		return looked
	case nodePatchedByController:
		since := last.at
		p := all.beginPhase(f)
		p.taints = &taintSet{}
		p.silent = last.silent && f.at.Sub(since) <= silenceTaintsDelay
	}
	return 0
}

// propagateCordons copies spec.unschedulable between neighbouring phases: it is equal, or opposite after a change that flipped it.
func (all phases) propagateCordons() {
	follow := func(from, to *phase, turns cordonChange) {
		switch {
		case from.cordoned == nil || to.cordoned != nil || turns == cordonUnrecorded:
		case turns == cordonKept:
			to.cordoned = from.cordoned
		default:
			to.cordoned = new(!*from.cordoned)
		}
	}
	for i := len(all) - 1; i > 0; i-- {
		follow(all[i], all[i-1], all[i].cordonChange)
	}
	for i := 1; i < len(all); i++ {
		follow(all[i-1], all[i], all[i].cordonChange)
	}
}

// learnFromPod notes what a pod shows about the node's taints: the pod came to the node in a phase, or the node's taints evicted it.
func (all phases) learnFromPod(l *podLife) {
	if l.deletionRequest != nil && l.byTaint {
		if p := all[all.index(moment{at: l.deletionRequest.at})]; !p.silent && !p.removed {
			p.taints.evictedPods = true
		}
	}
	p := all[all.index(l.moment())]
	for _, edge := range []changeSide{afterChange, beforeChange} {
		if m := l.moment(); l.skipped || all[all.index(m.onSide(edge))] != p {
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
		p.taints.intolerantPodCame, p.mayBeSilent = true, false
		return
	}
	for _, t := range tolerations {
		if t.Key != "" && ofUser(t.Key) {
			p.taints.toleration = &t
		}
	}
}

// placeholder returns a taint that stands for the taints that no source records. The pods that came to the node tolerate it.
func (t *taintSet) placeholder() v1.Taint {
	taint := v1.Taint{Key: "unknown", Effect: v1.TaintEffectNoSchedule}
	if t.toleration != nil {
		taint.Key, taint.Value = t.toleration.Key, t.toleration.Value
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
	for i+1 < len(all) && m.hasReached(all[i+1]) {
		i++
	}
	return i
}

// buildNodes sets the nodes of the phase: as the dump has it, as the sources show it, and as pods may have avoided it.
func (p *phase) buildNodes(node *v1.Node) {
	p.asDumped = p.dropLaterTaints(node)
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
	case p.taints.fromDump:
		for _, taint := range node.Spec.Taints {
			if taint.TimeAdded == nil || !taint.TimeAdded.After(p.at) {
				keep(taint)
			}
		}
	case p.taints.evictedPods:
		keep(p.taints.placeholder())
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
	if p.mayBeSilent || p.mayBeReplaced || p.cordoned == nil || !p.taints.known && !p.taints.fromDump && !p.taints.intolerantPodCame {
		p.avoided = withTaints(node, false, append(list, p.taints.placeholder()))
	}
}

// dropLaterTaints returns the node without the taints that were added after the phase began, according to the dump.
func (p *phase) dropLaterTaints(node *v1.Node) *v1.Node {
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
	edge       changeSide
	nodes      nodeKnowledge
}

// changeSide says whether a moment is before or after a change if both are possible.
type changeSide int

const (
	asRecorded   changeSide = iota // the side that the recorded times show
	afterChange                    // after the change
	beforeChange                   // before the change
)

// nodeKnowledge says which nodes a moment has.
type nodeKnowledge int

const (
	nodesAssumed  nodeKnowledge = iota // pods avoided each node that was changed in an unknown way and that got no pod since
	nodesProven                        // as the sources prove them
	nodesAsDumped                      // as the dump has them, without the taints that the dump dates later
)

func (l *podLife) moment() moment { return moment{at: l.at, lo: l.lo, hi: l.hi} }

func (m moment) onSide(edge changeSide) moment {
	m.edge = edge
	return m
}

func (m moment) withNodes(nodes nodeKnowledge) moment {
	m.nodes = nodes
	return m
}

// hasReached reports whether the phase had begun at the moment.
func (m moment) hasReached(p *phase) bool {
	switch m.edge {
	case afterChange:
		return !p.lo.After(m.hi)
	case beforeChange:
		return p.hi.Before(m.lo)
	}
	return !p.at.After(m.at)
}

// factsByNode groups the facts about nodes by the node's name.
func factsByNode(facts []fact) map[string][]fact {
	of := map[string][]fact{}
	for _, f := range facts {
		if f.kind >= nodePatched {
			of[f.node] = append(of[f.node], f)
		}
	}
	return of
}

// livesByNode groups the lives by node, in the order in which the pods came.
func livesByNode(lives []*podLife) map[string][]*podLife {
	on := map[string][]*podLife{}
	for _, l := range lives {
		on[l.node] = append(on[l.node], l)
	}
	for _, all := range on {
		slices.SortStableFunc(all, func(a, b *podLife) int { return cmp.Or(a.at.Compare(b.at), a.lo.Compare(b.lo)) })
	}
	return on
}
