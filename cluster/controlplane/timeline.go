package controlplane

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// timeline relates the cluster's time to the clock's. The API server and its clients know the clock alone, so what they store and show is in the
// clock's time, never ahead of it; the world lives in the cluster's time, which jumps over waits, runs faster, or stands:
//
//	cluster           ╭──────
//	   ▲              │ a jump: `advance 10m`, or the end of a grace period
//	   │    ╭─────────╯
//	   └────────────────────▶ clock
//
// It is safe for concurrent use.
type timeline struct {
	clock func() time.Time
	rate  float64 // seconds of the cluster in a second of the clock

	mu    sync.Mutex
	jumps []jump // the first is the beginning
}

// jump is a moment from which on the cluster's time runs on from a later value.
type jump struct{ Clock, Cluster time.Time }

// maxJumps is how many jumps a timeline remembers; of the older half, it then forgets every second one.
const maxJumps = 8192

// newTimeline returns a timeline in which the cluster's time is now that of the clock.
func newTimeline(clock func() time.Time, rate float64) *timeline {
	now := clock()
	return &timeline{clock: clock, rate: rate, jumps: []jump{{now, now.Truncate(time.Second)}}} // a world lives in whole seconds
}

// history returns the jumps, with one that leads to now.
func (l *timeline) history() []jump {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	return append(slices.Clone(l.jumps), jump{now, l.at(len(l.jumps)-1, now)})
}

// goOn continues a history. The cluster's time stood since.
func (l *timeline) goOn(history []jump) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jumps = append(slices.Clone(history), jump{l.clock(), history[len(history)-1].Cluster})
}

// now returns the cluster's time.
func (l *timeline) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at(len(l.jumps)-1, l.clock())
}

// at returns the cluster's time at a time of the clock after the i-th jump, up to the next one.
func (l *timeline) at(i int, clock time.Time) time.Time {
	t := l.jumps[i]
	at := t.Cluster.Add(time.Duration(float64(clock.Sub(t.Clock)) * l.rate))
	if i+1 < len(l.jumps) && at.After(l.jumps[i+1].Cluster) {
		return l.jumps[i+1].Cluster
	}
	return at
}

// jumpTo makes the cluster's time jump ahead, and returns how far. It never goes back.
func (l *timeline) jumpTo(to time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	by := to.Sub(l.at(len(l.jumps)-1, now))
	if by <= 0 {
		return 0
	}
	if l.jumps = append(l.jumps, jump{now, to}); len(l.jumps) > maxJumps {
		kept := l.jumps[:1]
		for i := 2; i < len(l.jumps); i++ {
			if i%2 == 0 || i > maxJumps/2 {
				kept = append(kept, l.jumps[i])
			}
		}
		l.jumps = kept
	}
	return by
}

// until returns how long the clock runs until the cluster's time is the given one.
func (l *timeline) until(at time.Time) time.Duration {
	return max(0, time.Duration(float64(at.Sub(l.now()))/l.rate))
}

// toCluster returns the cluster's time at a time of the clock in whole seconds. What has happened in the second that passes has happened now.
func (l *timeline) toCluster(clock time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.jumps[0]; clock.Before(first.Clock) {
		return first.Cluster.Add(clock.Sub(first.Clock))
	}
	if end := clock.Add(time.Second); end.Before(l.clock()) {
		clock = end
	} else {
		clock = l.clock()
	}
	after := sort.Search(len(l.jumps), func(i int) bool { return l.jumps[i].Clock.After(clock) })
	return l.at(after-1, clock)
}

// toClock returns the time of the clock at a time of the cluster. It is not after the clock's own, since no client expects what is made in the
// future.
func (l *timeline) toClock(cluster time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	if first := l.jumps[0]; cluster.Before(first.Cluster) {
		return first.Clock.Add(cluster.Sub(first.Cluster))
	}
	i := sort.Search(len(l.jumps), func(i int) bool { return l.jumps[i].Cluster.After(cluster) }) - 1
	if l.rate == 0 {
		if i == len(l.jumps)-1 {
			return now
		}
		return l.jumps[i].Clock
	}
	at := l.jumps[i].Clock.Add(time.Duration(float64(cluster.Sub(l.jumps[i].Cluster)) / l.rate))
	if i+1 < len(l.jumps) && at.After(l.jumps[i+1].Clock) {
		return l.jumps[i+1].Clock
	}
	if at.After(now) {
		return now
	}
	return at
}
