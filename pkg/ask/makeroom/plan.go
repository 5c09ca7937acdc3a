package makeroom

import (
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/list"
)

// maxPlans and maxVisits limit how many plans of a number of moves are made, and how many sets of pods are looked at for them.
const maxPlans, maxVisits = 20_000, 1_000_000

// planner makes the plans of a number of moves.
type planner struct {
	*search
	moves  int
	plans  []plan
	visits int
	known  map[string]bool
}

// makePlans returns the plans with that number of moves that may make room, the cheapest first, and whether these are all:
//   - sets of pods without which the nodes have resources for the pods that ask, and each of whose pods is needed for that;
//   - sets that moved and did not help, with one pod more that may be in the way for another reason;
//   - sets of which a pod found no place, after moves that make a place for it on another node.
func (s *search) makePlans(moves int) ([]plan, bool) {
	p := &planner{search: s, moves: moves, known: map[string]bool{}}
	p.addSets()
	p.extendSets()
	p.addChains()
	slices.SortStableFunc(p.plans, func(a, b plan) int { return compareCost(a.pods(), b.pods()) })
	return p.plans, len(p.plans) < maxPlans && p.visits < maxVisits
}

// full reports whether there are as many plans as may be.
func (p *planner) full() bool { return len(p.plans) >= maxPlans || p.visits >= maxVisits }

// add adds a plan, unless there is one with the same stages.
func (p *planner) add(stages plan) {
	key := stages.key()
	if p.visits++; !p.known[key] && !p.full() {
		p.known[key] = true
		p.plans = append(p.plans, stages)
	}
}

// key returns a text that is equal for plans that move the same pods in the same stages.
func (p plan) key() string {
	return strings.Join(list.Map(p, func(pods []*candidate) string {
		keys := list.Map(pods, (*candidate).key)
		slices.Sort(keys)
		return strings.Join(keys, " ")
	}), "; ")
}

// subsets returns the subsets of that size. Of pods that look the same, it takes the first ones.
func subsets(among []*candidate, size int) iter.Seq[[]*candidate] {
	return func(yield func([]*candidate) bool) {
		chosen := make([]*candidate, 0, size)
		var choose func(from int) bool
		choose = func(from int) bool {
			if len(chosen) == size {
				return yield(slices.Clone(chosen))
			}
			skipped := map[string]bool{}
			for i := from; i < len(among); i++ {
				if skipped[among[i].class] {
					continue
				}
				chosen = append(chosen, among[i])
				if !choose(i + 1) {
					return false
				}
				chosen = chosen[:len(chosen)-1]
				skipped[among[i].class] = true
			}
			return true
		}
		choose(0)
	}
}

// without returns the set without the pod at that index.
func without(set []*candidate, i int) []*candidate { return slices.Delete(slices.Clone(set), i, i+1) }

// needsEach reports whether the value of the set is above the values of the set without any one of its pods.
func needsEach(set []*candidate, value func([]*candidate) int) bool {
	all := value(set)
	for i := range set {
		if value(without(set, i)) >= all {
			return false
		}
	}
	return true
}

// gain is a set of pods of a node, and for how many more pods the node has resources without them.
type gain struct {
	pods  []*candidate
	slots int
}

// addSets adds the sets without which the nodes have resources for the pods that ask.
func (p *planner) addSets() {
	base := 0
	var gains [][]gain // by node
	for _, n := range p.room.nodes {
		if !p.room.opens(n) {
			continue
		}
		have := p.room.slotsFor(n, nil)
		base += have
		var of []gain
		for size := 1; size <= min(p.moves, len(n.movable)); size++ {
			if p.room.bestSlots(n, size) <= have {
				continue
			}
			for set := range subsets(n.movable, size) {
				if p.visits++; p.visits >= maxVisits {
					return
				}
				value := func(left []*candidate) int { return p.room.slotsFor(n, left) }
				if got := value(set); got > have && needsEach(set, value) {
					of = append(of, gain{set, got - have})
				}
			}
		}
		if len(of) > 0 {
			gains = append(gains, of)
		}
	}
	wanted := len(p.room.waiting) - base
	if wanted <= 0 {
		return
	}
	// most[i][moves] is the largest gain of the nodes from i on with that number of moves.
	most := make([][]int, len(gains)+1)
	most[len(gains)] = make([]int, p.moves+1)
	for i := len(gains) - 1; i >= 0; i-- {
		most[i] = slices.Clone(most[i+1])
		for _, g := range gains[i] {
			for moves := len(g.pods); moves <= p.moves; moves++ {
				most[i][moves] = max(most[i][moves], g.slots+most[i+1][moves-len(g.pods)])
			}
		}
	}
	var combine func(i, moves, slots int, chosen []*candidate)
	combine = func(i, moves, slots int, chosen []*candidate) {
		if slots >= wanted {
			if moves == 0 {
				p.add(plan{slices.Clone(chosen)})
			}
			return
		}
		if p.visits++; i == len(gains) || slots+most[i][moves] < wanted || p.full() {
			return
		}
		combine(i+1, moves, slots, chosen)
		for _, g := range gains[i] {
			if len(g.pods) <= moves {
				combine(i+1, moves-len(g.pods), slots+g.slots, append(slices.Clone(chosen), g.pods...))
			}
		}
	}
	combine(0, p.moves, 0, nil)
}

// extendSets adds the sets that moved and did not help, with one pod more: of a node that has the resources or may have them, or of those that
// a rule or a claim ties to the pods that ask.
func (p *planner) extendSets() {
	for _, moved := range p.helpless {
		if len(moved) != p.moves-1 {
			continue
		}
		on := nodesOf(moved)
		for _, n := range p.room.nodes {
			near := slices.Contains(on, n.Name) || p.room.opens(n) && p.room.slotsFor(n, nil) > 0 ||
				// Of several pods that ask, one may have lost its room on another node to a replacement.
				len(p.room.waiting) > 1 && p.room.opens(n) && p.room.bestSlots(n, p.moves) > 0
			classes := map[string]bool{}
			for _, c := range n.movable {
				if slices.Contains(moved, c) || classes[c.class] || !near && !p.ties.concern(c.Pod) {
					continue
				}
				classes[c.class] = true
				p.add(plan{append(slices.Clone(moved), c)})
			}
		}
	}
}

// addChains adds the plans of which a pod found no place, after moves that make a place for it on another node.
func (p *planner) addChains() {
	for _, failed := range p.failed {
		size := p.moves - len(failed.plan.pods())
		if size < 1 {
			continue
		}
		busy := nodesOf(failed.plan.pods())
		for _, n := range p.room.nodes {
			if slices.Contains(busy, n.Name) || !isOpen(n, failed.stuck.Pod) {
				continue
			}
			value := func(left []*candidate) int { return min(1, n.slots(failed.stuck.requests, left)) }
			for set := range subsets(n.movable, size) {
				if p.full() {
					return
				}
				if p.visits++; value(set) == 1 && (needsEach(set, value) || size == 1) {
					p.add(append(plan{set}, failed.plan...))
				}
			}
		}
	}
}

// ties say which pods on other nodes may keep pods that wait from a node.
type ties struct {
	labels    []labels.Set
	selectors []labels.Selector
	claims    bool
}

// newTies returns the ties of the pods.
func newTies(pods []*v1.Pod) *ties {
	t := &ties{}
	add := func(selector *metav1.LabelSelector) {
		if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil {
			t.selectors = append(t.selectors, parsed)
		}
	}
	for _, pod := range pods {
		t.labels = append(t.labels, pod.Labels)
		t.claims = t.claims || len(pod.Spec.ResourceClaims) > 0
		for i := range pod.Spec.TopologySpreadConstraints {
			if c := &pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == v1.DoNotSchedule {
				add(c.LabelSelector)
			}
		}
		for _, term := range requiredTerms(pod, true, true) {
			add(term.LabelSelector)
		}
	}
	return t
}

// requiredTerms returns the terms of required pod affinity and anti-affinity.
func requiredTerms(pod *v1.Pod, affinity, antiAffinity bool) (terms []v1.PodAffinityTerm) {
	a := pod.Spec.Affinity
	if a != nil && a.PodAffinity != nil && affinity {
		terms = append(terms, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	if a != nil && a.PodAntiAffinity != nil && antiAffinity {
		terms = append(terms, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	return terms
}

// concern reports whether the pod, on whichever node, may keep a pod that waits from a node.
func (t *ties) concern(pod *v1.Pod) bool {
	if t.claims && len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	if slices.ContainsFunc(t.selectors, func(s labels.Selector) bool { return s.Matches(labels.Set(pod.Labels)) }) {
		return true
	}
	for _, term := range requiredTerms(pod, false, true) {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err == nil && slices.ContainsFunc(t.labels, func(set labels.Set) bool { return selector.Matches(set) }) {
			return true
		}
	}
	return false
}
