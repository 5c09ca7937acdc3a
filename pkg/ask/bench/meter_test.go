package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
)

// fakeClock is a clock that only advances in runs.
type fakeClock struct {
	wall, cpu    time.Duration
	calibrations []time.Duration // the remaining ones
}

func (f *fakeClock) clock() clock {
	return clock{
		wall: func() time.Time { return time.Time{}.Add(f.wall) },
		cpu:  func() time.Duration { return f.cpu },
		calibrate: func() time.Duration {
			took := f.calibrations[0]
			f.calibrations = f.calibrations[1:]
			return took
		},
	}
}

// The first run takes 90 ms, which is too short for an attempt, and the others 30 ms each: so an attempt has 4 runs, the fewest that take
// 100 ms. The runs of the three attempts use 12, 11 and 13 ms of CPU each. The second attempt counts, with the smallest calibration around
// all three; the very first calibration only warms up.
func TestMeter(t *testing.T) {
	const ms = time.Millisecond
	f := &fakeClock{calibrations: []time.Duration{1 * ms, 8 * ms, 7 * ms, 6 * ms, 9 * ms}}
	runs := 0
	meter, err := newMeter(t.Context(), func(context.Context) (work, error) {
		f.wall += 30 * ms
		if runs == 0 {
			f.wall += 60 * ms
		}
		f.cpu += []time.Duration{50 * ms, 50 * ms, 12 * ms, 12 * ms, 12 * ms, 12 * ms, 11 * ms, 11 * ms, 11 * ms, 11 * ms, 13 * ms, 13 * ms, 13 * ms, 13 * ms}[runs]
		runs++
		garbage = make([]byte, 1<<16)
		return work{pods: 7, cycles: sched.Cycles{Kept: 5, Plain: 3}}, nil
	}, f.clock())
	if err != nil {
		t.Fatal(err)
	}
	if runs != 2 || meter.runs != 4 {
		t.Errorf("%d runs to warm up and %d in an attempt, want 2 and 4", runs, meter.runs)
	}
	sample, err := meter.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if runs != 14 || len(f.calibrations) != 0 {
		t.Errorf("%d runs in all, and %d calibrations left, want 14 and 0", runs, len(f.calibrations))
	}
	if sample.Bytes < 1<<16 || sample.Allocs < 1 {
		t.Errorf("%v bytes in %v pieces, of runs that take 64 KiB", sample.Bytes, sample.Allocs)
	}
	sample.Bytes, sample.Allocs = 0, 0
	if want := (Sample{Runs: 4, Pods: 7, Wall: 30 * ms, CPU: 11 * ms, Calibration: 6 * ms, Kept: 5, Plain: 3}); sample != want {
		t.Errorf("got %+v, want %+v", sample, want)
	}
}

// garbage keeps the compiler from removing the allocations of a run.
var garbage []byte

// A run of 100 ms or more is long enough by itself, and warms up once.
func TestMeterOfALongRun(t *testing.T) {
	f := &fakeClock{calibrations: []time.Duration{time.Millisecond}}
	runs := 0
	meter, err := newMeter(t.Context(), func(context.Context) (work, error) {
		f.wall += minAttempt
		runs++
		return work{pods: 1}, nil
	}, f.clock())
	if err != nil || runs != 1 || meter.runs != 1 {
		t.Errorf("%d runs to warm up and %d in an attempt, want 1 and 1; %v", runs, meter.runs, err)
	}
}

// The calibration takes some CPU time.
func TestCalibrate(t *testing.T) {
	if took := calibrate(); took <= 0 {
		t.Errorf("it took %v", took)
	}
}

func TestMeterError(t *testing.T) {
	failed := errors.New("no answer")
	if _, err := newMeter(context.Background(), func(context.Context) (work, error) { return work{}, failed }, realClock); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func TestPlugins(t *testing.T) {
	loaded, err := loader.Load("../../../scenarios/scheduler_perf/SchedulingPodAntiAffinity", loader.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	meter, err := NewMeter(context.Background(), loaded)
	if err != nil {
		t.Fatal(err)
	}
	if pods, err := meter.run(context.Background()); pods.pods != 500 || err != nil {
		t.Errorf("%d attempts, want 500; %v", pods, err)
	}
	times, err := meter.Plugins(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(times, func(p PluginTime) bool { return p.Plugin == "InterPodAffinity" && p.Share > 0 }) {
		t.Errorf("InterPodAffinity took no time for 500 pods that have a rule: %v", times)
	}
}
