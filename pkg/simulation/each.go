package simulation

import (
	"context"
	"runtime"
	"sync"

	"github.com/faultline/faultline/pkg/engine/sched"
)

// Each calls f for 0 to n-1 on several goroutines, each with its own world for the configuration. If workers is below 1, there is one per
// core. Done, if set, is called after each with the number done so far, never concurrently. The first error stops all.
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
	report := func() {
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
				report()
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
