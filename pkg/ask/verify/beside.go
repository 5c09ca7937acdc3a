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

// beside looks for causes on other cores while the replay goes on. Nothing that the replay does depends on a cause, and no cause on another.
type beside struct {
	ctx    context.Context
	open   chan *cause
	ended  sync.WaitGroup
	errors []error // by worker
}

// mostBeside bounds the workers, each of which has schedulers of its own.
const mostBeside = 4

// startBeside starts a worker for each core but the one of the replay; nil if there is no other.
func (r *replay) startBeside() *beside {
	workers := min(runtime.GOMAXPROCS(0)-1, mostBeside)
	if workers == 0 {
		return nil
	}
	ctx, fail := context.WithCancel(r.ctx)
	b := &beside{ctx: ctx, open: make(chan *cause, 64), errors: make([]error, workers)}
	for i := range workers {
		b.ended.Go(func() {
			own := r.alone()
			defer own.close()
			for c := range b.open {
				if c.replay = own; b.errors[i] == nil && ctx.Err() == nil {
					if b.errors[i] = c.find(); b.errors[i] != nil {
						fail()
					}
				}
			}
		})
	}
	return b
}

// alone returns a replay that shares only what never changes.
func (r *replay) alone() *replay {
	own, timeline := *r, *r.timeline
	timeline.nodes, timeline.last, timeline.bound = map[string][]*v1.Node{}, nodesAt{}, boundPods{}
	own.timeline, own.engines, own.filled, own.enough = &timeline, map[string]*sched.Engine{}, map[*v1.Node]*v1.Node{}, map[sampled]int{}
	return &own
}

// explain looks for the cause now, or beside the replay.
func (r *replay) explain(c *cause) error {
	c.placed.Divergence = &Divergence{PodRef: cluster.NewPodRef(c.pod, r.ownerOf(c.pod)), Node: c.node} // it is completed in place
	if r.beside == nil {
		return c.find()
	}
	select {
	case r.beside.open <- c:
		return nil
	case <-r.beside.ctx.Done():
		return r.beside.ctx.Err()
	}
}

// endBeside waits for the causes. If the replay has failed, what has no cause by then is left out.
func (r *replay) endBeside(err error) error {
	if r.beside != nil {
		close(r.beside.open)
		r.beside.ended.Wait()
		if failed := errors.Join(r.beside.errors...); failed != nil && r.ctx.Err() == nil {
			err = failed
		} else if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
		r.beside = nil
	}
	if err != nil {
		r.Placements = slices.DeleteFunc(r.Placements, func(p Placement) bool { return p.Divergence != nil && p.Divergence.Class == "" })
		r.done = len(r.Placements)
	}
	return err
}
