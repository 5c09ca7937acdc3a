// Package devices holds the scheduler's view of devices: the slices in which drivers publish them, the classes, and the claims with their
// allocations. kube-scheduler follows the API server; this package follows successive values of cluster.State.
package devices

import (
	"github.com/go-logr/logr"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// Manager is the scheduler's view of devices and claims. It is not safe for concurrent use.
type Manager struct {
	claims    *claims
	slices    []*resourcev1.ResourceSlice // as published; tainted has them with the taints of the rules
	tainted   []*resourcev1.ResourceSlice
	counts    map[string]int // devices by the node that a slice names; "" for the slices that name none
	rules     []*resourcev1.DeviceTaintRule
	classes   []*resourcev1.DeviceClass
	resources *resolver
}

var _ fwk.SharedDRAManager = &Manager{}

// NewManager returns a manager without devices.
func NewManager() *Manager {
	m := &Manager{claims: newClaims(), resources: &resolver{}}
	m.resources.fill(nil)
	return m
}

// Sync replaces the devices and claims by those of the state, and reports whether they changed.
func (m *Manager) Sync(next *cluster.State) bool {
	changed := m.claims.sync(next.ResourceClaims)
	if !cluster.SameSlice(m.slices, next.ResourceSlices) || !cluster.SameSlice(m.rules, next.DeviceTaintRules) {
		changed = true
		m.slices, m.rules = next.ResourceSlices, next.DeviceTaintRules
		m.tainted = applyTaintRules(m.slices, m.rules)
		m.counts = map[string]int{}
		for _, slice := range m.slices {
			m.counts[ptr.Deref(slice.Spec.NodeName, "")] += len(slice.Spec.Devices)
		}
	}
	if !cluster.SameSlice(m.classes, next.DeviceClasses) {
		changed = true
		m.classes = next.DeviceClasses
		m.resources.fill(m.classes)
	}
	return changed
}

// CountDevices returns the number of devices that a search for devices on the node may look at.
func (m *Manager) CountDevices(node string) int { return m.counts[node] + m.counts[""] }

// Write stores a claim as the API server would.
func (m *Manager) Write(claim *resourcev1.ResourceClaim) { m.claims.putClaim(claim) }

// Delete removes a claim.
func (m *Manager) Delete(name types.NamespacedName) { m.claims.deleteClaim(name) }

// Claim returns the claim of that name, or nil.
func (m *Manager) Claim(name types.NamespacedName) *resourcev1.ResourceClaim {
	if known := m.claims.byName[name]; known != nil {
		return known.given
	}
	return nil
}

// ResourceClaims implements fwk.SharedDRAManager.
func (m *Manager) ResourceClaims() fwk.ResourceClaimTracker { return m.claims }

// ResourceSlices implements fwk.SharedDRAManager.
func (m *Manager) ResourceSlices() fwk.ResourceSliceLister { return (*sliceLister)(m) }

// DeviceClasses implements fwk.SharedDRAManager.
func (m *Manager) DeviceClasses() fwk.DeviceClassLister { return (*classLister)(m) }

// DeviceClassResolver implements fwk.SharedDRAManager.
func (m *Manager) DeviceClassResolver() fwk.DeviceClassResolver { return m.resources }

// sliceLister lists the manager's slices for plugins.
type sliceLister Manager

func (l *sliceLister) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) {
	return l.tainted, nil
}

// applyTaintRules returns the slices with the taints that the rules add to their devices. See applyPatches in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go,
// which needs a cluster to watch.
func applyTaintRules(slices []*resourcev1.ResourceSlice, rules []*resourcev1.DeviceTaintRule) []*resourcev1.ResourceSlice {
	if len(rules) == 0 || !utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) {
		return slices
	}
	all := make([]*resourcev1.ResourceSlice, len(slices))
	for i, slice := range slices {
		all[i] = slice
		for _, rule := range rules {
			for d := range slice.Spec.Devices {
				if !cluster.SelectsDevice(rule, slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[d].Name) {
					continue
				}
				if all[i] == slice {
					all[i] = slice.DeepCopy()
				}
				all[i].Spec.Devices[d].Taints = append(all[i].Spec.Devices[d].Taints, rule.Spec.Taint)
			}
		}
	}
	return all
}

// classLister lists the manager's device classes for plugins.
type classLister Manager

func (l *classLister) List() ([]*resourcev1.DeviceClass, error) { return l.classes, nil }

func (l *classLister) Get(name string) (*resourcev1.DeviceClass, error) {
	for _, class := range l.classes {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclass"), name)
}

// resolver finds the class of an extended resource. Plugins hold a reference to it, so it is refilled in place.
type resolver struct {
	*extendedresourcecache.ExtendedResourceCache
}

func (r *resolver) fill(classes []*resourcev1.DeviceClass) {
	r.ExtendedResourceCache = extendedresourcecache.NewExtendedResourceCache(logr.Discard())
	for _, class := range classes {
		r.OnAdd(class, true)
	}
}
