package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/parallel"
)

// Every piece is done once, by a worker that does nothing else meanwhile. Each piece is reported when it begins and counted when it is
// done.
func TestEach(t *testing.T) {
	for _, opts := range []parallel.Options{{}, {Workers: 1}, {Workers: 3}, {Workers: 100}, {Workers: 3, Block: 7}, {Workers: 2, Block: 1000}} {
		const n = 100
		var begun, counted, want []int
		for i := range n {
			want = append(want, i)
		}
		finished := 0
		opts.Progress = func(last, done int) {
			if done == finished {
				begun = append(begun, last)
			} else {
				counted = append(counted, done-1)
			}
			finished = done
		}
		times := make([]atomic.Int32, n)
		busy := make([]atomic.Int32, opts.WorkerCount(n))
		err := parallel.Each(t.Context(), n, opts, func(_ context.Context, worker, i int) error {
			if busy[worker].Add(1) != 1 {
				t.Errorf("%+v: worker %d is called twice at a time", opts, worker)
			}
			times[i].Add(1)
			busy[worker].Add(-1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range times {
			if done := times[i].Load(); done != 1 {
				t.Errorf("%+v: piece %d is done %d times", opts, i, done)
			}
		}
		if diff := cmp.Diff(want, counted); diff != "" {
			t.Errorf("%+v: counted (-want +got):\n%s", opts, diff)
		}
		slices.Sort(begun)
		if diff := cmp.Diff(want, begun); diff != "" {
			t.Errorf("%+v: begun (-want +got):\n%s", opts, diff)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	if err := parallel.Each(t.Context(), 0, parallel.Options{}, nil); err != nil {
		t.Error(err)
	}
}

// Pieces 3 and 5 fail, and 5 always fails before 3: the error is that of 3, and everything before 3 is done.
func TestFirstErrorByPlace(t *testing.T) {
	for _, block := range []int{1, 2, 4} {
		failed := make(chan struct{})
		var before atomic.Int32
		err := parallel.Each(t.Context(), 1000, parallel.Options{Workers: 6, Block: block}, func(_ context.Context, _, i int) error {
			switch i {
			case 3:
				<-failed
				return errors.New("of 3")
			case 5:
				close(failed)
				return errors.New("of 5")
			}
			if i < 3 {
				before.Add(1)
			}
			return nil
		})
		if fmt.Sprint(err) != "of 3" || before.Load() != 3 {
			t.Errorf("blocks of %d: %v, and %d pieces before it are done; want of 3, and 3", block, err, before.Load())
		}
	}
}

// After an error, no further piece begins.
func TestStopsAtError(t *testing.T) {
	begun := 0
	err := parallel.Each(t.Context(), 10, parallel.Options{Workers: 1, Block: 4}, func(_ context.Context, _, i int) error {
		begun++
		if i == 5 {
			return errors.New("of 5")
		}
		return nil
	})
	if err == nil || begun != 6 {
		t.Errorf("%v after %d pieces, want one after 6", err, begun)
	}
}

// If the context ends, its cause is the error, and the work ends.
func TestContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	begun := 0
	err := parallel.Each(ctx, 10, parallel.Options{Workers: 1}, func(ctx context.Context, _, i int) error {
		begun++
		if i == 2 {
			cancel(cause)
			return fmt.Errorf("piece 2: %w", ctx.Err())
		}
		return nil
	})
	if !errors.Is(err, cause) || begun != 3 {
		t.Errorf("%v after %d pieces, want %v after 3", err, begun, cause)
	}
}
