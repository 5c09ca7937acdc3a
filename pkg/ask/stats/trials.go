package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// block is the number of trials that a worker takes at a time: enough that taking them is negligible.
const block = 256

// Trials runs n independent trials and returns their results in order. It calls newTrial once per worker, so that trials can share scratch
// space; a trial must not read what an earlier one left there. If workers is below 1, there is one per core. Each trial has its own
// generator, seeded from the seed and the number of the trial. The only error is the context's.
func Trials[T any](ctx context.Context, n int, seed uint64, workers int, newTrial func() func(*rand.Rand) T) ([]T, error) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	results := make([]T, n)
	var taken atomic.Int64
	var running sync.WaitGroup
	for range min(workers, (n+block-1)/block) {
		running.Go(func() {
			trial := newTrial()
			var source rand.PCG
			r := rand.New(&source)
			for ctx.Err() == nil {
				end := int(taken.Add(block))
				for i := end - block; i < min(end, n); i++ {
					source.Seed(seed, uint64(i))
					results[i] = trial(r)
				}
				if end >= n {
					return
				}
			}
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
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
