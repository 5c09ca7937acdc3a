package controlplane

import (
	"testing"
	"time"
)

// The clock goes from 0 s to 100 s, and at 10 s the cluster's time jumps by 1,000 s. What the API server stores is in whole seconds of the clock.
func TestTimeline(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Unix(1_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	for _, test := range []struct {
		rate, jump         float64 // the cluster's time after the jump
		clock, cluster     float64 // a moment
		stamp, means       float64 // a time of the clock in whole seconds, and the cluster's time that it stands for
		happened, stamped  float64 // a time of the cluster, and the time of the clock that clients are told
		secondsUntil1100th float64 // seconds of the clock, from 100 s on, until the cluster's 1,500 s
	}{
		{1, 1010, 100, 1100, 20, 1021, 1030, 30, 400},
		{1, 1010, 5, 5, 5, 6, 500, 10, 400},             // in the jump: when it happened
		{1, 1010, 100, 1100, 100, 1100, 2000, 100, 400}, // now; and a time that has not come yet
		{60, 1600, 20, 2200, 15, 1960, 1900, 15, 0},
		{0, 1010, 100, 1010, 50, 1010, 1010, 100, 0}, // now, however long now lasts
	} {
		clock := at(0)
		line := newTimeline(func() time.Time { return clock }, test.rate)
		clock = at(10)
		line.jumpTo(at(test.jump))
		if line.jumpTo(at(1)) != 0 {
			t.Errorf("x%v: time goes back", test.rate)
		}
		if clock = at(test.clock); test.clock > 10 && !line.now().Equal(at(test.cluster)) {
			t.Errorf("x%v: at %v s it is %v, want %v", test.rate, test.clock, line.now(), at(test.cluster))
		}
		clock = at(100)
		if got := line.toCluster(at(test.stamp)); !got.Equal(at(test.means)) {
			t.Errorf("x%v: the stamp %v s means %v, want %v", test.rate, test.stamp, got, at(test.means))
		}
		if got := line.toClock(at(test.happened)); !got.Equal(at(test.stamped)) {
			t.Errorf("x%v: what happens at %v s is stamped %v, want %v", test.rate, test.happened, got, at(test.stamped))
		}
		if test.rate == 1 && line.until(at(1500)) != time.Duration(test.secondsUntil1100th)*time.Second {
			t.Errorf("until 1,500 s it takes %v", line.until(at(1500)))
		}
	}
}

// A timeline that forgets jumps keeps the order of times, and the latest jumps exactly.
func TestTimelineForgetsJumps(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	clock := start
	line := newTimeline(func() time.Time { return clock }, 1)
	for range 3 * maxJumps {
		clock = clock.Add(2 * time.Second)
		line.jumpTo(line.now().Add(time.Second))
	}
	if len(line.jumps) > maxJumps {
		t.Errorf("%d jumps are kept", len(line.jumps))
	}
	last := time.Time{}
	for ago := 6 * maxJumps; ago >= 0; ago -= 7 {
		at := line.toCluster(clock.Add(-time.Duration(ago) * time.Second))
		if at.Before(last) {
			t.Fatalf("%d s ago it was %v, and before that %v", ago, at, last)
		}
		last = at
	}
	if got, want := line.now().Sub(start), 9*maxJumps*time.Second; got != want {
		t.Errorf("%v have passed, want %v", got, want)
	}
	if got, want := line.now().Sub(line.toCluster(clock.Add(-101*time.Second))), 150*time.Second; got != want {
		t.Errorf("101 s ago is %v ago in the cluster, want %v", got, want)
	}
}
