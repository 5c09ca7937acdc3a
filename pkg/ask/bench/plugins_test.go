package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// stackSample returns a sample with these functions, the innermost first.
func stackSample(nanoseconds int64, functions ...string) *profile.Sample {
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
		spread = pluginsPath + "podtopologyspread.(*PodTopologySpread)."
	)
	got := pluginShares(&profile.Profile{Sample: []*profile.Sample{
		stackSample(20, "runtime.mapaccess1", spread+"Filter", run),
		stackSample(10, pluginsPath+"nodeaffinity.(*NodeAffinity).Filter", pluginsPath+"helper.Match", spread+"Filter", run),
		stackSample(10, spread+"PreScore.func1", "k8s.io/client-go/util/workqueue.ParallelizeUntil"),
		stackSample(20, pluginsPath+"noderesources.fitsRequest", pluginsPath+"noderesources.(*Fit).Filter", run),
		stackSample(15, pluginsPath+"feature.NewSchedulerFeaturesFromGates", run),
		stackSample(25, "runtime.gcBgMarkWorker"),
	}})
	want := []PluginTime{{"PodTopologySpread", 0.4}, {"NodeResourcesFit", 0.2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
