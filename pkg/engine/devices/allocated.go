package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"
)

// allocated counts the devices of allocated claims, whole devices and shares. foreachAllocatedDevice in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go
// lists them. While a claim is written, its pending devices count twice.
type allocated struct {
	state          structured.AllocatedState
	claims         map[structured.DeviceID]int
	shares         map[structured.SharedDeviceID]int
	sharesAreWhole bool // a share counts as the whole device, as without the consumable capacity feature
}

func newAllocated() allocated {
	return allocated{
		state: structured.AllocatedState{
			AllocatedDevices:         sets.New[structured.DeviceID](),
			AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
		},
		claims:         map[structured.DeviceID]int{},
		shares:         map[structured.SharedDeviceID]int{},
		sharesAreWhole: !utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
	}
}

func (a *allocated) addClaim(claim *resourcev1.ResourceClaim) { a.countDevices(claim, 1) }

func (a *allocated) removeClaim(claim *resourcev1.ResourceClaim) { a.countDevices(claim, -1) }

// countDevices counts the devices of the claim by times; a negative number takes them back.
func (a *allocated) countDevices(claim *resourcev1.ResourceClaim, by int) {
	if claim.Status.Allocation == nil {
		return
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if ptr.Deref(result.AdminAccess, false) {
			continue // admin access leaves the device to others
		}
		device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil || a.sharesAreWhole {
			addCount(a.claims, a.state.AllocatedDevices, device, by)
			continue
		}
		addCount(a.shares, a.state.AllocatedSharedDeviceIDs, structured.MakeSharedDeviceID(device, result.ShareID), by)
		if result.ConsumedCapacity == nil {
			continue
		}
		consumed := structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity)
		if by > 0 {
			a.state.AggregatedCapacity.Insert(consumed)
		} else {
			a.state.AggregatedCapacity.Remove(consumed)
		}
	}
}

// addCount adds to the count of an item, and keeps the set of items with a positive count.
func addCount[T comparable](counts map[T]int, present sets.Set[T], id T, by int) {
	counts[id] += by
	if counts[id] > 0 {
		present.Insert(id)
		return
	}
	delete(counts, id)
	present.Delete(id)
}
