package simulation

import (
	"context"

	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Each is parallel.Each with a world of the scenario for each worker.
func Each(ctx context.Context, s *scenario.Scenario, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	worlds := NewWorlds(s)
	defer worlds.Close()
	return worlds.Each(ctx, n, opts, f)
}

// Worlds are worlds of a scenario for several calls, one after the other: a world that has been in a cluster of thousands of pods needs much
// less time to be there again than a new one.
type Worlds struct {
	Scenario *scenario.Scenario
	worlds   []world.World // by worker; nil: none was needed so far
}

// NewWorlds returns worlds, which are made when they are needed.
func NewWorlds(s *scenario.Scenario) *Worlds { return &Worlds{Scenario: s} }

// Each is parallel.Each with a world for each worker. Within f, another call may use that world if f does not use it meanwhile, and is the only
// one.
func (ws *Worlds) Each(ctx context.Context, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	for len(ws.worlds) < opts.Count(n) {
		ws.worlds = append(ws.worlds, nil)
	}
	worlds := ws.worlds
	return parallel.Each(ctx, n, opts, func(ctx context.Context, worker, i int) error {
		if worlds[worker] == nil {
			var err error
			if worlds[worker], err = NewWorld(ws.Scenario); err != nil {
				return err
			}
		}
		return f(ctx, worlds[worker], i)
	})
}

// Close releases the worlds.
func (ws *Worlds) Close() {
	for _, w := range ws.worlds {
		if w != nil {
			w.Close()
		}
	}
}
