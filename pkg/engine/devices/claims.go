package devices

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// claims holds the claims of a cluster, including the scheduler's new allocations. It takes the place of claimTracker in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go. The scheduler's
// writes are visible at once, so it needs no assumed claims.
type claims struct {
	byName    map[types.NamespacedName]*claim
	all       []*claim
	pending   map[types.UID]*pending
	allocated allocated
}

// claim is a claim of the state as given, and as the plugins see it.
type claim struct {
	given, seen *resourcev1.ResourceClaim
	position    int // in the list of all claims
}

// pending is an allocation that is not written yet, and the number of pods of a group that share it.
type pending struct {
	claim   *resourcev1.ResourceClaim
	sharers int
}

func newClaims() *claims {
	return &claims{byName: map[types.NamespacedName]*claim{}, pending: map[types.UID]*pending{}, allocated: newAllocated()}
}

// sync replaces the known claims, and reports whether they changed. It drops pending allocations, which remain after a cycle that did not
// complete.
func (c *claims) sync(next []*resourcev1.ResourceClaim) (changed bool) {
	for uid := range c.pending {
		c.MaybeRemoveClaimPendingAllocation(uid, true)
	}
	same := 0
	for _, given := range next {
		known := c.byName[cluster.NameOf(given)]
		if known != nil && known.given == given {
			same++
		}
	}
	if same == len(next) && same == len(c.all) {
		return false
	}
	present := make(map[types.NamespacedName]bool, len(next))
	for _, given := range next {
		name := cluster.NameOf(given)
		present[name] = true
		if known := c.byName[name]; known == nil || known.given != given {
			c.putClaim(given)
		}
	}
	for i := len(c.all) - 1; i >= 0; i-- {
		if name := cluster.NameOf(c.all[i].given); !present[name] {
			c.deleteClaim(name)
		}
	}
	return true
}

// putClaim adds a claim, or replaces the claim of the same name.
func (c *claims) putClaim(given *resourcev1.ResourceClaim) {
	name := cluster.NameOf(given)
	known := c.byName[name]
	if known == nil {
		known = &claim{position: len(c.all)}
		c.byName[name] = known
		c.all = append(c.all, known)
	} else {
		c.allocated.removeClaim(known.given)
	}
	known.given, known.seen = given, withConditionsMet(given)
	c.allocated.addClaim(given)
}

// withConditionsMet returns the claim as if its drivers had met the binding conditions of its devices, unless a driver has reported a failure. Upstream
// would otherwise wait for the conditions, with a timeout by the wall clock.
func withConditionsMet(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	if claim.Status.Allocation == nil {
		return claim
	}
	made := claim
	for _, result := range claim.Status.Allocation.Devices.Results {
		if len(result.BindingConditions) == 0 {
			continue
		}
		if made == claim {
			made = claim.DeepCopy()
		}
		device := deviceStatus(made, &result)
		for _, condition := range result.BindingConditions {
			meta.SetStatusCondition(&device.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
	}
	return made
}

// deviceStatus returns the claim's status of a device, and adds one if there is none.
func deviceStatus(claim *resourcev1.ResourceClaim, of *resourcev1.DeviceRequestAllocationResult) *resourcev1.AllocatedDeviceStatus {
	devices := &claim.Status.Devices
	for i := range *devices {
		if device := &(*devices)[i]; device.Driver == of.Driver && device.Pool == of.Pool && device.Device == of.Device {
			return device
		}
	}
	*devices = append(*devices, resourcev1.AllocatedDeviceStatus{Driver: of.Driver, Pool: of.Pool, Device: of.Device})
	return &(*devices)[len(*devices)-1]
}

// deleteClaim removes the claim of that name, if there is one.
func (c *claims) deleteClaim(name types.NamespacedName) {
	known := c.byName[name]
	if known == nil {
		return
	}
	c.allocated.removeClaim(known.given)
	delete(c.byName, name)
	last := c.all[len(c.all)-1]
	c.all[known.position], last.position = last, known.position
	c.all = c.all[:len(c.all)-1]
}

func (c *claims) List() ([]*resourcev1.ResourceClaim, error) {
	all := list.Map(c.all, func(known *claim) *resourcev1.ResourceClaim { return known.seen })
	return all, nil
}

func (c *claims) Get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	known := c.byName[types.NamespacedName{Namespace: namespace, Name: name}]
	if known == nil {
		// NotFoundError of https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/util/assumecache/assume_cache.go
		return nil, fmt.Errorf("could not find ResourceClaim %q", namespace+"/"+name)
	}
	return known.seen, nil
}

// ListAllAllocatedDevices returns the whole devices that are allocated.
func (c *claims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	return c.allocated.state.AllocatedDevices, nil
}

// GatherAllocatedState returns the allocated devices. It makes no copy, because the allocators only read the result, and do not use it any
// more after a claim has changed.
func (c *claims) GatherAllocatedState() (*structured.AllocatedState, error) {
	return &c.allocated.state, nil
}

func (c *claims) SignalClaimPendingAllocation(uid types.UID, allocated *resourcev1.ResourceClaim) error {
	if known := c.pending[uid]; known != nil {
		known.sharers++
		return nil
	}
	c.pending[uid] = &pending{claim: allocated, sharers: 1}
	c.allocated.addClaim(allocated)
	return nil
}

func (c *claims) GetPendingAllocation(uid types.UID) *resourcev1.AllocationResult {
	if known := c.pending[uid]; known != nil {
		return known.claim.Status.Allocation
	}
	return nil
}

func (c *claims) MaybeRemoveClaimPendingAllocation(uid types.UID, force bool) (deleted bool) {
	known := c.pending[uid]
	if known == nil {
		return false
	}
	if !force && known.sharers > 1 {
		known.sharers--
		return false
	}
	delete(c.pending, uid)
	c.allocated.removeClaim(known.claim)
	return true
}

// AssumeClaimAfterAPICall has nothing to do: Manager.Write knows the claim already.
func (c *claims) AssumeClaimAfterAPICall(*resourcev1.ResourceClaim) error { return nil }

// AssumedClaimRestore has nothing to undo.
func (c *claims) AssumedClaimRestore(string, string) {}
