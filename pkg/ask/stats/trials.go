package stats

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/faultline/faultline/pkg/parallel"
)

// block is the number of trials that a worker takes at a time: enough that taking them costs nothing beside running them.
const block = 256

// Trials runs n independent trials and returns their results in order of the trials. It calls newTrial once for each worker, so
// that a trial may keep scratch space; a trial must not look at what an earlier one left there. Workers below 1 stands for one a
// core. Each trial draws from a generator of its own, seeded from the seed and the number of the trial. The only error is that
// of the context.
func Trials[T any](ctx context.Context, n int, seed uint64, workers int, newTrial func() func(*rand.Rand) T) ([]T, error) {
	opts := parallel.Options{Workers: workers, Block: block}
	results := make([]T, n)
	type worker struct {
		trial  func(*rand.Rand) T
		source rand.PCG
		rand   *rand.Rand
	}
	all := make([]worker, opts.Count(n))
	for i := range all {
		w := &all[i]
		w.trial, w.rand = newTrial(), rand.New(&w.source)
	}
	err := parallel.Each(ctx, n, opts, func(_ context.Context, worker, i int) error {
		w := &all[worker]
		w.source.Seed(seed, uint64(i))
		results[i] = w.trial(w.rand)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Geometric draws the number of failures before the next success in independent draws that succeed with probability p. With it a
// loop jumps from one rare event among many to the next. Numbers beyond an int32 are cut there.
func Geometric(r *rand.Rand, p float64) int {
	// It is the whole part of an exponential variable.
	return int(min(r.ExpFloat64()/-math.Log1p(-p), math.MaxInt32))
}
