// Package line is the line in which requests wait for a turn to be computed.
//
//	Ask ─ known? ─▶ wait for a turn ─▶ compute ─▶ answer, kept for whoever asks the same
//
// The line is fair to clients, as API Priority and Fairness of Kubernetes is: it divides the time of computation among the clients that wait,
// by start-time fair queueing, so ten requests of one client delay another by one turn. A turn is reserved for clients that have none, so one
// client cannot take all of them. Requests with the same key share one computation, which ends early only if all of them have left.
package line

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrFull is the error of a request that finds the line full, or that has to leave it for a client with fewer requests.
var ErrFull = errors.New("the line is full")

// tellInterval is the time after which a request that waits first hears of its place, and hears again if it has changed.
const tellInterval = 300 * time.Millisecond

// usualTime is the time that a computation is expected to take, in virtual time. If it takes more, the client is charged for that.
const usualTime = 100 * time.Millisecond

// Key identifies a request: requests with the same key have the same answer.
type Key [32]byte

// Line is the line of waiting requests. Use [New].
type Line struct {
	most     int
	reserved int // the last turns, only for clients that have none

	mu      sync.Mutex
	free    int                      // turns that nobody has
	turns   map[string]int           // that each client has
	waiting []*entry                 // by their start, then as they came
	shared  map[Key]*entry           // that wait or are computed, and that somebody waits for
	ends    map[string]time.Duration // when each client's last request ends, in virtual time: time of computation
	now     time.Duration            // virtual time: the start of the last request that had a turn
	kept    keeper
}

// New returns a line whose requests have that many turns at a time, and the reserved ones, and in which at most that many wait. It keeps answers
// of up to keep bytes in all.
func New(turns, reserved, most, keep int) *Line {
	return &Line{
		most: most, reserved: reserved, free: turns + reserved, turns: map[string]int{},
		shared: map[Key]*entry{}, ends: map[string]time.Duration{}, kept: newKeeper(keep),
	}
}

// Compute returns an answer, and whether it is the answer to each request with the same key, so that it may be kept. It should return soon
// after the context has ended.
type Compute func(context.Context) (answer []byte, keep bool)

// entry is a computation that waits, goes on, or has ended.
type entry struct {
	key     Key
	client  string
	compute Compute
	start   time.Duration // in virtual time
	askers  int           // how many requests wait for it
	cancel  context.CancelFunc
	done    chan struct{} // closed when answer and err are there
	answer  []byte
	err     error
}

// Ask returns the answer to the client's request. While it waits, tell is called with its place in the line, from 1, and with 0 when it has
// its turn after a place was told.
func (l *Line) Ask(ctx context.Context, client string, key Key, compute Compute, tell func(place int)) ([]byte, error) {
	e, answer := l.join(client, key, compute)
	if e == nil {
		return answer, nil
	}
	ticker := time.NewTicker(tellInterval)
	defer ticker.Stop()
	told := 0
	for {
		select {
		case <-e.done:
			return e.answer, e.err
		case <-ctx.Done():
			l.leave(e)
			return nil, context.Cause(ctx)
		case <-ticker.C:
			if place := l.place(e); place != told {
				told = place
				tell(place)
			}
		}
	}
}

// join returns the request's entry, or no entry and the answer if that is kept.
func (l *Line) join(client string, key Key, compute Compute) (e *entry, answer []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer, found := l.kept.get(key); found {
		return nil, answer
	}
	if e := l.shared[key]; e != nil {
		e.askers++
		return e, nil
	}
	e = &entry{key: key, client: client, compute: compute, askers: 1, cancel: func() {}, done: make(chan struct{})}
	if len(l.waiting) >= l.most && !l.makeRoom(client) {
		e.err = ErrFull
		close(e.done)
		return e, nil
	}
	e.start = max(l.now, l.ends[client])
	l.ends[client] = e.start + usualTime
	l.shared[key] = e
	at, _ := slices.BinarySearchFunc(l.waiting, e.start+1, func(other *entry, after time.Duration) int { return cmp.Compare(other.start, after) })
	l.waiting = slices.Insert(l.waiting, at, e)
	l.giveTurns()
	return e, nil
}

// makeRoom refuses the last request of the client with the most waiting requests, if that has at least two more than this client.
func (l *Line) makeRoom(client string) bool {
	counts := map[string]int{}
	largest := client
	for _, e := range l.waiting {
		counts[e.client]++
	}
	for _, e := range l.waiting {
		if counts[e.client] > counts[largest] {
			largest = e.client
		}
	}
	if counts[largest] < counts[client]+2 {
		return false
	}
	for i, e := range slices.Backward(l.waiting) {
		if e.client == largest {
			l.remove(i)
			delete(l.shared, e.key)
			e.err = ErrFull
			close(e.done)
			return true
		}
	}
	return false
}

// giveTurns gives the free turns to the first requests that may have them.
func (l *Line) giveTurns() {
	for l.free > 0 {
		i := slices.IndexFunc(l.waiting, func(e *entry) bool { return l.free > l.reserved || l.turns[e.client] == 0 })
		if i < 0 {
			return
		}
		e := l.waiting[i]
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.free--
		l.turns[e.client]++
		l.now = max(l.now, e.start)
		for client, end := range l.ends {
			if end <= l.now { // as for a client that comes for the first time
				delete(l.ends, client)
			}
		}
		var ctx context.Context
		ctx, e.cancel = context.WithCancel(context.Background())
		go l.computeEntry(ctx, e)
	}
}

// computeEntry computes the answer of an entry that has its turn.
func (l *Line) computeEntry(ctx context.Context, e *entry) {
	began := time.Now()
	answer, keep := e.compute(ctx)
	e.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared[e.key] == e {
		delete(l.shared, e.key)
	}
	if keep {
		l.kept.put(e.key, answer)
	}
	e.answer = answer
	close(e.done)
	l.free++
	if l.turns[e.client]--; l.turns[e.client] == 0 {
		delete(l.turns, e.client)
	}
	if took := time.Since(began); took > usualTime {
		l.ends[e.client] = max(l.ends[e.client], e.start+usualTime) // it may be over
		l.delay(e, took-usualTime)
	}
	l.giveTurns()
}

// delay moves the requests of the client that come after an entry to later, or earlier.
func (l *Line) delay(e *entry, by time.Duration) {
	l.ends[e.client] += by
	for _, other := range l.waiting {
		if other.client == e.client && other.start > e.start {
			other.start += by
		}
	}
	slices.SortStableFunc(l.waiting, func(a, b *entry) int { return cmp.Compare(a.start, b.start) })
}

// leave is for a request whose client no longer waits.
func (l *Line) leave(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.askers--; e.askers > 0 {
		return
	}
	if l.shared[e.key] == e {
		delete(l.shared, e.key)
	}
	if i := slices.Index(l.waiting, e); i >= 0 {
		l.remove(i)
	}
	e.cancel()
}

// remove takes a waiting request out of the line. The later requests of its client move up, as if it had never come.
func (l *Line) remove(i int) {
	e := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.delay(e, -usualTime)
}

// place returns the entry's place in the line, from 1; 0 if it has its turn.
func (l *Line) place(e *entry) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Index(l.waiting, e) + 1
}
