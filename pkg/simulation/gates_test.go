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
	switched.FeatureGates = "InterPodAffinityHostnameFastPath=true"
	runCase(t, switched)
	if diff := cmp.Diff([]string{switched.FeatureGates}, sched.FeatureGates()); diff != "" {
		t.Errorf("gates of the first run (-want +got):\n%s", diff)
	}
	runCase(t, plain)
	if diff := cmp.Diff([]string(nil), sched.FeatureGates(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("gates of the second run (-want +got):\n%s", diff)
	}
}
