package simulation

import (
	"context"
	"runtime"
	"sync"

	"github.com/faultline/faultline/pkg/engine/sched"
)

// Each calls f for 0 to n-1 on several goroutines, each with a world of its own of that configuration. Workers below 1 stands for one
// a core. Done, if set, is told after each how many are done; it is never called twice at a time. The first error ends it.
func Each(ctx context.Context, config *sched.Config, ties sched.Ties, n, workers int, f func(ctx context.Context, world *World, i int) error, done func(n int)) error {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	finished := 0
	tell := func() {
		mu.Lock()
		defer mu.Unlock()
		if finished++; done != nil {
			done(finished)
		}
	}
	var running sync.WaitGroup
	for range min(workers, n) {
		running.Go(func() {
			world, err := NewWorld(config, ties)
			if err != nil {
				cancel(err)
				return
			}
			defer world.Close()
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				if err := f(ctx, world, i); err != nil {
					cancel(err)
					return
				}
				tell()
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
