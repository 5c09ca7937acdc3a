package controller

import (
	"fmt"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// deviceTaintWorld returns a cluster with a pod on device d0 of pool n1 of driver gpu, whose claim has the tolerations, and with a pod on
// device d1.
func deviceTaintWorld(t *testing.T, tolerations string) *world {
	w := newWorld(t, 2, placeAnywhere)
	pod := func(name, device, tolerations string) string {
		return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec: {resourceClaims: [{name: gpu, resourceClaimName: %[1]s}], containers: [{name: c, image: i}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %[1]s, finalizers: [resource.kubernetes.io/delete-protection]}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
status: {allocation: {devices: {results: [{request: gpu, driver: gpu, pool: n1, device: %[2]s, tolerations: [%[3]s]}]}}}
`, name, device, tolerations)
	}
	w.apply(pod("one", "d0", tolerations) + "---" + pod("other", "d1", "") + "---" + slice(1, ""))
	w.check("before", w.pods(), map[string]string{"one": "n1", "other": "n1"})
	return w
}

// slice returns a ResourceSlice with both devices; the first has the taints.
func slice(generation int, taints string) string {
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s%[1]d}
spec: {driver: gpu, nodeName: n1, pool: {name: n1, generation: %[1]d, resourceSliceCount: 1}, devices: [{name: d0, taints: [%[2]s]}, {name: d1}]}
`, generation, taints)
}

func taintRule(selector, taint string) string {
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: hot}
spec: {deviceSelector: {%s}, taint: {%s}}
`, selector, taint)
}

// A pod leaves its device once it no longer tolerates a NoExecute taint, and its claim loses the device with it.
func TestDeviceTaintEvicts(t *testing.T) {
	const hot = "key: hot, value: very, effect: NoExecute"
	const minute = "{key: hot, operator: Exists, effect: NoExecute, tolerationSeconds: 60}"
	for _, test := range []struct {
		name, tolerations, taint string
		after                    int // seconds; -1: never
	}{
		{"a rule", "", taintRule("device: d0", hot), 0},
		{"a rule of another driver", "", taintRule("driver: nic", hot), -1},
		{"a rule without effect", "", taintRule("device: d0", "key: hot, effect: None"), -1},
		{"a rule that only keeps new pods away", "", taintRule("device: d0", "key: hot, effect: NoSchedule"), -1},
		{"a device that its driver taints", "", slice(1, "{"+hot+"}"), 0},
		{"a device of a newer generation", "", slice(2, "{"+hot+"}"), 0},
		{"a device of an older one", "", slice(0, "{"+hot+"}"), -1},
		{"tolerated", "{key: hot, operator: Exists, effect: NoExecute}", taintRule("device: d0", hot), -1},
		{"tolerated with another value", "{key: hot, operator: Equal, value: mildly, effect: NoExecute}", taintRule("device: d0", hot), 0},
		{"tolerated by those that schedule", "{key: hot, operator: Exists, effect: NoSchedule}", taintRule("device: d0", hot), 0},
		// Upstream considers only tolerations with the effect NoExecute, although a toleration without an effect tolerates all effects.
		{"tolerated without an effect", "{key: hot, operator: Exists}", taintRule("device: d0", hot), 0},
		{"tolerated for a while", minute, taintRule("device: d0", hot), 60},
		{"the shorter of two counts", minute + ", {operator: Exists, effect: NoExecute, tolerationSeconds: 30}", taintRule("device: d0", hot), 30},
		{"of two taints, the first that is not tolerated", minute, slice(1, "{"+hot+"}, {key: worn, effect: NoExecute}"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := deviceTaintWorld(t, test.tolerations)
			since := w.state.Now
			w.admit(decode(t, test.taint)...)
			w.settle()
			if test.after > 0 {
				w.check("tolerated", w.pods(), map[string]string{"one": "n1", "other": "n1"})
				w.wait()
			}
			if test.after < 0 {
				w.check("never", w.pods(), map[string]string{"one": "n1", "other": "n1"})
				if at, waits := w.controllers.Next(w.state); waits {
					t.Errorf("something waits until %v", at)
				}
				return
			}
			w.check("evicted", w.pods(), map[string]string{"other": "n1"})
			if after := int(w.state.Now.Sub(since.Time).Seconds()); after < test.after || after > test.after+2 {
				t.Errorf("evicted after %d s, want %d", after, test.after)
			}
			allocated := map[string]bool{}
			for _, claim := range w.state.ResourceClaims {
				allocated[claim.Name] = claim.Status.Allocation != nil
			}
			w.check("claims", allocated, map[string]bool{"one": false, "other": true})
		})
	}
}

// Without the feature gate of taint rules, taints that drivers publish still evict. Without the feature gate of device taints, no taint
// does.
func TestDeviceTaintGates(t *testing.T) {
	const hot = "key: hot, effect: NoExecute"
	for _, test := range []struct {
		name       string
		taints     bool
		rule, both map[string]string
	}{
		{"rules off", true, map[string]string{"one": "n1", "other": "n1"}, map[string]string{"other": "n1"}},
		{"taints off", false, map[string]string{"one": "n1", "other": "n1"}, map[string]string{"one": "n1", "other": "n1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
				features.DRADeviceTaintRules: false, features.DRADeviceTaints: test.taints})
			w := deviceTaintWorld(t, "")
			w.apply(taintRule("device: d0", hot))
			w.check("a rule", w.pods(), test.rule)
			w.apply(slice(1, "{"+hot+"}"))
			w.check("a driver", w.pods(), test.both)
		})
	}
}

// A manifest may say when a taint was added: tolerations count from that time.
func TestDeviceTaintOfThePast(t *testing.T) {
	w := deviceTaintWorld(t, "{key: hot, operator: Exists, effect: NoExecute, tolerationSeconds: 60}")
	ago := w.state.Now.Add(-100e9).UTC().Format("2006-01-02T15:04:05Z")
	w.apply(taintRule("device: d0", "key: hot, effect: NoExecute, timeAdded: '"+ago+"'"))
	w.check("evicted", w.pods(), map[string]string{"other": "n1"})
}
