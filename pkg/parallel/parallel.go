// Package parallel does independent pieces of work on all cores, so that what comes of it does not depend on how many there are.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Options say how the work is shared out. They change no result.
type Options struct {
	// Workers is the number of goroutines; below 1 stands for one a core.
	Workers int
	// Block is how many neighbouring pieces a worker takes at a time; below 1 stands for 1.
	Block int
	// Progress, if set, is called before and after each piece, with the one that was begun last and the number of those that are done. It
	// is never called twice at a time.
	Progress func(last, done int)
}

// Count is the number of workers that n pieces of work are shared out to.
func (o Options) Count(n int) int {
	if o.Workers < 1 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	block := max(o.Block, 1)
	return min(o.Workers, (n+block-1)/block)
}

// Each calls f for the pieces 0 to n-1 on several goroutines. A worker, one of 0 to Count(n)-1, is never called twice at a time, so
// that it can have a state of its own, which must not show in the results. Of several errors the one of the first piece is returned:
// what comes before it is still done, and what comes after it is not begun. A context that ends is an error, too.
func Each(ctx context.Context, n int, opts Options, f func(ctx context.Context, worker, i int) error) error {
	s := &share{block: max(opts.Block, 1), progress: opts.Progress}
	s.end.Store(int64(n))
	var running sync.WaitGroup
	for worker := range opts.Count(n) {
		running.Go(func() {
			for from, to := s.take(); from < to; from, to = s.take() {
				for i := from; i < to && ctx.Err() == nil; i++ {
					s.begin(i)
					if !s.finish(i, f(ctx, worker, i)) {
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

// share is work that is shared out: its pieces are taken in their order.
type share struct {
	block    int
	progress func(last, done int)
	end      atomic.Int64 // the first piece with an error, or the number of pieces

	mu                sync.Mutex
	taken, last, done int
	err               error
}

// take returns the next pieces, none at the end or after one that has failed.
func (s *share) take() (from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.taken
	s.taken = max(from, min(from+s.block, int(s.end.Load())))
	return from, s.taken
}

func (s *share) begin(i int) {
	if s.progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = i
	s.progress(s.last, s.done)
}

// finish notes what came of a piece, and reports whether its worker goes on to the next one.
func (s *share) finish(i int, err error) bool {
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
