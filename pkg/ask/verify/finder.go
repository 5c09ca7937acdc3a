package verify

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// finder looks for causes on other cores while the replay goes on. Nothing that the replay does depends on a cause, and no cause on another.
type finder struct {
	ctx    context.Context
	fail   context.CancelFunc
	open   chan *cause
	ended  sync.WaitGroup
	errors []error // by worker
}

// mostFinders bounds the workers, each of which has schedulers of its own.
const mostFinders = 4

// startFinder starts a worker for each core but the one of the replay; nil if there is no other.
func (r *replay) startFinder() *finder {
	workers := min(runtime.GOMAXPROCS(0)-1, mostFinders)
	if workers == 0 {
		return nil
	}
	f := &finder{open: make(chan *cause, 64), errors: make([]error, workers)}
	f.ctx, f.fail = context.WithCancel(r.ctx)
	for i := range workers {
		own := r.alone()
		f.ended.Go(func() {
			defer own.close()
			for c := range f.open {
				if c.replay = own; f.errors[i] == nil && f.ctx.Err() == nil {
					if f.errors[i] = c.find(); f.errors[i] != nil {
						f.fail()
					}
				}
			}
		})
	}
	return f
}

// alone returns a replay that shares only what never changes.
func (r *replay) alone() *replay {
	own, timeline := *r, *r.timeline
	timeline.nodes, timeline.last, timeline.bound = map[string][]*v1.Node{}, nodesAt{}, boundPods{}
	own.timeline, own.engines, own.filled, own.enough = &timeline, map[string]*sched.Engine{}, map[*v1.Node]*v1.Node{}, map[sampled]int{}
	return &own
}

// explain looks for the cause, now if there is only one core.
func (r *replay) explain(c *cause) error {
	c.placed.Divergence = &Divergence{PodRef: cluster.NewPodRef(c.pod, r.ownerOf(c.pod)), Node: c.node} // it is completed in place
	if r.finder == nil {
		return c.find()
	}
	select {
	case r.finder.open <- c:
		return nil
	case <-r.finder.ctx.Done():
		return r.finder.ctx.Err()
	}
}

// endFinder waits for the causes. If the replay has failed, what has no cause by then is left out.
func (r *replay) endFinder(err error) error {
	if r.finder != nil {
		close(r.finder.open)
		r.finder.ended.Wait()
		r.finder.fail()
		if failed := errors.Join(r.finder.errors...); failed != nil && r.ctx.Err() == nil {
			err = failed
		} else if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
		r.finder = nil
	}
	if err != nil {
		r.Placements = slices.DeleteFunc(r.Placements, func(p Placement) bool { return p.Divergence != nil && p.Divergence.Class == "" })
		r.done = len(r.Placements)
	}
	return err
}
