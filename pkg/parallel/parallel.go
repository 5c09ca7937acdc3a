// Package parallel runs independent pieces of work on all cores. The results do not depend on the number of cores.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Options determines how the work is distributed. No option changes a result.
type Options struct {
	// Workers is the number of goroutines. A number below 1 means one per core.
	Workers int
	// Block is the number of neighbouring pieces that a worker takes at a time. A number below 1 means 1.
	Block int
	// Progress, if set, is called before and after each piece, with the last piece that was begun and the number of finished pieces. Calls
	// never overlap.
	Progress func(last, done int)
}

// WorkerCount returns the number of workers for n pieces of work.
func (o Options) WorkerCount(n int) int {
	if o.Workers < 1 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	block := max(o.Block, 1)
	return min(o.Workers, (n+block-1)/block)
}

// Each calls f for the pieces 0 to n-1 on several goroutines. Workers are numbered from 0 to Count(n)-1. Calls with the same worker never
// overlap, so a worker can have its own state, which must not affect the results. If several pieces fail, Each returns the error of the
// first one: it still runs the pieces before that one, and starts none after it. If the context ends, Each returns the context's cause.
func Each(ctx context.Context, n int, opts Options, f func(ctx context.Context, worker, i int) error) error {
	s := &workQueue{block: max(opts.Block, 1), progress: opts.Progress}
	s.end.Store(int64(n))
	var running sync.WaitGroup
	for worker := range opts.WorkerCount(n) {
		running.Go(func() {
			for from, to := s.takeBlock(); from < to; from, to = s.takeBlock() {
				for i := from; i < to && ctx.Err() == nil; i++ {
					s.beginPiece(i)
					if !s.finishPiece(i, f(ctx, worker, i)) {
						break
					}
				}
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.err
}

// workQueue hands out the pieces of the work in order.
type workQueue struct {
	block    int
	progress func(last, done int)
	end      atomic.Int64 // the first failed piece, or the number of pieces

	mu                sync.Mutex
	taken, last, done int
	err               error
}

// takeBlock returns the next pieces, or none at the end or after a failed piece.
func (s *workQueue) takeBlock() (from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.taken
	s.taken = max(from, min(from+s.block, int(s.end.Load())))
	return from, s.taken
}

// beginPiece reports that a worker begins a piece.
func (s *workQueue) beginPiece(i int) {
	if s.progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = i
	s.progress(s.last, s.done)
}

// finishPiece records the result of a piece, and reports whether the worker continues with the next one.
func (s *workQueue) finishPiece(i int, err error) bool {
	if err != nil || s.progress != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	switch {
	case err == nil && s.progress != nil:
		s.done++
		s.progress(s.last, s.done)
	case err != nil && i < int(s.end.Load()):
		s.end.Store(int64(i))
		s.err = err
	}
	return i+1 < int(s.end.Load())
}
