package devices

import (
	"context"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// Want is what a request demands of each device.
type Want struct {
	Class, Selectors []resourcev1.DeviceSelector
	Tolerations      []resourcev1.DeviceToleration
	Capacity         *resourcev1.CapacityRequirements
	AdminAccess      bool
}

// Offer counts the devices that a node has for a request.
type Offer struct {
	// Reachable counts the devices that pods on the node can get, OfClass those that also pass the class's selectors, and Matching those
	// that also pass the request's selectors.
	Reachable, OfClass, Matching int
	// Tainted are the matching devices with a taint that the request does not tolerate. Of the others, Taken counts the devices that are
	// allocated or lack capacity or counters, and Free the rest.
	Tainted     []TaintedDevice
	Taken, Free int
	// Holders are the claims that hold the taken devices, in the order of the cluster.
	Holders []types.NamespacedName
	// Incomplete are the pools that lack a slice, as driver/pool. No request gets a device of them.
	Incomplete []string
}

// TaintedDevice is a device with the first taint that a request does not tolerate.
type TaintedDevice struct {
	Name  string
	Taint resourcev1.DeviceTaint
}

// Offers counts the devices of a cluster for requests. Upstream's allocator does not export its counts; it only says whether all claims of
// a pod can be allocated. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
type Offers struct {
	pools     []devicePool
	allocated allocated
	holders   map[structured.DeviceID][]types.NamespacedName
	compiled  map[string]cel.CompilationResult
}

// NewOffers returns the offers of the state's devices.
func NewOffers(s *cluster.State) *Offers {
	o := &Offers{pools: newestPools(applyTaintRules(s.ResourceSlices, s.DeviceTaintRules)), allocated: newAllocated(),
		holders: map[structured.DeviceID][]types.NamespacedName{}, compiled: map[string]cel.CompilationResult{}}
	for _, claim := range s.ResourceClaims {
		o.allocated.addClaim(claim)
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if !ptr.Deref(result.AdminAccess, false) {
				id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
				o.holders[id] = append(o.holders[id], cluster.NameOf(claim))
			}
		}
	}
	return o
}

// devicePool is a pool: its slices of the newest generation.
type devicePool struct {
	driver, name string
	slices       []*resourcev1.ResourceSlice
}

// newestPools groups slices by driver and pool, and keeps those of each pool's newest generation.
func newestPools(all []*resourcev1.ResourceSlice) []devicePool {
	type key struct{ driver, name string }
	var pools []devicePool
	for _, of := range list.GroupBy(all, func(s *resourcev1.ResourceSlice) key { return key{s.Spec.Driver, s.Spec.Pool.Name} }) {
		newest := slices.MaxFunc(of, func(a, b *resourcev1.ResourceSlice) int { return int(a.Spec.Pool.Generation - b.Spec.Pool.Generation) }).Spec.Pool.Generation
		pools = append(pools, devicePool{of[0].Spec.Driver, of[0].Spec.Pool.Name,
			list.Where(of, func(s *resourcev1.ResourceSlice) bool { return s.Spec.Pool.Generation == newest })})
	}
	return pools
}

// On counts the devices that the node has for the request.
func (o *Offers) On(ctx context.Context, node *v1.Node, want Want) Offer {
	var offer Offer
	for _, pool := range o.pools {
		var here []*resourcev1.Device
		for _, slice := range pool.slices {
			for i := range slice.Spec.Devices {
				if device := &slice.Spec.Devices[i]; canReach(slice, device, node) {
					here = append(here, device)
				}
			}
		}
		switch {
		case len(here) == 0:
		case int64(len(pool.slices)) != pool.slices[0].Spec.Pool.ResourceSliceCount:
			offer.Incomplete = append(offer.Incomplete, pool.driver+"/"+pool.name)
		default:
			for _, device := range here {
				o.countDevice(ctx, &offer, pool, device, want)
			}
		}
	}
	return offer
}

// countDevice counts one reachable device in the offer.
func (o *Offers) countDevice(ctx context.Context, offer *Offer, pool devicePool, device *resourcev1.Device, want Want) {
	offer.Reachable++
	if !o.matches(ctx, pool.driver, device, want.Class) {
		return
	}
	offer.OfClass++
	if !o.matches(ctx, pool.driver, device, want.Selectors) {
		return
	}
	offer.Matching++
	if taint := untolerated(device, want.Tolerations); taint != nil {
		offer.Tainted = append(offer.Tainted, TaintedDevice{device.Name, *taint})
		return
	}
	taken, holders := o.isTaken(pool, device, want)
	if !taken {
		offer.Free++
		return
	}
	offer.Taken++
	for _, holder := range holders {
		if !slices.Contains(offer.Holders, holder) {
			offer.Holders = append(offer.Holders, holder)
		}
	}
}

// canReach reports whether pods on the node can get the device.
func canReach(slice *resourcev1.ResourceSlice, device *resourcev1.Device, node *v1.Node) bool {
	name, all, selector := slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		name, all, selector = device.NodeName, device.AllNodes, device.NodeSelector
	}
	match, err := structured.NodeMatches(structured.Features{}, node, ptr.Deref(name, ""), ptr.Deref(all, false), selector)
	return err == nil && match
}

// matches reports whether the device passes all selectors. An expression that fails on a device does not match it.
func (o *Offers) matches(ctx context.Context, driver string, device *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool {
	for _, selector := range selectors {
		if selector.CEL == nil {
			return false
		}
		compiled, known := o.compiled[selector.CEL.Expression]
		if !known {
			compiled = cel.GetCompiler(cel.Features{
				EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
				EnableListTypeAttributes: utilfeature.DefaultFeatureGate.Enabled(features.DRAListTypeAttributes),
			}).CompileCELExpression(selector.CEL.Expression, cel.Options{})
			o.compiled[selector.CEL.Expression] = compiled
		}
		if compiled.Error != nil {
			return false
		}
		given := cel.Device{Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity}
		if match, _, err := compiled.DeviceMatches(ctx, given); err != nil || !match {
			return false
		}
	}
	return true
}

// untolerated returns the first taint of the device that prevents its allocation; nil if none does.
func untolerated(device *resourcev1.Device, tolerations []resourcev1.DeviceToleration) *resourcev1.DeviceTaint {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaints) {
		return nil
	}
	at := slices.IndexFunc(device.Taints, func(taint resourcev1.DeviceTaint) bool {
		return taint.Effect != resourcev1.DeviceTaintEffectNone && !slices.ContainsFunc(tolerations, func(t resourcev1.DeviceToleration) bool {
			return resourceclaim.ToleratesTaint(t, taint)
		})
	})
	if at < 0 {
		return nil
	}
	return &device.Taints[at]
}

// isTaken reports whether the request cannot get the device, although it matches. The holders are the claims that have the device, the
// capacity of a shared device, or the counters that the device would consume.
func (o *Offers) isTaken(pool devicePool, device *resourcev1.Device, want Want) (taken bool, holders []types.NamespacedName) {
	id := structured.MakeDeviceID(pool.driver, pool.name, device.Name)
	switch {
	case want.AdminAccess:
		return false, nil
	case ptr.Deref(device.AllowMultipleAllocations, false) && !o.allocated.sharesAreWhole:
		if consumed := o.allocated.state.AggregatedCapacity[id]; want.Capacity != nil {
			for name, asked := range want.Capacity.Requests {
				left := device.Capacity[name].Value.DeepCopy()
				if used := consumed[name]; used != nil {
					left.Sub(*used)
				}
				if left.Cmp(asked) < 0 {
					return true, o.holders[id]
				}
			}
		}
		return false, nil
	case o.allocated.state.AllocatedDevices.Has(id):
		return true, o.holders[id]
	}
	return o.countersHeld(pool, device)
}

// countersHeld reports whether too little is left of a counter that the device would consume, and which claims have devices that consume
// the counter; see checkAvailableCounters of upstream's allocator.
func (o *Offers) countersHeld(pool devicePool, device *resourcev1.Device) (held bool, holders []types.NamespacedName) {
	for _, consumes := range device.ConsumesCounters {
		for _, name := range slices.Sorted(maps.Keys(consumes.Counters)) {
			left, found := findCounter(pool, consumes.CounterSet, name)
			if !found {
				continue
			}
			holders = nil
			for _, slice := range pool.slices {
				for i := range slice.Spec.Devices {
					other := &slice.Spec.Devices[i]
					id := structured.MakeDeviceID(pool.driver, pool.name, other.Name)
					if !structured.IsDeviceAllocated(id, &o.allocated.state) {
						continue
					}
					for _, used := range other.ConsumesCounters {
						if counter, same := used.Counters[name]; same && used.CounterSet == consumes.CounterSet {
							left.Value.Sub(counter.Value)
							holders = append(holders, o.holders[id]...)
						}
					}
				}
			}
			if left.Value.Cmp(consumes.Counters[name].Value) < 0 {
				slices.SortFunc(holders, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
				return true, slices.Compact(holders)
			}
		}
	}
	return false, nil
}

// findCounter returns a copy of a counter of the pool.
func findCounter(pool devicePool, set, name string) (resourcev1.Counter, bool) {
	for _, slice := range pool.slices {
		for _, counters := range slice.Spec.SharedCounters {
			if counter, found := counters.Counters[name]; found && counters.Name == set {
				return *counter.DeepCopy(), true
			}
		}
	}
	return resourcev1.Counter{}, false
}
