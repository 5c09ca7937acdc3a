package simulation

import (
	"context"

	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Each is parallel.Each with a world of the scenario for each worker.
func Each(ctx context.Context, s *scenario.Scenario, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	worlds := make([]world.World, opts.Count(n))
	defer func() {
		for _, w := range worlds {
			if w != nil {
				w.Close()
			}
		}
	}()
	return parallel.Each(ctx, n, opts, func(ctx context.Context, worker, i int) error {
		if worlds[worker] == nil {
			var err error
			if worlds[worker], err = NewWorld(s); err != nil {
				return err
			}
		}
		return f(ctx, worlds[worker], i)
	})
}
