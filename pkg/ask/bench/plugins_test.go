package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// stack returns a sample with these functions, the innermost first.
func stack(nanoseconds int64, functions ...string) *profile.Sample {
	sample := &profile.Sample{Value: []int64{nanoseconds}}
	for _, name := range functions {
		sample.Location = append(sample.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
	}
	return sample
}

// TestShares: of 100 ns, 40 are in a plugin's method, of which 10 are in another plugin's package on its behalf and 10 in its own
// goroutine; 20 are in a plugin with another name, and the rest in none.
func TestShares(t *testing.T) {
	const (
		run    = "k8s.io/kubernetes/pkg/scheduler/framework/runtime.(*frameworkImpl).RunFilterPlugins"
		spread = plugins + "podtopologyspread.(*PodTopologySpread)."
	)
	got := shares(&profile.Profile{Sample: []*profile.Sample{
		stack(20, "runtime.mapaccess1", spread+"Filter", run),
		stack(10, plugins+"nodeaffinity.(*NodeAffinity).Filter", plugins+"helper.Match", spread+"Filter", run),
		stack(10, spread+"PreScore.func1", "k8s.io/client-go/util/workqueue.ParallelizeUntil"),
		stack(20, plugins+"noderesources.fitsRequest", plugins+"noderesources.(*Fit).Filter", run),
		stack(15, plugins+"feature.NewSchedulerFeaturesFromGates", run),
		stack(25, "runtime.gcBgMarkWorker"),
	}})
	want := []PluginTime{{"PodTopologySpread", 0.4}, {"NodeResourcesFit", 0.2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
