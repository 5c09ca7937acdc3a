package controller

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// device identifies a device.
type device struct{ driver, pool, name string }

// deviceEviction is a pod, and the time at which it no longer tolerates a taint of one of its devices.
type deviceEviction struct {
	pod *v1.Pod
	at  time.Time
}

// evictFromDevices requests the deletion of pods that no longer tolerate the NoExecute taints of their devices:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/devicetainteviction/device_taint_eviction.go.
func (c *Controllers) evictFromDevices(s *cluster.State) *cluster.State {
	var evicted []*v1.Pod
	for _, due := range c.deviceEvictions(s) {
		if !due.at.After(s.Now.Time) {
			evicted = append(evicted, due.pod)
		}
	}
	return admission.Terminate(s, "DeletionByDeviceTaintManager", evicted...)
}

// deviceEvictions returns the pods that must leave their devices at some time, with that time.
func (c *Controllers) deviceEvictions(s *cluster.State) []deviceEviction {
	if len(s.ResourceClaims) == 0 || !utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaints) {
		return nil
	}
	from := []any{newListID(s.Pods), newListID(s.ResourceClaims), newListID(s.ResourceSlices), newListID(s.DeviceTaintRules)}
	return recallOrCompute(&c.memory, subject{fact: taintEvictions}, from, func() []deviceEviction {
		published := recallOrCompute(&c.memory, subject{fact: publishedTaints}, from[2:3], func() map[device][]resourcev1.DeviceTaint {
			return publishedDeviceTaints(s.ResourceSlices)
		})
		return evictionsByTaints(published, s)
	})
}

// evictionsByTaints returns the pods that must leave because of the published taints of devices, or the taints of rules.
func evictionsByTaints(published map[device][]resourcev1.DeviceTaint, s *cluster.State) []deviceEviction {
	var rules []*resourcev1.DeviceTaintRule
	for _, rule := range s.DeviceTaintRules {
		if utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) && rule.Spec.Taint.Effect == resourcev1.DeviceTaintEffectNoExecute {
			rules = append(rules, rule)
		}
	}
	due := map[types.NamespacedName]claimEviction{}
	for _, claim := range s.ResourceClaims {
		if at, evicts := claimEvictionTime(claim, published, rules); evicts {
			due[cluster.NameOf(claim)] = claimEviction{claim, at}
		}
	}
	if len(due) == 0 {
		return nil
	}
	var evictions []deviceEviction
	for _, pod := range s.Pods {
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || cluster.IsTerminal(pod) {
			continue
		}
		if at, evicts := podEvictionTime(pod, due); evicts {
			evictions = append(evictions, deviceEviction{pod, at})
		}
	}
	return evictions
}

// publishedDeviceTaints returns the NoExecute taints that drivers publish for their devices. Older generations of a pool do not count.
func publishedDeviceTaints(all []*resourcev1.ResourceSlice) map[device][]resourcev1.DeviceTaint {
	newest := map[device]int64{} // by driver and pool
	for _, slice := range all {
		pool := device{driver: slice.Spec.Driver, pool: slice.Spec.Pool.Name}
		newest[pool] = max(newest[pool], slice.Spec.Pool.Generation)
	}
	published := map[device][]resourcev1.DeviceTaint{}
	for _, slice := range all {
		if slice.Spec.Pool.Generation < newest[device{driver: slice.Spec.Driver, pool: slice.Spec.Pool.Name}] {
			continue
		}
		for i := range slice.Spec.Devices {
			id := device{slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name}
			for _, taint := range slice.Spec.Devices[i].Taints {
				if taint.Effect == resourcev1.DeviceTaintEffectNoExecute {
					published[id] = append(published[id], taint)
				}
			}
		}
	}
	return published
}

// claimEviction is a claim, and the time at which pods no longer tolerate a taint of one of its devices.
type claimEviction struct {
	claim *resourcev1.ResourceClaim
	at    time.Time
}

// claimEvictionTime returns when the first of the claim's devices is no longer tolerated; false if all are tolerated for ever. It is upstream's
// claimEvictionTime.
func claimEvictionTime(claim *resourcev1.ResourceClaim, published map[device][]resourcev1.DeviceTaint, rules []*resourcev1.DeviceTaintRule) (when time.Time, evicts bool) {
	if claim.Status.Allocation == nil {
		return time.Time{}, false
	}
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		taints := slices.Clone(published[device{result.Driver, result.Pool, result.Device}])
		for _, rule := range rules {
			if cluster.SelectsDevice(rule, result.Driver, result.Pool, result.Device) {
				taints = append(taints, rule.Spec.Taint)
			}
		}
		for _, taint := range taints {
			if at, ends := toleratedUntil(result.Tolerations, taint); ends && (!evicts || at.Before(when)) {
				when, evicts = at, true
			}
		}
	}
	return when, evicts
}

// toleratedUntil returns when the taint is no longer tolerated; false if it is tolerated for ever. A taint without a time counts as added
// long ago.
func toleratedUntil(tolerations []resourcev1.DeviceToleration, taint resourcev1.DeviceTaint) (time.Time, bool) {
	var since time.Time
	if taint.TimeAdded != nil {
		since = taint.TimeAdded.Time
	}
	shortest := int64(-1)
	for _, toleration := range tolerations {
		if toleration.Effect != resourcev1.DeviceTaintEffectNoExecute || !resourceclaim.ToleratesTaint(toleration, taint) {
			continue
		}
		if toleration.TolerationSeconds == nil {
			return time.Time{}, false
		}
		if seconds := max(0, *toleration.TolerationSeconds); shortest < 0 || seconds < shortest {
			shortest = seconds
		}
	}
	return since.Add(time.Duration(max(0, shortest)) * time.Second), true
}

// podEvictionTime returns when the pod must leave; false if it need not. Due has the claims with a device that is not tolerated for ever.
// It is upstream's function of that name.
func podEvictionTime(pod *v1.Pod, due map[types.NamespacedName]claimEviction) (when time.Time, evicts bool) {
	for i := range pod.Spec.ResourceClaims {
		name, mustCheckOwner, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		of, known := due[types.NamespacedName{Namespace: pod.Namespace, Name: *name}]
		if !known || mustCheckOwner && resourceclaim.IsForPod(pod, of.claim, false) != nil || !resourceclaim.IsReservedForPod(pod, of.claim, false) {
			continue
		}
		if !evicts || of.at.Before(when) {
			when, evicts = of.at, true
		}
	}
	return when, evicts
}
