package diff

import (
	"cmp"
	"slices"
	"sort"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
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

// newlyOneReplica returns the workloads that have one replica now and had several before.
func newlyOneReplica(old, new *blast.Step) []OneReplica {
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
			all = append(all, OneReplica{WorkloadRef: of, Replicas: before[of]})
		}
	}
	slices.SortFunc(all, func(a, b OneReplica) int { return a.WorkloadRef.Compare(b.WorkloadRef) })
	return all
}

// newlyStranded returns the workloads, without added ones, of which a failure leaves more pods that do not come back than any failure did before. It leaves
// out a workload of which no pod came back before, unless it is further from an even spread: then only its loss is larger, as it would be
// with an even spread.
func newlyStranded(old, new *askblast.Level, excess []ExcessDiff, added map[cluster.WorkloadRef]bool) []StrandedDiff {
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

// countLost returns how many pods of the workload the failure takes.
func countLost(f *askblast.Failure, of cluster.WorkloadRef) int {
	for _, loss := range f.Workloads {
		if loss.Ref.Workload() == of {
			return loss.Lost
		}
	}
	return 0
}
