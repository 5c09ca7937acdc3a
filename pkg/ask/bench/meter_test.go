package bench

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// TestSchedulerPerf runs each of upstream's cases once: 500 pods, none of which stays Pending.
func TestSchedulerPerf(t *testing.T) {
	paths, err := filepath.Glob("../../../scenarios/scheduler_perf/*")
	if err != nil || len(paths) != 9 {
		t.Fatalf("%d cases, want 9; %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			loaded, err := scenario.Load(path, scenario.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := simulation.Run(context.Background(), loaded, simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if loaded.Name != filepath.Base(path) || len(result.Initial.Nodes) != 500 || attempts(result) != 500 {
				t.Errorf("%s: %d nodes, %d attempts", loaded.Name, len(result.Initial.Nodes), attempts(result))
			}
			for _, step := range result.Steps {
				for _, expectation := range step.Expectations {
					if !expectation.Met {
						t.Errorf("%s: want %s, got %s", step.Name, expectation.Want, expectation.Got)
					}
				}
				if len(step.Expectations) == 0 {
					t.Errorf("%s expects nothing", step.Name)
				}
			}
		})
	}
}

// TestMeter counts the runs: those that warm up, and three attempts of as many runs as take 100 ms.
func TestMeter(t *testing.T) {
	runs := 0
	var garbage []byte
	meter, err := newMeter(context.Background(), func(context.Context) (int, error) {
		runs++
		garbage = make([]byte, 1<<16)
		for began := cpuTime(); cpuTime()-began < 10*time.Millisecond; {
			runtime.KeepAlive(place(runs))
		}
		return 7, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if runs != 2 || meter.runs < 1 || meter.runs > 10 {
		t.Errorf("%d runs to warm up, then %d in an attempt", runs, meter.runs)
	}
	sample, err := meter.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 + bestOf*meter.runs; runs != want || sample.Runs != meter.runs || sample.Pods != 7 {
		t.Errorf("%d runs, want %d; %+v", runs, want, sample)
	}
	if sample.CPU < 10*time.Millisecond || sample.Calibration <= 0 || sample.Wall <= 0 || sample.Bytes < float64(len(garbage)) || sample.Allocs < 1 {
		t.Errorf("%+v, of runs that use 10 ms and %d bytes", sample, len(garbage))
	}
}

func TestMeterError(t *testing.T) {
	failed := errors.New("no answer")
	if _, err := newMeter(context.Background(), func(context.Context) (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func TestPlugins(t *testing.T) {
	loaded, err := scenario.Load("../../../scenarios/scheduler_perf/SchedulingPodAntiAffinity", scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	meter, err := NewMeter(context.Background(), loaded)
	if err != nil {
		t.Fatal(err)
	}
	times, err := meter.Plugins(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(times, func(p PluginTime) bool { return p.Plugin == "InterPodAffinity" && p.Share > 0 }) {
		t.Errorf("InterPodAffinity took no time for 500 pods that have a rule: %v", times)
	}
}
