package exit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return "interrupted" }

// Is makes an interruption a context.Canceled, so that the packages below need not know it.
func (i *interruption) Is(target error) bool { return target == context.Canceled }

// status returns the exit code that a shell uses for the signal: 128 and its number.
func (i *interruption) status() int {
	if number, is := i.signal.(syscall.Signal); is {
		return 128 + int(number)
	}
	return 128 + int(syscall.SIGINT)
}

// SignalContext returns a context that ends at the first SIGINT, SIGTERM or SIGHUP. A second signal ends the process at once, as Go does by
// default. SIGHUP stays ignored under nohup.
func SignalContext() (ctx context.Context, stop func()) {
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

// ErrTimeOver is the cause of a context that ended because its time was over.
var ErrTimeOver error = timeOver{}

type timeOver struct{}

func (timeOver) Error() string { return "the time is over" }

// Is makes the end of the time a context.Canceled, as an interruption is: in both cases a command prints what is known.
func (timeOver) Is(target error) bool { return target == context.Canceled }

// WithTimeLimit returns a context that ends after the time limit, with ErrTimeOver as its cause.
func WithTimeLimit(ctx context.Context, limit time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(ErrTimeOver) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// TimeOver reports whether the context ended because its time was over, and not by a signal.
func TimeOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrTimeOver) }

// Interrupted reports whether the error comes from the end of a context, and not from the question itself.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// patience is the time in which a function returns what it knows by the end of its context. Nearly all do so at once. A few parts of
// Kubernetes' code take no context, such as the evaluation of a policy for each of thousands of objects.
const patience = 2 * time.Second

// CallInterruptibly calls a function that takes no context, such as one that waits for standard input. If the context ends first, it
// returns the cause and lets the function run on.
func CallInterruptibly[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return callWithin(ctx, 0, f)
}

// CallPatiently is [CallInterruptibly] for a function that sees the end of the context by itself, and has two seconds to return.
func CallPatiently[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return callWithin(ctx, patience, f)
}

func callWithin[T any](ctx context.Context, patience time.Duration, f func() (T, error)) (T, error) {
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
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(patience):
		var none T
		return none, context.Cause(ctx)
	}
}
