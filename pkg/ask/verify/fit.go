package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

const (
	// maxAmounts is the number of amounts of CPU, and of memory, that are tried for pods of which only the node is known.
	maxAmounts = 8
	// maxFitted is the number of placements that may be examined to infer what is unknown about pods that are gone.
	maxFitted = 15_000
	// maxRounds is how often each group is fitted while the others stay fixed.
	maxRounds = 4
	// maxFirstPlacements is the number of placements on which each form is tried first. maxBestForms is the number of forms that are then
	// tried on all placements.
	maxFirstPlacements, maxBestForms = 48, 6
)

// unknownPods are the pods of one workload that are gone and for which no source records the end, or the spec.
type unknownPods struct {
	workload types.NamespacedName
	lives    []*podLife // sorted by the time of scheduling
	// endless are the pods without a known end. They existed at least until existedUntil.
	endless      map[*podLife]bool
	existedUntil time.Time
	// forms are the pods' possible specs. If the spec is known, there is one form, without requests.
	forms []podForm
	// form is the index of the assumed form. end is the index of the first placement without the endless pods. start is the index of the first
	// placement after the first of the pods came.
	form, end, start int
}

type podForm struct {
	requests v1.ResourceList
	pods     map[*podLife]*v1.Pod
}

// unknownFitter infers the forms and the ends of the unknown pods: those with which the most placements are among the best. There are few unknowns
// and many placements, and the report shows each unknown.
type unknownFitter struct {
	*replay
	groups []*unknownPods
	// lifeIndices are the indices in past.lives of the pods whose placements are examined.
	lifeIndices []int
	agreements  map[string]bool
	err         error
}

func (r *replay) fitUnknownPods() error {
	f := &unknownFitter{replay: r, agreements: map[string]bool{}}
	for i, l := range r.past.lives {
		if g := r.unknownByLife[l]; g != nil {
			if len(g.lives) == 0 {
				g.start = len(f.lifeIndices)
				f.groups = append(f.groups, g)
			}
			g.lives = append(g.lives, l)
		}
		if l.pod != nil && (!l.skipped || !l.inDump) {
			f.lifeIndices = append(f.lifeIndices, i)
		}
	}
	if len(f.groups) == 0 {
		return nil
	}
	for _, g := range f.groups {
		g.end = len(f.lifeIndices)
	}
	best := f.countDisagreements()
	for range maxRounds {
		before := best
		for _, g := range f.groups {
			best = f.improveGroup(g)
		}
		if f.err != nil || best == before {
			break
		}
	}
	f.applyResult()
	for _, g := range f.groups {
		r.Assumed = append(r.Assumed, f.newAssumed(g))
	}
	return f.err
}

// newAssumed describes the form and the end that were inferred for the group.
func (f *unknownFitter) newAssumed(g *unknownPods) Assumed {
	a := Assumed{Namespace: g.workload.Namespace, Workload: g.workload.Name, Pods: len(g.lives), Endless: len(g.endless)}
	if requests := g.forms[g.form].requests; requests != nil {
		a.CPU, a.Memory = requests.Cpu().String(), requests.Memory().String()
	}
	if len(g.endless) > 0 && g.end < len(f.lifeIndices) {
		if at := f.past.lives[f.lifeIndices[g.end]].at; !at.IsZero() {
			a.Until = at.UTC().Format(time.RFC3339)
		}
	}
	return a
}

// countDisagreements returns the number of placements that are not among the best.
func (f *unknownFitter) countDisagreements() int {
	n := 0
	for i := range f.lifeIndices {
		if !f.agrees(i) {
			n++
		}
	}
	return n
}

// improveGroup sets the form and the end of the group that leave the fewest placements not among the best, while the other groups stay fixed. It
// tries the forms on the first placements after the group came, and the best of them on all.
func (f *unknownFitter) improveGroup(g *unknownPods) int {
	if len(g.forms) == 1 && !f.canGainByEnd(g) {
		return f.countDisagreements()
	}
	form, end := g.form, g.end
	order := []int{form}
	for i := range g.forms {
		if i != form {
			order = append(order, i)
		}
	}
	if len(order) > 1 {
		order = append(order[:1], f.bestForms(g, order)...)
	}
	least := len(f.lifeIndices)
	for i, candidate := range order {
		if f.isBudgetSpent() || i > 0 && candidate == order[0] {
			continue
		}
		if cost, ends := f.tryForm(g, candidate, len(f.lifeIndices), least); ends != nil && (cost < least || i == 0) {
			least, form, end = cost, candidate, f.longestGap(ends)
		}
	}
	g.form, g.end = form, end
	return f.countDisagreements()
}

// canGainByEnd reports whether a longer or shorter life of the group's endless pods would put any more placement among the best.
func (f *unknownFitter) canGainByEnd(g *unknownPods) bool {
	end := g.end
	defer func() { g.end = end }()
	for i := g.start; i < len(f.lifeIndices); i++ {
		g.end = end
		if f.agrees(i) {
			continue
		}
		if g.end = len(f.lifeIndices); i < end {
			g.end = i
		}
		if f.agrees(i) {
			return true
		}
	}
	return false
}

// bestForms returns the at most maxBest forms that leave the fewest of the first placements not among the best.
func (f *unknownFitter) bestForms(g *unknownPods, order []int) []int {
	first := min(g.start+maxFirstPlacements, len(f.lifeIndices))
	least, best := first-g.start, []int(nil)
	for _, candidate := range order {
		if f.isBudgetSpent() {
			break
		}
		switch cost, ends := f.tryForm(g, candidate, first, least); {
		case ends == nil || cost > least:
		case cost < least:
			least, best = cost, []int{candidate}
		default:
			best = append(best, candidate)
		}
	}
	return best[:min(len(best), maxBestForms)]
}

func (f *unknownFitter) isBudgetSpent() bool { return f.err != nil || len(f.agreements) >= maxFitted }

// tryForm counts the placements from g.start to the index to that are not among the best with that form. It also returns the placements before
// which the endless pods may have gone for that count; nil if the count would be above most.
func (f *unknownFitter) tryForm(g *unknownPods, form, to, most int) (int, []int) {
	g.form = form
	without := make([]int, to+1) // without[i] counts the placements from the ith on, after the endless pods are gone
	if len(g.endless) > 0 {
		g.end = 0
		for i := to - 1; i >= g.start; i-- {
			without[i] = without[i+1]
			if !f.agrees(i) {
				without[i]++
			}
		}
	}
	g.end = len(f.lifeIndices)
	earliest := f.earliestEnd(g)
	with, least, ends := 0, most+1, []int(nil)
	for i := g.start; with <= least; i++ {
		if i == to || len(g.endless) > 0 && i >= earliest {
			switch cost := with + without[i]; {
			case cost < least:
				least, ends = cost, []int{i}
			case cost == least && ends != nil:
				ends = append(ends, i)
			}
		}
		if i == to {
			break
		}
		if !f.agrees(i) {
			with++
		}
	}
	return least, ends
}

// longestGap returns the placement before which the most time passed. If the end is equally likely at any time, it is most likely in that gap.
func (f *unknownFitter) longestGap(ends []int) int {
	at := func(i int) time.Time {
		return f.past.lives[f.lifeIndices[min(max(i, 0), len(f.lifeIndices)-1)]].at
	}
	return slices.MaxFunc(ends, func(a, b int) int { return cmp.Compare(at(a).Sub(at(a-1)), at(b).Sub(at(b-1))) })
}

// earliestEnd returns the first placement before which the endless pods of the group may be gone: all of them had come by then.
func (f *unknownFitter) earliestEnd(g *unknownPods) int {
	last := g.lives[len(g.lives)-1].at
	if g.existedUntil.After(last) {
		last = g.existedUntil
	}
	i := g.start
	for i < len(f.lifeIndices) && !f.past.lives[f.lifeIndices[i]].at.After(last) {
		i++
	}
	return i
}

// agrees reports whether the node of the ith placement is among the best with the assumed forms and ends.
func (f *unknownFitter) agrees(i int) bool {
	if f.err != nil {
		return false
	}
	l := f.past.lives[f.lifeIndices[i]]
	ends := max(l.endsBefore, 0)
	for ends < len(f.ends) && !f.ends[ends].at.After(l.at) {
		ends++
	}
	var bound []*podLife
	standing := map[*unknownPods]int{}
	for _, other := range f.past.lives[:f.lifeIndices[i]] {
		if other.endsUntilGone < ends {
			continue
		}
		if g := f.unknownByLife[other]; g != nil {
			if i >= g.end && g.endless[other] {
				continue
			}
			g.applyForm(other)
			standing[g]++
		}
		bound = append(bound, other)
	}
	var key strings.Builder
	fmt.Fprint(&key, i)
	for n, g := range f.groups {
		if standing[g] > 0 {
			fmt.Fprint(&key, " ", n, ":", g.form, ":", standing[g])
		}
	}
	if agrees, known := f.agreements[key.String()]; known {
		return agrees
	}
	f.timeline.lastPods = nil // the cached pods may have other forms
	state, err := f.clusterAt(clusterMoment{l.moment(), ends}, bound, l.pod)
	var seen *ranking
	if err == nil {
		seen, err = f.rankNodes(state, l.pod)
	}
	if err != nil {
		f.err = err
		return false
	}
	f.agreements[key.String()] = seen.isBest(l.node)
	return f.agreements[key.String()]
}

// applyForm gives the pod the assumed form.
func (g *unknownPods) applyForm(l *podLife) {
	l.running = g.forms[g.form].pods[l]
	l.ending = l.running
}

// applyResult gives the unknown pods the inferred forms and ends, so that the replay can use them.
func (f *unknownFitter) applyResult() {
	for _, g := range f.groups {
		for _, l := range g.lives {
			g.applyForm(l)
			if g.endless[l] && g.end < len(f.lifeIndices) {
				at := f.past.lives[f.lifeIndices[g.end]].at.Add(-1)
				l.gone = &podEnd{life: l, gone: true, at: at, lo: at, hi: at}
			}
		}
	}
}

// possibleRequests returns possible requests of unknown pods: each combination of the dump's frequent amounts of CPU and of memory, the smallest
// first.
func possibleRequests(state *cluster.State) []v1.ResourceList {
	count := map[v1.ResourceName]map[int64]int{v1.ResourceCPU: {}, v1.ResourceMemory: {}}
	seen := map[types.UID]bool{}
	for _, pod := range state.Pods {
		of := alikeUID(pod)
		if seen[of] {
			continue
		}
		seen[of] = true
		for name := range count {
			var sum resource.Quantity
			for _, c := range pod.Spec.Containers {
				sum.Add(c.Resources.Requests[name])
			}
			count[name][sum.MilliValue()]++
		}
	}
	frequent := func(name v1.ResourceName) []int64 {
		amounts := slices.SortedFunc(maps.Keys(count[name]), func(a, b int64) int {
			return cmp.Or(count[name][b]-count[name][a], cmp.Compare(a, b))
		})
		return slices.Sorted(slices.Values(amounts[:min(len(amounts), maxAmounts)]))
	}
	var all []v1.ResourceList
	for _, cpu := range frequent(v1.ResourceCPU) {
		for _, memory := range frequent(v1.ResourceMemory) {
			all = append(all, v1.ResourceList{
				v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(memory/1000, resource.BinarySI),
			})
		}
	}
	return all
}
