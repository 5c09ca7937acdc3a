package exit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruption is the cause of a context that a signal has ended.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return "interrupted" }

// Is makes it a context.Canceled, which is all that the packages below know of it.
func (i *interruption) Is(target error) bool { return target == context.Canceled }

// status is the exit code by which a shell knows the signal: 128 and its number.
func (i *interruption) status() int {
	if number, is := i.signal.(syscall.Signal); is {
		return 128 + int(number)
	}
	return 128 + int(syscall.SIGINT)
}

// UntilInterrupted returns a context that the first SIGINT, SIGTERM, or SIGHUP of a terminal that is closed ends. A second one ends the process at
// once, as without this. Under nohup, which has SIGHUP ignored, it still is.
func UntilInterrupted() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case received := <-signals:
			signal.Stop(signals)
			cancel(&interruption{received})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// ErrTimeOver is the cause of a context whose time is over.
var ErrTimeOver error = timeOver{}

type timeOver struct{}

func (timeOver) Error() string { return "the time is over" }

// Is makes it a context.Canceled, as an interruption is: whoever works prints what is known for either.
func (timeOver) Is(target error) bool { return target == context.Canceled }

// Within returns a context that ends after the time, with ErrTimeOver as its cause.
func Within(ctx context.Context, limit time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(ErrTimeOver) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// TimeOver reports whether the time of the context is over, and not that a signal has ended the work before.
func TimeOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrTimeOver) }

// Interrupted reports whether the error is that the context was ended, not that of a question.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// UnlessInterrupted calls a function that knows no context, such as one that waits for standard input. If the context ends first, the
// function is left behind.
func UnlessInterrupted[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
