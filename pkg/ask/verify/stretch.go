package verify

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/parallel"
)

// defaultStretchSize is the number of placements in a stretch: enough to make up for loading the cluster at its beginning into another scheduler.
const defaultStretchSize = 200

// stretch is a run of groups that can be judged without judging the groups before them: it is certain which pods were bound and how many
// had ended when the first of its pods came.
type stretch struct {
	groups   [][]*podLife
	bound    []*podLife
	endCount int
}

// judgeAll judges the stretches on all cores.
func (r *replay) judgeAll() error {
	stretches := r.divideIntoStretches(groupLives(r.past.lives))
	found := make([][]Placement, len(stretches))
	workers := make([]*replay, parallel.Options{}.WorkerCount(len(stretches)))
	err := parallel.Each(r.ctx, len(stretches), parallel.Options{}, func(_ context.Context, worker, i int) error {
		if workers[worker] == nil {
			another := *r
			another.timeline, another.workerCache = r.copyForWorker(), newWorkerCache()
			workers[worker] = &another
		}
		return workers[worker].judgeStretch(&stretches[i], &found[i])
	})
	for _, w := range workers {
		if w != nil {
			w.close()
		}
	}
	r.Placements = slices.Concat(found...)
	return err
}

// divideIntoStretches divides the groups where it is certain how many pods had ended by then, whatever the order within earlier groups.
func (r *replay) divideIntoStretches(groups [][]*podLife) []stretch {
	size := r.opts.stretchSize
	if size == 0 {
		size = defaultStretchSize
	}
	var all []stretch
	var bound []*podLife
	judged, least, most := 0, 0, 0
	for _, group := range groups {
		if len(all) == 0 || judged >= size && least == most {
			bound = slices.DeleteFunc(slices.Clone(bound), func(l *podLife) bool { return l.endsUntilGone < least })
			all = append(all, stretch{bound: slices.Clip(bound), endCount: least})
			judged = 0
		}
		last := &all[len(all)-1]
		last.groups = append(last.groups, group)
		bound = append(bound, group...)
		for _, l := range group {
			if l.skipped {
				continue
			}
			judged++
			choices := r.possibleEndCounts(l, 0)
			least, most = max(least, slices.Min(choices)), max(most, slices.Max(choices))
		}
	}
	return all
}

// judgeStretch schedules the pods of a stretch, group by group, and appends their placements.
func (r *replay) judgeStretch(s *stretch, to *[]Placement) error {
	r.timeline.lastPods = nil
	bound, ends := s.bound, s.endCount
	for _, group := range s.groups {
		r.reportProgress(r.opts, group[0].name)
		before := ends
		search := &search{replay: r, attemptsLeft: maxExtraAttempts, deadEnds: map[string]bool{}, firstRankings: map[lifeRankingKey]*ranking{}, boundBefore: len(bound)}
		found, err := search.arrange(bound, group, ends)
		if found == nil && err == nil {
			found, err = search.arrangeGreedily(bound, group, ends)
		}
		if err != nil {
			return err
		}
		for _, taken := range found {
			if err := r.findAssumptions(taken, bound); err != nil {
				return err
			}
			bound, ends = append(bound, taken.life), max(ends, taken.endCount)
			if taken.placement != nil {
				*to = append(*to, *taken.placement)
				r.countPod()
			}
		}
		gone := func(l *podLife) bool { return l.endsUntilGone < ends }
		if ends > before || slices.ContainsFunc(group, gone) {
			bound = slices.DeleteFunc(slices.Clone(bound), gone)
		}
	}
	return nil
}

// progressCounter counts the pods that all workers have examined.
type progressCounter struct {
	mu          sync.Mutex
	done, total int
}

// countPod counts one more pod.
func (e *progressCounter) countPod() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done++
}

func (e *progressCounter) reportProgress(opts Options, pod types.NamespacedName) {
	if opts.Progress == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	opts.Progress(pod.String(), e.done, e.total)
}
