package line_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/web/line"
)

func keyOf(name string) (key line.Key) {
	copy(key[:], name)
	return key
}

// log is what happened, in order.
type log struct {
	mu   sync.Mutex
	text []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, fmt.Sprintf(format, args...))
}

// ask asks for the answer to a key in the client's name. The computation takes a second, unless its context ends before.
func (l *log) ask(ctx context.Context, from *line.Line, client, key string) (answer string, err error) {
	got, err := from.Ask(ctx, client, keyOf(key), func(ctx context.Context) ([]byte, bool) {
		l.add("%s begins", key)
		select {
		case <-time.After(time.Second):
			return []byte(key), true
		case <-ctx.Done():
			l.add("%s is canceled", key)
			return nil, false
		}
	}, func(place int) { l.add("%s is at %d", key, place) })
	return string(got), err
}

// start asks in the background, and returns when the request waits or is computed.
func (l *log) start(ctx context.Context, from *line.Line, client, key string) {
	go func() {
		if answer, err := l.ask(ctx, from, client, key); err != nil {
			l.add("%s for %s: %s", key, client, err)
		} else if answer != key {
			l.add("%s for %s: the answer is %q", key, client, answer)
		}
	}()
	synctest.Wait()
}

// check compares what happened, in any order, since much happens at the same time.
func (l *log) check(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(want)
	slices.Sort(l.text)
	if diff := cmp.Diff(want, l.text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// begun returns the keys whose computations began, in order.
func (l *log) begun() (keys []string) {
	for _, line := range l.text {
		if key, begins := strings.CutSuffix(line, " begins"); begins {
			keys = append(keys, key)
		}
	}
	return keys
}

// A client with many requests delays another by one turn, even if the other asks again and again.
func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, line := &log{}, line.New(1, 0, 100, 0)
		for i := range 5 {
			l.start(t.Context(), line, "many", fmt.Sprint("m", i))
		}
		l.start(t.Context(), line, "few", "f0")
		time.Sleep(2500 * time.Millisecond)
		l.start(t.Context(), line, "few", "f1")
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff([]string{"m0", "f0", "m1", "f1", "m2", "m3", "m4"}, l.begun()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A request that leaves the line does not make the later requests of its client wait longer.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, line := &log{}, line.New(1, 0, 100, 0)
		l.start(t.Context(), line, "a", "a0")
		l.start(t.Context(), line, "b", "b0")
		for i := range 3 {
			ctx, leave := context.WithCancel(t.Context())
			l.start(ctx, line, "c", fmt.Sprint("left", i))
			leave()
			synctest.Wait()
		}
		l.start(t.Context(), line, "c", "c0")
		l.start(t.Context(), line, "b", "b1")
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff([]string{"a0", "b0", "c0", "b1"}, l.begun()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A request hears its place whenever that has changed.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, line := &log{}, line.New(1, 0, 100, 0)
		for _, key := range []string{"a", "b", "c"} {
			l.start(t.Context(), line, key, key)
		}
		time.Sleep(10 * time.Second)
		l.mu.Lock()
		defer l.mu.Unlock()
		ofC := slices.DeleteFunc(l.text, func(line string) bool { return !strings.HasPrefix(line, "c ") })
		if diff := cmp.Diff([]string{"c is at 2", "c is at 1", "c begins", "c is at 0"}, ofC); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Equal requests share a computation, which ends early only when all of them have left, and its answer is kept.
func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, line := &log{}, line.New(1, 0, 100, 80)
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		l.start(first, line, "a", "same")
		l.start(second, line, "b", "same")
		leaveFirst()
		synctest.Wait()
		l.check(t, "same begins", "same for a: context canceled")
		leaveSecond()
		synctest.Wait()
		l.check(t, "same begins", "same for a: context canceled", "same is canceled", "same for b: context canceled")
		l.text = nil
		l.start(t.Context(), line, "a", "same")
		l.start(t.Context(), line, "b", "same")
		time.Sleep(2 * time.Second)
		l.start(t.Context(), line, "c", "same")
		l.check(t, "same begins")
	})
}

// The answers that nobody has asked for since are forgotten first, and large ones are not kept.
func TestKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keep = 80 // ten answers of eight bytes
		l, line := &log{}, line.New(1, 0, 100, keep)
		asked := []string{}
		for i := range 10 {
			asked = append(asked, fmt.Sprintf("answer-%d", i))
		}
		for _, key := range append(asked, "answer-0", "answer-a", "answer-0", "answer-1", "larger-than-an-eighth", "larger-than-an-eighth") {
			if answer, err := l.ask(t.Context(), line, "a", key); answer != key || err != nil {
				t.Errorf("%s: %q, %v", key, answer, err)
			}
		}
		want := append(asked, "answer-a", "answer-1", "larger-than-an-eighth", "larger-than-an-eighth")
		if diff := cmp.Diff(want, l.begun()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A full line refuses the requests of the client that has the most, so that others find room.
func TestFullLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, line := &log{}, line.New(1, 0, 3, 0)
		for i := range 5 {
			l.start(t.Context(), line, "many", fmt.Sprint("m", i))
		}
		l.check(t, "m0 begins", "m4 for many: the line is full")
		l.start(t.Context(), line, "few", "f0")
		l.start(t.Context(), line, "few", "f1")
		l.check(t, "m0 begins", "m4 for many: the line is full", "m3 for many: the line is full", "f1 for few: the line is full")
	})
}

// As many requests are computed at a time as there are turns.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, from := &log{}, line.New(2, 0, 100, 0)
		for _, key := range []string{"a", "b", "c"} {
			l.start(t.Context(), from, "one", key)
		}
		l.check(t, "a begins", "b begins")
		time.Sleep(1100 * time.Millisecond)
		if !slices.Equal(l.begun(), []string{"a", "b", "c"}) {
			t.Errorf("%q", l.begun())
		}
		time.Sleep(2 * time.Second)
	})
}

// A client that takes all turns does not take the reserved one, which another client has at once.
func TestReservedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, from := &log{}, line.New(2, 1, 100, 0)
		for _, key := range []string{"a", "b", "c"} {
			l.start(t.Context(), from, "one", key)
		}
		l.check(t, "a begins", "b begins")
		l.start(t.Context(), from, "other", "d")
		l.start(t.Context(), from, "other", "e")
		l.check(t, "a begins", "b begins", "d begins")
		time.Sleep(5 * time.Second)
	})
}
