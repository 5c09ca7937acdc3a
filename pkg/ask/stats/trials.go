package stats

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/faultline/faultline/pkg/parallel"
)

// trialsPerBlock is the number of trials that a worker takes at a time: enough that the cost of taking them is negligible.
const trialsPerBlock = 256

// Trials runs n independent trials and returns their results in order. It calls newTrial once per worker, so that trials can share scratch
// space; a trial must not read what an earlier one left there. If workers is below 1, there is one per core. Each trial has its own
// generator, seeded from the seed and the number of the trial. The only error is the context's.
func Trials[T any](ctx context.Context, n int, seed uint64, workers int, newTrial func() func(*rand.Rand) T) ([]T, error) {
	opts := parallel.Options{Workers: workers, Block: trialsPerBlock}
	results := make([]T, n)
	type worker struct {
		trial  func(*rand.Rand) T
		source rand.PCG
		rand   *rand.Rand
	}
	all := make([]worker, opts.WorkerCount(n))
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

// Geometric draws the number of failures before the next success in independent draws that succeed with probability p. A loop can use
// it to jump from one rare event among many to the next. Results are capped at the largest int32.
func Geometric(r *rand.Rand, p float64) int {
	// the integer part of an exponential variable
	return int(min(r.ExpFloat64()/-math.Log1p(-p), math.MaxInt32))
}
