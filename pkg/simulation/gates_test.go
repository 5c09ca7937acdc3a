package simulation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// configUnder is the scheduler's default configuration under feature gates.
func configUnder(t *testing.T, gates string) *sched.Config {
	t.Helper()
	return configAs(t, sched.Release{FeatureGates: gates})
}

// configAs is the default configuration of a scheduler of the release.
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
