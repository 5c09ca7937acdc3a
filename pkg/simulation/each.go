package simulation

import (
	"context"

	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Worlds are worlds of one scenario, one for each core, made when they are first needed.
type Worlds struct {
	scenario *scenario.Scenario
	all      []world.World
	given    int // so many of them are the caller's
}

// NewWorlds returns the worlds of the scenario. The given ones are the first of them, and stay the caller's.
func NewWorlds(s *scenario.Scenario, given ...world.World) *Worlds {
	return &Worlds{s, given, len(given)}
}

// Each is parallel.Each with one of the worlds for each worker.
func (w *Worlds) Each(ctx context.Context, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	for len(w.all) < opts.Count(n) {
		w.all = append(w.all, nil)
	}
	return parallel.Each(ctx, n, opts, func(ctx context.Context, worker, i int) error {
		if w.all[worker] == nil {
			var err error
			if w.all[worker], err = NewWorld(w.scenario); err != nil {
				return err
			}
		}
		return f(ctx, w.all[worker], i)
	})
}

// Close releases the worlds that are not the caller's.
func (w *Worlds) Close() {
	for _, one := range w.all[w.given:] {
		if one != nil {
			one.Close()
		}
	}
}

// Each is parallel.Each with a world of the scenario for each worker.
func Each(ctx context.Context, s *scenario.Scenario, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	worlds := NewWorlds(s)
	defer worlds.Close()
	return worlds.Each(ctx, n, opts, f)
}
