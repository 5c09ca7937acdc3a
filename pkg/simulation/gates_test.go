package simulation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/engine/sched"
)

// A run has its own scenario's feature gates, whatever was loaded or run before.
func TestRunsDoNotShareFeatureGates(t *testing.T) {
	plain, switched := generated(t, 1), generated(t, 1)
	switched.Config = configUnder(t, "InterPodAffinityHostnameFastPath=true")
	runCase(t, switched)
	if diff := cmp.Diff([]string{switched.Config.Release().FeatureGates}, sched.FeatureGates()); diff != "" {
		t.Errorf("gates of the first run (-want +got):\n%s", diff)
	}
	runCase(t, plain)
	if diff := cmp.Diff([]string(nil), sched.FeatureGates(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("gates of the second run (-want +got):\n%s", diff)
	}
}

// A run as another release does not change later runs.
func TestRunsDoNotShareReleases(t *testing.T) {
	own, earlier := generated(t, 1), generated(t, 1)
	earlier.Config = configAs(t, sched.Release{Kubernetes: "1.34"})
	want := runCase(t, own)
	runCase(t, earlier)
	if utilfeature.DefaultFeatureGate.Enabled(features.ImageVolume) {
		t.Error("ImageVolume is on as Kubernetes 1.34")
	}
	got := runCase(t, own)
	if !utilfeature.DefaultFeatureGate.Enabled(features.ImageVolume) {
		t.Error("ImageVolume stays off")
	}
	for i := range want.Steps {
		if diff := cmp.Diff(byNode(want.Steps[i].State), byNode(got.Steps[i].State)); diff != "" {
			t.Errorf("step %s (-before +after):\n%s", want.Steps[i].Name, diff)
		}
	}
}

// configUnder returns the scheduler's default configuration with the feature gates.
func configUnder(t *testing.T, gates string) *sched.Config {
	t.Helper()
	return configAs(t, sched.Release{FeatureGates: gates})
}

// configAs returns the default configuration of a scheduler of the release.
func configAs(t *testing.T, release sched.Release) *sched.Config {
	t.Helper()
	back, err := sched.SwitchRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	defer back()
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return config
}
