package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/run"
)

// New compares two Reports. version is Faultline's version.
func New(old, new *run.Report, version string) *Report {
	d := newDiff(run.Kind, &old.Head, &new.Head, version)
	d.Old.Steps, d.New.Steps = len(old.Steps), len(new.Steps)
	before, after := podsByName(old.Steps), podsByName(new.Steps)
	pairs := d.pairSteps(list.Map(old.Steps, func(s run.Step) string { return s.Name }), list.Map(new.Steps, func(s run.Step) string { return s.Name }))
	var earlier []StepDiff
	for _, at := range pairs {
		step := stepComparison{StepDiff: StepDiff{Name: new.Steps[at.new].Name}, old: &old.Steps[at.old], new: &new.Steps[at.new]}
		step.compare(before[:at.old+1], after[:at.new+1])
		step.markRepeatedMoves(earlier)
		earlier = append(earlier, step.StepDiff)
		of := func(s *run.Step) []report.Declared { return s.Declared }
		if !d.addDeclared(step.Name, declaredAfter(old.Steps[:at.old+1], of), declaredAfter(new.Steps[:at.new+1], of)) && step.empty() {
			d.Unchanged = append(d.Unchanged, step.Name)
		} else if !step.empty() {
			d.Steps = append(d.Steps, step.StepDiff)
		}
	}
	d.setVerdict()
	return d
}

// newDiff returns a comparison with its head and the conditions in which the two reports differ.
func newDiff(of string, old, new *report.Head, version string) *Report {
	d := &Report{
		APIVersion: report.APIVersion, Kind: Kind, Version: version, Of: of,
		Old: Compared{Version: old.Version, Scenario: old.Scenario}, New: Compared{Version: new.Version, Scenario: new.Scenario},
	}
	d.addCondition("scenario", old.Scenario, new.Scenario)
	d.addCondition("Faultline", old.Version, new.Version)
	d.addCondition("kube-scheduler", old.Scheduler.Version, new.Scheduler.Version)
	d.addCondition("Kubernetes", old.Scheduler.Kubernetes, new.Scheduler.Kubernetes)
	d.addCondition("profiles", strings.Join(old.Scheduler.Profiles, ", "), strings.Join(new.Scheduler.Profiles, ", "))
	d.addCondition("feature gates", strings.Join(old.Scheduler.FeatureGates, ", "), strings.Join(new.Scheduler.FeatureGates, ", "))
	d.addCondition("ties", doc.Ties(*old), doc.Ties(*new))
	d.addCondition("cluster", doc.ClusterLine(old.Cluster), doc.ClusterLine(new.Cluster))
	return d
}

func (d *Report) addCondition(what, old, new string) {
	if old != new {
		d.Conditions = append(d.Conditions, Condition{What: what, Old: cmp.Or(old, "none"), New: cmp.Or(new, "none")})
	}
}

// indexPair has the indices of an element in two lists.
type indexPair struct{ old, new int }

// pairSteps pairs the steps with the same name, in the order of new, and adds the others to the report. If several steps have a name, it
// pairs the first with the first, and so on.
func (d *Report) pairSteps(old, new []string) []indexPair {
	pairs, added, removed := pairByKey(old, new)
	for _, i := range added {
		d.Added = append(d.Added, new[i])
	}
	for _, i := range removed {
		d.Removed = append(d.Removed, old[i])
	}
	return pairs
}

// pairByKey pairs the n-th element of a key with the n-th one of the same key, in the order of new. added and removed are the indices of
// the elements without a pair.
func pairByKey[K comparable](old, new []K) (pairs []indexPair, added, removed []int) {
	places := map[K][]int{}
	for i, key := range old {
		places[key] = append(places[key], i)
	}
	for i, key := range new {
		if left := places[key]; len(left) > 0 {
			pairs, places[key] = append(pairs, indexPair{left[0], i}), left[1:]
		} else {
			added = append(added, i)
		}
	}
	for _, left := range places {
		removed = append(removed, left...)
	}
	slices.Sort(removed)
	return pairs, added, removed
}

// pair is an element of two lists; nil for a list that lacks it.
type pair[T any] struct{ old, new *T }

// pairBy returns the pairs of pairByKey, then the elements that only new has, then those that only old has.
func pairBy[T any, K comparable](old, new []T, key func(T) K) []pair[T] {
	matched, added, removed := pairByKey(list.Map(old, key), list.Map(new, key))
	return slices.Concat(
		list.Map(matched, func(at indexPair) pair[T] { return pair[T]{&old[at.old], &new[at.new]} }),
		list.Map(added, func(i int) pair[T] { return pair[T]{nil, &new[i]} }),
		list.Map(removed, func(i int) pair[T] { return pair[T]{&old[i], nil} }),
	)
}

// unpaired returns the elements that only new has, and those that only old has.
func unpaired[T any, K comparable](old, new []T, key func(T) K) (added, removed []T) {
	for _, p := range pairBy(old, new, key) {
		switch {
		case p.old == nil:
			added = append(added, *p.new)
		case p.new == nil:
			removed = append(removed, *p.old)
		}
	}
	return added, removed
}

// podsByName returns the pods of each step by name.
func podsByName(steps []run.Step) []map[types.NamespacedName]*run.Pod {
	places := make([]map[types.NamespacedName]*run.Pod, len(steps))
	for i := range steps {
		places[i] = make(map[types.NamespacedName]*run.Pod, len(steps[i].Pods))
		for j := range steps[i].Pods {
			places[i][steps[i].Pods[j].Key()] = &steps[i].Pods[j]
		}
	}
	return places
}

// lastPlacement returns the pod as it was in the last of the steps that placed it on the node that it has now; nil if it had that node from the
// start.
func lastPlacement(steps []map[types.NamespacedName]*run.Pod, pod *run.Pod) *run.Pod {
	for _, step := range slices.Backward(steps) {
		was := step[pod.Key()]
		if was == nil || was.Node != pod.Node {
			return nil
		}
		if was.Decision != nil {
			return was
		}
	}
	return nil
}

// stepComparison is a comparison of one step, and the two steps.
type stepComparison struct {
	StepDiff
	old, new *run.Step
}

// compare compares the step. before and after have the pods of each step up to and including this one.
func (d *stepComparison) compare(before, after []map[types.NamespacedName]*run.Pod) {
	d.Pods = newChange(d.old.Summary.Pods, d.new.Summary.Pods)
	d.Pending = newChange(d.old.Summary.Pending, d.new.Summary.Pending)
	d.NotCreated = newChange(d.old.Summary.NotCreated, d.new.Summary.NotCreated)
	d.NotReady = newChange(d.old.Summary.NotReady, d.new.Summary.NotReady)
	d.comparePods(before, after)
	d.compareWorkloads()
	d.compareBindings()
	d.compareRollouts()
	d.compareExpectations()
}

// newChange returns nil if the number is the same.
func newChange(old, new int) *Change {
	if old == new {
		return nil
	}
	return &Change{Old: old, New: new}
}

// empty reports whether there is no difference.
func (d *stepComparison) empty() bool {
	return d.Pods == nil && d.Pending == nil && d.NotCreated == nil && d.NotReady == nil &&
		len(d.Moved)+len(d.Added)+len(d.Removed)+len(d.NewlyPending)+len(d.NoLongerPending)+len(d.OtherMessage)+len(d.Workloads)+len(d.Bindings)+
			len(d.NewlyStuck)+len(d.NoLongerStuck)+len(d.NewlyUnmet)+len(d.NoLongerUnmet) == 0
}

// comparePods compares the pods, workload by workload in the new report's order, then those of the workloads that only the old report has.
func (d *stepComparison) comparePods(before, after []map[types.NamespacedName]*run.Pod) {
	of := run.Pod.Owner
	old := list.IndexBy(list.GroupBy(d.old.Pods, of), func(group []run.Pod) cluster.Ref { return of(group[0]) })
	for _, group := range list.GroupBy(d.new.Pods, of) {
		d.compareWorkloadPods(old[of(group[0])], group, before, after)
		delete(old, of(group[0]))
	}
	for _, pod := range d.old.Pods {
		if group, left := old[of(pod)]; left {
			d.compareWorkloadPods(group, nil, before, after)
			delete(old, of(pod))
		}
	}
}

func (d *stepComparison) compareWorkloadPods(old, new []run.Pod, before, after []map[types.NamespacedName]*run.Pod) {
	pairs, added, removed := pairPods(old, new)
	same := sameNodes(old, new)
	for _, at := range pairs {
		from, to := &old[at.old], &new[at.new]
		switch {
		case from.Node == "" && to.Node == "" && from.Why() != to.Why():
			d.OtherMessage = append(d.OtherMessage, OtherMessage{PodRef: to.PodRef, Old: from.Why(), New: to.Why()})
		case from.Node == to.Node:
		case to.Node == "":
			d.NewlyPending = append(d.NewlyPending, newStrandedPod(to))
		case from.Node == "":
			d.NoLongerPending = append(d.NoLongerPending, newDiffPod(to))
		default:
			moved := newMovedPod(from, to, lastPlacement(before, from), lastPlacement(after, to))
			moved.SameNodes = same
			if from.Name != to.Name {
				moved.OldName, moved.Position = from.Name, at.new+1
			}
			d.Moved = append(d.Moved, moved)
		}
	}
	for _, i := range added {
		d.Added = append(d.Added, newDiffPod(&new[i]))
		if new[i].Node == "" {
			d.NewlyPending = append(d.NewlyPending, newStrandedPod(&new[i]))
		}
	}
	for _, i := range removed {
		d.Removed = append(d.Removed, newDiffPod(&old[i]))
		if old[i].Node == "" {
			d.NoLongerPending = append(d.NoLongerPending, newDiffPod(&old[i]))
		}
	}
}

// pairPods pairs the pods of a workload as MovedPod says.
func pairPods(old, new []run.Pod) (pairs []indexPair, added, removed []int) {
	key := func(pods []run.Pod) []types.NamespacedName { return list.Map(pods, run.Pod.Key) }
	kind := ""
	if len(new) > 0 {
		kind, _, _ = strings.Cut(new[0].Workload, "/")
	}
	switch kind {
	case "", "statefulset":
		return pairByKey(key(old), key(new))
	case "daemonset":
		node := func(pods []run.Pod) []string { return list.Map(pods, func(p run.Pod) string { return p.Node }) }
		return pairByKey(node(old), node(new))
	}
	byName, left, gone := pairByKey(key(old), key(new))
	for len(left) > 0 && len(gone) > 0 { // other names, since the template changed or other pods were created before
		byName = append(byName, indexPair{gone[0], left[0]})
		left, gone = left[1:], gone[1:]
	}
	slices.SortFunc(byName, func(a, b indexPair) int { return a.new - b.new })
	var byPosition []indexPair
	for i := range min(len(old), len(new)) {
		byPosition = append(byPosition, indexPair{i, i})
	}
	moves := func(pairs []indexPair) (n int) {
		for _, at := range pairs {
			if old[at.old].Node != new[at.new].Node {
				n++
			}
		}
		return n
	}
	if moves(byName) <= moves(byPosition) {
		return byName, left, gone
	}
	for i := len(byPosition); i < max(len(old), len(new)); i++ {
		if i < len(new) {
			added = append(added, i)
		} else {
			removed = append(removed, i)
		}
	}
	return byPosition, added, removed
}

// sameNodes reports whether each node has as many of the pods in both lists.
func sameNodes(old, new []run.Pod) bool {
	nodes := func(pods []run.Pod) map[string]int {
		n := map[string]int{}
		for _, pod := range pods {
			n[pod.Node]++
		}
		return n
	}
	return maps.Equal(nodes(old), nodes(new))
}

func newDiffPod(p *run.Pod) DiffPod {
	return DiffPod{PodRef: p.PodRef, Node: p.Node}
}

func newStrandedPod(p *run.Pod) placement.StrandedPod {
	return placement.StrandedPod{PodRef: p.PodRef, Wait: p.Wait, Reasons: p.Reasons}
}

// newMovedPod compares two versions of a pod. fromPlaced and toPlaced are the pod in the steps that placed it.
func newMovedPod(from, to, fromPlaced, toPlaced *run.Pod) MovedPod {
	m := MovedPod{Namespace: to.Namespace, Name: to.Name, Workload: to.Workload, From: from.Node, To: to.Node}
	m.OldChoice, m.NewChoice = newChoice(fromPlaced), newChoice(toPlaced)
	m.AmongEquals = m.OldChoice != nil && m.NewChoice != nil && m.OldChoice.Ties > 1 && m.NewChoice.Ties > 1 &&
		!fromPlaced.Cycle.ScoresBelowTop(to.Node) && !toPlaced.Cycle.ScoresBelowTop(from.Node)
	return m
}

func newChoice(p *run.Pod) *Choice {
	if p == nil {
		return nil
	}
	d := p.Decision
	return &Choice{Scored: d.Scored, Ties: d.Ties, Margin: d.Margin, Deciders: d.Deciders, Together: d.Together}
}

// markRepeatedMoves sets, for each pod that already moved in the last compared step in the same way, the first step with this move.
func (d *stepComparison) markRepeatedMoves(earlier []StepDiff) {
	if len(earlier) == 0 {
		return
	}
	type move struct{ namespace, oldName, name, from, to string }
	of := func(m MovedPod) move { return move{m.Namespace, cmp.Or(m.OldName, m.Name), m.Name, m.From, m.To} }
	last := earlier[len(earlier)-1]
	steps := map[move]string{}
	for _, m := range last.Moved {
		steps[of(m)] = cmp.Or(m.Since, last.Name)
	}
	for i := range d.Moved {
		d.Moved[i].Since = steps[of(d.Moved[i])]
	}
}

func (d *stepComparison) compareWorkloads() {
	for _, w := range pairBy(d.old.Workloads, d.new.Workloads, func(w run.Workload) string { return w.Namespace + "/" + w.Title() }) {
		is := cmp.Or(w.new, w.old)
		none := &run.Workload{Ref: is.Ref, Source: is.Source}
		d.compareWorkload(cmp.Or(w.old, none), cmp.Or(w.new, none))
	}
}

// compareWorkload compares a workload. It leaves out levels that only one of the reports shows, since the rules of the pods decide which levels a
// report shows.
func (d *stepComparison) compareWorkload(old, new *run.Workload) {
	w := WorkloadDiff{
		Ref: new.Ref, Source: new.Source,
		Desired: newChange(old.Desired, new.Desired), Running: newChange(old.Running, new.Running), Pending: newChange(old.Pending, new.Pending),
	}
	key := func(d run.Distribution) string { return d.TopologyKey }
	keys := list.Map(new.Domains, key)
	for _, d := range old.Domains {
		if !slices.Contains(keys, d.TopologyKey) {
			keys = append(keys, d.TopologyKey)
		}
	}
	for _, key := range keys {
		before, after := old.Distribution(key), new.Distribution(key)
		both := before != nil && after != nil
		if both && !equalDistributions(before, after) || !both && (len(old.Domains) == 0 || len(new.Domains) == 0) {
			w.Levels = append(w.Levels, LevelDiff{TopologyKey: key, Old: before, New: after})
		}
	}
	if w.Desired != nil || w.Running != nil || w.Pending != nil || len(w.Levels) > 0 {
		d.Workloads = append(d.Workloads, w)
	}
}

func equalDistributions(d, other *run.Distribution) bool {
	return d.Empty == other.Empty && d.Unlabelled == other.Unlabelled && d.Skew == other.Skew && slices.Equal(d.Counts, other.Counts)
}

// compareBindings compares what Karmada decided, and not which pods then run.
func (d *stepComparison) compareBindings() {
	id := func(b run.Binding) string { return b.Namespace + "/" + b.Kind + "/" + b.Name }
	for _, b := range pairBy(d.old.Bindings, d.new.Bindings, id) {
		if b.old == nil || b.new == nil || !b.old.Decides(b.new) {
			of := cmp.Or(b.new, b.old)
			d.Bindings = append(d.Bindings, BindingDiff{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, Old: b.old, New: b.new})
		}
	}
}

func (d *stepComparison) compareRollouts() {
	d.NewlyStuck, d.NoLongerStuck = unpaired(d.old.Rollouts, d.new.Rollouts, func(r controller.Rollout) cluster.Ref { return r.Ref })
}

// compareExpectations pairs expectations by their words. An expectation counts as met in a report that does not have it.
func (d *stepComparison) compareExpectations() {
	want := func(e expect.Judged) string { return e.Want }
	d.NewlyUnmet, d.NoLongerUnmet = unpaired(expect.Unmet(d.old.Expectations), expect.Unmet(d.new.Expectations), want)
}
