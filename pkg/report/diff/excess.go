package diff

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"k8s.io/utils/ptr"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
)

// boundedSpread is the worst loss of a workload to failures of a level. low and high bound the number of domains over which the even spread of the
// report is.
type boundedSpread struct {
	Spread
	low, high int
}

// worstSpreads returns the worst loss of each workload to failures of the level. together is how many domains fail together.
func worstSpreads(l *askblast.Level, together int) map[cluster.WorkloadRef]*boundedSpread {
	worst := map[cluster.WorkloadRef]*boundedSpread{}
	for i := range l.Failures {
		f := &l.Failures[i]
		for _, loss := range f.Workloads {
			of := loss.Ref.Workload()
			if worst[of] == nil || loss.Lost > worst[of].Lost {
				worst[of] = &boundedSpread{Spread: Spread{Lost: loss.Lost, Even: loss.Even, Replicas: loss.Replicas, Domains: f.Domains}}
			}
		}
	}
	for _, s := range worst {
		s.bound(l.Domains, together)
	}
	return worst
}

// bound finds low and high: the least and the most domains over which an even spread loses s.Even pods. For example, 6 replicas lose 2 over 3, 4 or
// 5 domains, so low is 3 and high is 5. Reports of older versions do not have s.Even; then the even spread loses at most what the placement loses.
func (s *boundedSpread) bound(domains, together int) {
	s.low = 1 + sort.Search(domains-1, func(i int) bool { return askblast.EvenLoss(s.Replicas, i+1, together) <= cmp.Or(s.Even, s.Lost) })
	s.high = max(s.low, sort.Search(domains, func(i int) bool { return askblast.EvenLoss(s.Replicas, i+1, together) < s.Even }))
}

// newExcess returns the workloads of several replicas that are further from an even spread than before, the largest share first.
func newExcess(old, new map[cluster.WorkloadRef]*boundedSpread, oldTogether, newTogether int) []ExcessDiff {
	var all []ExcessDiff
	for of, after := range new {
		before := old[of]
		if after.Replicas < 2 || before != nil && before.Replicas < 2 {
			continue // a failure takes a workload of one replica whole, wherever it is
		}
		d := ExcessDiff{WorkloadRef: of, New: after.Spread}
		if before == nil {
			d.New.Even = askblast.EvenLoss(after.Replicas, after.low, newTogether)
		} else {
			over := min(max(after.low, before.low), before.high) // domains that admitted the workload before, so that a rule which excludes some is seen
			d.Old = &before.Spread
			d.Old.Even = askblast.EvenLoss(before.Replicas, over, oldTogether)
			d.New.Even = askblast.EvenLoss(after.Replicas, over, newTogether)
		}
		if d.worse() {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b ExcessDiff) int {
		return cmp.Or(cmp.Compare(b.New.share(), a.New.share()), a.WorkloadRef.Compare(b.WorkloadRef))
	})
	return all
}

func (s Spread) share() float64 { return float64(s.Lost-s.Even) / float64(s.Replicas) }

// worse reports whether the share of the replicas that is lost beyond an even spread has grown. If the workload has fewer replicas than
// before, the old excess is scaled down and rounded up. For example, an excess of 1 of 4 allows 1 of 2.
func (d *ExcessDiff) worse() bool {
	beyond := d.New.Lost - d.New.Even
	if d.Old == nil {
		return beyond > 0
	}
	before := max(0, d.Old.Lost-d.Old.Even) * d.New.Replicas
	if d.New.Replicas < d.Old.Replicas {
		before += d.Old.Replicas - 1
	}
	return beyond > before/d.Old.Replicas
}

// newlyOneReplica returns the workloads that have one replica now, or want none, and had several before. No failure takes a workload without pods,
// so only what it declares says that it has none.
func newlyOneReplica(old, new *blast.Step, declaredBefore, declared []report.Declared) []OneReplica {
	replicas := func(s *blast.Step) map[cluster.WorkloadRef]int {
		of := map[cluster.WorkloadRef]int{}
		for _, l := range s.Levels {
			for _, f := range l.Failures {
				for _, loss := range f.Workloads {
					of[loss.Ref.Workload()] = loss.Replicas
				}
			}
		}
		return of
	}
	var all []OneReplica
	before := replicas(old)
	for of, n := range replicas(new) {
		if n == 1 && before[of] > 1 {
			all = append(all, OneReplica{WorkloadRef: of, Left: 1, Replicas: before[of]})
		}
	}
	for _, w := range pairBy(declaredBefore, declared, func(w report.Declared) cluster.Ref { return w.Ref }) {
		if w.old == nil || w.new == nil || w.new.Replicas == nil || w.old.Replicas == nil {
			continue
		}
		if *w.new.Replicas == 0 && *w.old.Replicas > 1 {
			all = append(all, OneReplica{WorkloadRef: w.new.Workload(), Replicas: *w.old.Replicas})
		}
	}
	slices.SortFunc(all, func(a, b OneReplica) int { return a.WorkloadRef.Compare(b.WorkloadRef) })
	return all
}

// Brief returns "1 replica is left of 3", or "no replica is left of 3".
func (w *OneReplica) Brief() string {
	if w.Left == 0 {
		return fmt.Sprintf("no replica is left of %d", w.Replicas)
	}
	return fmt.Sprintf("1 replica is left of %d", w.Replicas)
}

// newlyStranded returns the workloads, without added ones, of which a failure leaves more pods that do not come back than any failure did before. It leaves
// out a workload of which no pod came back before, unless it is further from an even spread: then only its loss is larger, as it would be
// with an even spread. Of a grown workload, it does not count the pods that the same rules as before hold back: where every domain has its share, they
// leave no place for another pod, and more pods still run than before.
func newlyStranded(old, new *askblast.Level, excess []ExcessDiff, added, grown map[cluster.WorkloadRef]bool) []StrandedDiff {
	before, whole := map[cluster.WorkloadRef]int{}, true
	nothingBack := map[cluster.WorkloadRef]bool{}
	lookedAt := map[string]bool{}
	for i := range old.Failures {
		f := &old.Failures[i]
		r := old.Recovery(f)
		if r == nil {
			whole = false
			continue
		}
		lookedAt[domainsKey(*f)] = true
		for of, n := range r.NotBackByWorkload() {
			if n > before[of] {
				before[of], nothingBack[of] = n, n >= countLost(f, of)
			}
		}
	}
	worst := map[cluster.WorkloadRef]*StrandedDiff{}
	for i := range new.Failures {
		f := &new.Failures[i]
		r := new.Recovery(f)
		if r == nil || !whole && !lookedAt[domainsKey(*f)] {
			continue // it is unknown what this failure left before
		}
		for of, n := range r.NotBackByWorkload() {
			further := slices.ContainsFunc(excess, func(d ExcessDiff) bool { return d.WorkloadRef == of })
			if grown[of] && !further {
				n -= countHeld(r, of)
			}
			if n > before[of] && !added[of] && (further || !nothingBack[of]) && (worst[of] == nil || n > worst[of].New) {
				worst[of] = &StrandedDiff{WorkloadRef: of, Old: before[of], New: n, Domains: f.Domains}
			}
		}
	}
	var all []StrandedDiff
	for _, d := range worst {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b StrandedDiff) int {
		return cmp.Or(cmp.Compare(b.New-b.Old, a.New-a.Old), a.WorkloadRef.Compare(b.WorkloadRef))
	})
	return all
}

// grownUnderSameRules returns the workloads with more replicas than before under the same hard rules about pods.
func grownUnderSameRules(before, after []report.Declared) map[cluster.WorkloadRef]bool {
	hard := func(d *report.Declared) []rule.Rule {
		return list.Map(list.Where(d.Rules, func(r rule.Rule) bool { return r.Hard && (r.Kind == rule.Spread || r.Kind == rule.AntiAffinity) }), withoutPath)
	}
	grown := map[cluster.WorkloadRef]bool{}
	for _, w := range pairBy(before, after, func(w report.Declared) cluster.Ref { return w.Ref }) {
		if w.old != nil && w.new != nil && ptr.Deref(w.new.Replicas, 0) > ptr.Deref(w.old.Replicas, 0) {
			grown[w.new.Workload()] = slices.Equal(hard(w.old), hard(w.new))
		}
	}
	return grown
}

// countHeld counts the replacements of the workload's pods for which there is room on every node, but which rules about pods keep off.
func countHeld(r *askblast.Recovery, of cluster.WorkloadRef) int {
	return list.Count(r.Stranded, func(pod placement.StrandedPod) bool {
		return pod.Owner().Workload() == of && pod.Node == "" &&
			slices.ContainsFunc(pod.Reasons, func(r placement.Reason) bool {
				return r.Plugin == "PodTopologySpread" || r.Plugin == "InterPodAffinity"
			}) &&
			!slices.ContainsFunc(pod.Reasons, func(r placement.Reason) bool { return r.Plugin == "NodeResourcesFit" })
	})
}

// countLost returns how many pods of the workload the failure takes.
func countLost(f *askblast.Failure, of cluster.WorkloadRef) int {
	for _, loss := range f.Workloads {
		if loss.Ref.Workload() == of {
			return loss.Lost
		}
	}
	return 0
}
