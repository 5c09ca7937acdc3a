package simulation

import (
	"context"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/parallel"
)

// Each is parallel.Each with a world of that configuration for each worker.
func Each(ctx context.Context, config *sched.Config, ties sched.Ties, n int, opts parallel.Options, f func(ctx context.Context, world *World, i int) error) error {
	worlds := make([]*World, opts.Count(n))
	defer func() {
		for _, world := range worlds {
			if world != nil {
				world.Close()
			}
		}
	}()
	return parallel.Each(ctx, n, opts, func(ctx context.Context, worker, i int) error {
		if worlds[worker] == nil {
			var err error
			if worlds[worker], err = NewWorld(config, ties); err != nil {
				return err
			}
		}
		return f(ctx, worlds[worker], i)
	})
}
