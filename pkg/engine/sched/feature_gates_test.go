package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func TestSetReleaseRefuses(t *testing.T) {
	t.Cleanup(func() { setGates(t, "") })
	setGates(t, "HPAScaleToZero=false")
	for gates, want := range map[string]string{
		"HPAScaleToZeros=true":          `kube-scheduler v1.37.1 has no feature gate "HPAScaleToZeros"; did you mean "HPAScaleToZero"?`,
		"Frobnicate=true":               `kube-scheduler v1.37.1 has no feature gate "Frobnicate"`,
		"HPAScaleToZero=maybe":          `feature gate HPAScaleToZero: "maybe" is invalid: use true or false`,
		"HPAScaleToZero=":               `feature gate HPAScaleToZero: "" is invalid: use true or false`,
		"HPAScaleToZero":                "feature gate HPAScaleToZero has no value; give HPAScaleToZero=true or HPAScaleToZero=false",
		"SchedulerAsyncPreemption=true": "feature gate SchedulerAsyncPreemption cannot be set: there is no API server to call asynchronously, and placements do not depend on it; leave it out",
		"A=true,HPAScaleToZero":         "kube-scheduler v1.37.1 has no feature gate \"A\"\nfeature gate HPAScaleToZero has no value; give HPAScaleToZero=true or HPAScaleToZero=false",
		"PodGroupPreemptionPolicy=true,GenericWorkload=false,DRAWorkloadResourceClaims=true": "DRAWorkloadResourceClaims is enabled, but depends on features that are disabled: [GenericWorkload]\nPodGroupPreemptionPolicy is enabled, but depends on features that are disabled: [GenericWorkload]",
	} {
		// The second time, upstream's own gates would reject the gate because of the value that they have kept.
		for range 2 {
			if err := SetRelease(Release{FeatureGates: gates}); err == nil || err.Error() != want {
				t.Errorf("%s:\n got %v\nwant %s", gates, err, want)
			}
		}
		if diff := cmp.Diff([]string{"HPAScaleToZero=false"}, FeatureGates()); diff != "" {
			t.Errorf("%s: gates (-want +got):\n%s", gates, diff)
		}
	}
}

// Each call starts from the release's defaults.
func TestSetReleaseIsExact(t *testing.T) {
	t.Cleanup(func() { setGates(t, "") })
	for _, c := range []struct {
		gates string
		want  []string
	}{
		{"GenericWorkload=true", []string{"GenericWorkload=true"}},
		{"HPAScaleToZero=true, HPAScaleToZero=false,", []string{"HPAScaleToZero=false"}},
		{"", nil},
	} {
		setGates(t, c.gates)
		if diff := cmp.Diff(c.want, FeatureGates(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: gates (-want +got):\n%s", c.gates, diff)
		}
	}
	setGates(t, "AllAlpha=true,AllBeta=true")
	if changed := FeatureGates(); len(changed) < 10 {
		t.Errorf("AllAlpha and AllBeta only change %v", changed)
	}
	setGates(t, "")
	if changed := FeatureGates(); len(changed) > 0 {
		t.Errorf("gates %v are left changed", changed)
	}
}

// If the gates are already set, SetRelease does not touch them, not even briefly: a gate that somebody else has switched meanwhile
// stays.
func TestSetReleaseLeavesThemAlone(t *testing.T) {
	t.Cleanup(func() { setGates(t, "GenericWorkload=true"); setGates(t, "") })
	setGates(t, "HPAScaleToZero=false")
	if err := utilfeature.DefaultMutableFeatureGate.Set("GenericWorkload=true"); err != nil {
		t.Fatal(err)
	}
	setGates(t, "HPAScaleToZero=false")
	if diff := cmp.Diff([]string{"GenericWorkload=true", "HPAScaleToZero=false"}, FeatureGates()); diff != "" {
		t.Errorf("the same gates (-want +got):\n%s", diff)
	}
	setGates(t, "")
	if changed := FeatureGates(); len(changed) > 0 {
		t.Errorf("other gates: %v are left changed", changed)
	}
}

func setGates(t *testing.T, gates string) {
	t.Helper()
	setRelease(t, Release{FeatureGates: gates})
}

func setRelease(t *testing.T, release Release) {
	t.Helper()
	if err := SetRelease(release); err != nil {
		t.Fatal(err)
	}
}
