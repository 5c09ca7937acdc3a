package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// block is the number of trials that a worker takes at a time: enough that taking them costs nothing beside running them.
const block = 256

// Trials runs n independent trials and returns their results in order of the trials. It calls newTrial once for each worker, so
// that a trial may keep scratch space; a trial must not look at what an earlier one left there. Workers below 1 stands for one a
// core. Each trial draws from a generator of its own, seeded from the seed and the number of the trial. The only error is that
// of the context.
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

// Geometric draws the number of failures before the next success in independent draws that succeed with probability p. With it a
// loop jumps from one rare event among many to the next. Numbers beyond an int32 are cut there.
func Geometric(r *rand.Rand, p float64) int {
	// It is the whole part of an exponential variable.
	return int(min(r.ExpFloat64()/-math.Log1p(-p), math.MaxInt32))
}
