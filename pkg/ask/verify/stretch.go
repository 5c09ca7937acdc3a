package verify

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/parallel"
)

// perStretch is the number of placements in a stretch: enough to make up for loading the cluster at its beginning into another scheduler.
const perStretch = 200

// stretch is a run of groups that can be judged without judging the groups before them: it is certain which pods were bound and how many
// had ended when the first of its pods came.
type stretch struct {
	groups [][]*life
	bound  []*life
	ends   int
}

// replay judges the stretches on all cores.
func (r *replay) replay() error {
	stretches := r.stretches(groups(r.past.lives))
	found := make([][]Placement, len(stretches))
	workers := make([]*replay, parallel.Options{}.Count(len(stretches)))
	err := parallel.Each(r.ctx, len(stretches), parallel.Options{}, func(_ context.Context, worker, i int) error {
		if workers[worker] == nil {
			another := *r
			another.timeline, another.eyes = r.another(), newEyes()
			workers[worker] = &another
		}
		return workers[worker].judge(&stretches[i], &found[i])
	})
	for _, w := range workers {
		if w != nil {
			w.close()
		}
	}
	r.Placements = slices.Concat(found...)
	return err
}

// stretches divides the groups where it is certain how many pods had ended by then, whatever the order within earlier groups.
func (r *replay) stretches(groups [][]*life) []stretch {
	size := r.opts.stretch
	if size == 0 {
		size = perStretch
	}
	var all []stretch
	var bound []*life
	judged, least, most := 0, 0, 0
	for _, group := range groups {
		if len(all) == 0 || judged >= size && least == most {
			bound = slices.DeleteFunc(slices.Clone(bound), func(l *life) bool { return l.ends < least })
			all = append(all, stretch{bound: slices.Clip(bound), ends: least})
			judged = 0
		}
		last := &all[len(all)-1]
		last.groups = append(last.groups, group)
		bound = append(bound, group...)
		for _, l := range group {
			if l.given {
				continue
			}
			judged++
			choices := r.choices(l, 0)
			least, most = max(least, slices.Min(choices)), max(most, slices.Max(choices))
		}
	}
	return all
}

// judge schedules the pods of a stretch, group by group, and appends their placements.
func (r *replay) judge(s *stretch, to *[]Placement) error {
	r.timeline.bound = nil
	bound, ends := s.bound, s.ends
	for _, group := range s.groups {
		r.progress(r.opts, group[0].name)
		before := ends
		search := &search{replay: r, spare: maxSpare, failed: map[string]bool{}, known: map[knownKey]*look{}, before: len(bound)}
		found, err := search.arrange(bound, group, ends)
		if found == nil && err == nil {
			found, err = search.greedy(bound, group, ends)
		}
		if err != nil {
			return err
		}
		for _, taken := range found {
			if err := r.weigh(taken, bound); err != nil {
				return err
			}
			bound, ends = append(bound, taken.life), max(ends, taken.ends)
			if taken.placement != nil {
				*to = append(*to, *taken.placement)
				r.examine()
			}
		}
		gone := func(l *life) bool { return l.ends < ends }
		if ends > before || slices.ContainsFunc(group, gone) {
			bound = slices.DeleteFunc(slices.Clone(bound), gone)
		}
	}
	return nil
}

// examined counts the pods that all workers have examined.
type examined struct {
	mu          sync.Mutex
	done, total int
}

// examine counts one more pod.
func (e *examined) examine() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done++
}

func (e *examined) progress(opts Options, pod types.NamespacedName) {
	if opts.Progress == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	opts.Progress(pod.String(), e.done, e.total)
}
