package simulation

import (
	"context"

	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Each calls f for 0 to n-1 in parallel, with a world of the scenario for each worker; see [parallel.Each].
func Each(ctx context.Context, s *scenario.Scenario, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	worlds := NewWorlds(s)
	defer worlds.Close()
	return worlds.Each(ctx, n, opts, f)
}

// Worlds keeps worlds of a scenario for several calls of Each, one after the other. A world that has been in a cluster of thousands of pods
// needs much less time for the next run there than a new world.
type Worlds struct {
	Scenario *scenario.Scenario
	worlds   []world.World // by worker; nil until a worker needs it
}

// NewWorlds returns worlds of the scenario, which are created when workers need them.
func NewWorlds(s *scenario.Scenario) *Worlds { return &Worlds{Scenario: s} }

// Each calls f for 0 to n-1 in parallel, with a world for each worker; see [parallel.Each]. Within f, one further call may use the worker's
// world, if f itself does not use it meanwhile.
func (ws *Worlds) Each(ctx context.Context, n int, opts parallel.Options, f func(ctx context.Context, w world.World, i int) error) error {
	ws.grow(opts.WorkerCount(n))
	return parallel.Each(ctx, n, opts, func(ctx context.Context, worker, i int) error {
		w, err := ws.workerWorld(worker)
		if err != nil {
			return err
		}
		return f(ctx, w, i)
	})
}

// First returns the world of the first worker.
func (ws *Worlds) First() (world.World, error) {
	ws.grow(1)
	return ws.workerWorld(0)
}

func (ws *Worlds) grow(workers int) {
	for len(ws.worlds) < workers {
		ws.worlds = append(ws.worlds, nil)
	}
}

// workerWorld returns the world of a worker, and creates it at the first call.
func (ws *Worlds) workerWorld(worker int) (_ world.World, err error) {
	if ws.worlds[worker] == nil {
		ws.worlds[worker], err = NewWorld(ws.Scenario)
	}
	return ws.worlds[worker], err
}

// Close releases the worlds' resources.
func (ws *Worlds) Close() {
	for _, w := range ws.worlds {
		if w != nil {
			w.Close()
		}
	}
}
