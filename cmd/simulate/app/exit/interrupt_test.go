package exit

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A function that sees the end of its context returns what it knows. One that does not is left to itself.
func TestCallsEndWithTheirContext(t *testing.T) {
	errPart := errors.New("a part")
	for _, test := range []struct {
		name      string
		patience  time.Duration
		f         func(context.Context) (int, error)
		want      int
		wantError error
	}{
		{"returns a part", time.Hour, func(ctx context.Context) (int, error) { <-ctx.Done(); return 7, errPart }, 7, errPart},
		{"goes on", time.Millisecond, func(context.Context) (int, error) { select {} }, 0, ErrTimeOver},
		{"waits for input", 0, func(context.Context) (int, error) { select {} }, 0, ErrTimeOver},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			stop(ErrTimeOver)
			got, err := callWithin(ctx, test.patience, func() (int, error) { return test.f(ctx) })
			if got != test.want || !errors.Is(err, test.wantError) {
				t.Errorf("%d, %v; want %d, %v", got, err, test.want, test.wantError)
			}
		})
	}
}
