package devices

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
)

// claimOn returns a claim with the allocated devices, which are of the pool n1 of driver gpu; without devices the claim is not allocated.
func claimOn(name string, devices ...resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	if len(devices) > 0 {
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: devices}}
	}
	return claim
}

func deviceResult(name string) resourcev1.DeviceRequestAllocationResult {
	return resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: "gpu", Pool: "n1", Device: name}
}

func adminResult(name string) resourcev1.DeviceRequestAllocationResult {
	d := deviceResult(name)
	d.AdminAccess = new(true)
	return d
}

func sharedResult(name, id, memory string) resourcev1.DeviceRequestAllocationResult {
	d := deviceResult(name)
	d.ShareID = new(types.UID(id))
	d.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}
	return d
}

// takenDevices has the devices that are allocated according to a manager.
type takenDevices struct {
	Devices, Shares map[string]bool
	Memory          map[string]string
}

func takenDevicesOf(t *testing.T, m *Manager) takenDevices {
	t.Helper()
	state, err := m.ResourceClaims().GatherAllocatedState()
	if err != nil {
		t.Fatal(err)
	}
	found := takenDevices{Devices: map[string]bool{}, Shares: map[string]bool{}, Memory: map[string]string{}}
	for id := range state.AllocatedDevices {
		found.Devices[id.String()] = true
	}
	for id := range state.AllocatedSharedDeviceIDs {
		found.Shares[id.String()] = true
	}
	for id, consumed := range state.AggregatedCapacity {
		for name, quantity := range consumed {
			found.Memory[fmt.Sprint(id, " ", name)] = quantity.String()
		}
	}
	whole, err := m.ResourceClaims().ListAllAllocatedDevices()
	if err != nil {
		t.Fatal(err)
	}
	if !whole.Equal(state.AllocatedDevices) {
		t.Errorf("devices listed are %v, allocated are %v", whole, state.AllocatedDevices)
	}
	return found
}

// TestAllocated follows the claims of one state after another: each device is taken as long as some claim has it.
func TestAllocated(t *testing.T) {
	alone, both := claimOn("a", deviceResult("d0")), claimOn("b", deviceResult("d0"), deviceResult("d1"))
	tests := []struct {
		name   string
		states [][]*resourcev1.ResourceClaim
		want   takenDevices
	}{
		{"a claim that is not allocated takes nothing", [][]*resourcev1.ResourceClaim{{claimOn("a")}}, takenDevices{}},
		{"whole devices", [][]*resourcev1.ResourceClaim{{alone, claimOn("c", deviceResult("d2"))}},
			takenDevices{Devices: map[string]bool{"gpu/n1/d0": true, "gpu/n1/d2": true}}},
		{"a device of two claims is taken until the last is gone", [][]*resourcev1.ResourceClaim{{alone, both}, {alone}},
			takenDevices{Devices: map[string]bool{"gpu/n1/d0": true}}},
		{"a claim gone takes its devices with it", [][]*resourcev1.ResourceClaim{{alone, both}, {claimOn("c")}}, takenDevices{}},
		{"a claim that lost its devices", [][]*resourcev1.ResourceClaim{{alone}, {claimOn("a")}}, takenDevices{}},
		{"a claim that got others", [][]*resourcev1.ResourceClaim{{alone}, {claimOn("a", deviceResult("d3"))}},
			takenDevices{Devices: map[string]bool{"gpu/n1/d3": true}}},
		{"an administrator takes nothing from others", [][]*resourcev1.ResourceClaim{{claimOn("a", adminResult("d0"), deviceResult("d1"))}},
			takenDevices{Devices: map[string]bool{"gpu/n1/d1": true}}},
		{"shares of a device add up", [][]*resourcev1.ResourceClaim{{claimOn("a", sharedResult("d0", "x", "10Gi")), claimOn("b", sharedResult("d0", "y", "6Gi"))}},
			takenDevices{Shares: map[string]bool{"gpu/n1/d0/x": true, "gpu/n1/d0/y": true}, Memory: map[string]string{"gpu/n1/d0 memory": "16Gi"}}},
		{"and go one by one", [][]*resourcev1.ResourceClaim{{claimOn("a", sharedResult("d0", "x", "10Gi")), claimOn("b", sharedResult("d0", "y", "6Gi"))},
			{claimOn("b", sharedResult("d0", "y", "6Gi"))}},
			takenDevices{Shares: map[string]bool{"gpu/n1/d0/y": true}, Memory: map[string]string{"gpu/n1/d0 memory": "6Gi"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := NewManager()
			for _, claims := range tt.states {
				m.Sync(&cluster.State{ResourceClaims: claims})
			}
			if diff := cmp.Diff(tt.want, takenDevicesOf(t, m), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("allocated (-want +got):\n%s", diff)
			}
		})
	}
}

// Without the consumable capacity feature shares are not read: two shares of a device count as the whole device, until the last share is
// released.
func TestAllocatedWithoutConsumableCapacity(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAConsumableCapacity, false)
	m := NewManager()
	a, b := claimOn("a", sharedResult("d0", "x", "10Gi")), claimOn("b", sharedResult("d0", "y", "6Gi"))
	for _, step := range []struct {
		claims []*resourcev1.ResourceClaim
		want   takenDevices
	}{
		{[]*resourcev1.ResourceClaim{a, b}, takenDevices{Devices: map[string]bool{"gpu/n1/d0": true}}},
		{[]*resourcev1.ResourceClaim{b}, takenDevices{Devices: map[string]bool{"gpu/n1/d0": true}}},
		{nil, takenDevices{}},
	} {
		m.Sync(&cluster.State{ResourceClaims: step.claims})
		if diff := cmp.Diff(step.want, takenDevicesOf(t, m), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d claims, allocated (-want +got):\n%s", len(step.claims), diff)
		}
	}
}

// TestPending checks that a pending allocation counts until it is written or given up. Two pods of a group share it.
func TestPending(t *testing.T) {
	m := NewManager()
	m.Sync(&cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{claimOn("a")}})
	tracker := m.ResourceClaims()
	held := func() bool { return takenDevicesOf(t, m).Devices["gpu/n1/d0"] }
	for range 2 {
		if err := tracker.SignalClaimPendingAllocation("a", claimOn("a", deviceResult("d0"))); err != nil {
			t.Fatal(err)
		}
	}
	if !held() || tracker.GetPendingAllocation("a") == nil {
		t.Fatal("a pending allocation takes its device")
	}
	if tracker.MaybeRemoveClaimPendingAllocation("a", false) || !held() {
		t.Error("the first of two pods must leave the device to the second")
	}
	m.Write(claimOn("a", deviceResult("d0")))
	if !tracker.MaybeRemoveClaimPendingAllocation("a", false) || tracker.GetPendingAllocation("a") != nil {
		t.Error("the second pod ends it")
	}
	if !held() {
		t.Error("what was written stays allocated")
	}
	if tracker.MaybeRemoveClaimPendingAllocation("a", true) {
		t.Error("nothing is left to end")
	}

	if err := tracker.SignalClaimPendingAllocation("b", claimOn("b", deviceResult("d1"))); err != nil {
		t.Fatal(err)
	}
	m.Sync(&cluster.State{})
	if got := takenDevicesOf(t, m); len(got.Devices) > 0 {
		t.Errorf("the next state begins without what the last cycle left pending: %v", got.Devices)
	}
}

// TestSync checks that Sync reports a change only if the state differs.
func TestSync(t *testing.T) {
	a, b := claimOn("a"), claimOn("b")
	classes := []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}} // of one state after another, as nothing changes
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
	m := NewManager()
	for i, step := range []struct {
		state   cluster.State
		changed bool
	}{
		{cluster.State{}, false},
		{cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{a, b}}, true},
		{cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{b, a}}, false}, // the order does not matter
		{cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{b}}, true},
		{cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{claimOn("b")}}, true}, // the same name, another object
		{cluster.State{DeviceClasses: classes}, true},
		{cluster.State{DeviceClasses: classes}, false},
		{cluster.State{DeviceClasses: classes, ResourceSlices: []*resourcev1.ResourceSlice{slice}}, true},
		{cluster.State{DeviceClasses: classes, ResourceSlices: []*resourcev1.ResourceSlice{slice},
			DeviceTaintRules: []*resourcev1.DeviceTaintRule{rule}}, true},
	} {
		if got := m.Sync(&step.state); got != step.changed {
			t.Errorf("state %d: changed is %t, want %t", i, got, step.changed)
		}
	}
}

func TestClaims(t *testing.T) {
	m := NewManager()
	a, b, c := claimOn("a"), claimOn("b"), claimOn("c")
	m.Sync(&cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{a, b, c}})
	m.Delete(types.NamespacedName{Namespace: "default", Name: "a"})
	m.Delete(types.NamespacedName{Namespace: "other", Name: "b"}) // there is none
	all, err := m.ResourceClaims().List()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, claim := range all {
		names[claim.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"b": true, "c": true}, names); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if got := m.Claim(cluster.NameOf(b)); got != b {
		t.Errorf("claim b is %v", got)
	}
	if got := m.Claim(cluster.NameOf(a)); got != nil {
		t.Errorf("claim a is deleted, and still %v", got)
	}
	_, err = m.ResourceClaims().Get("default", "a")
	if err == nil || err.Error() != `could not find ResourceClaim "default/a"` {
		t.Errorf("error is %v", err)
	}
}

// TestReady checks that drivers meet binding conditions at once, but that conditions which a driver has set stay. The original claim does
// not change.
func TestReady(t *testing.T) {
	waits := deviceResult("d0")
	waits.BindingConditions = []string{"Attached"}
	given := claimOn("a", waits, deviceResult("d1"))
	m := NewManager()
	m.Sync(&cluster.State{ResourceClaims: []*resourcev1.ResourceClaim{given}})
	seen, err := m.ResourceClaims().Get("default", "a")
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.Status.Devices) != 1 || !meta.IsStatusConditionTrue(seen.Status.Devices[0].Conditions, "Attached") {
		t.Errorf("devices are %v, want d0 to be Attached", seen.Status.Devices)
	}
	if m.Claim(cluster.NameOf(given)) != given || len(given.Status.Devices) > 0 {
		t.Error("the claim that was given has changed")
	}
}

func TestExtendedResource(t *testing.T) {
	m := NewManager()
	resolver := m.DeviceClassResolver() // plugins keep it
	name := v1.ResourceName("example.com/gpu")
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new(string(name))}}
	m.Sync(&cluster.State{DeviceClasses: []*resourcev1.DeviceClass{class}})
	if got := resolver.GetDeviceClass(name); got == nil || got.Name != "gpu" {
		t.Errorf("the class behind %s is %v, want gpu", name, got)
	}
	if got, err := m.DeviceClasses().Get("gpu"); got != class || err != nil {
		t.Errorf("class gpu is %v, %v", got, err)
	}
	m.Sync(&cluster.State{})
	if got := resolver.GetDeviceClass(name); got != nil {
		t.Errorf("the class behind %s is gone, and still %v", name, got)
	}
	if _, err := m.DeviceClasses().Get("gpu"); err == nil {
		t.Error("class gpu is gone, and no error says so")
	}
}

// TestTaintRules checks that a rule taints the devices that it selects, in addition to the taints that their driver publishes.
func TestTaintRules(t *testing.T) {
	published := resourcev1.DeviceTaint{Key: "worn", Effect: resourcev1.DeviceTaintEffectNoSchedule}
	slice := func(driver, pool string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver + "-" + pool},
			Spec: resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: pool}, Devices: devices}}
	}
	slices := []*resourcev1.ResourceSlice{
		slice("gpu", "n1", resourcev1.Device{Name: "d0"}, resourcev1.Device{Name: "d1", Taints: []resourcev1.DeviceTaint{published}}),
		slice("gpu", "n2", resourcev1.Device{Name: "d0"}),
		slice("nic", "n1", resourcev1.Device{Name: "d0"}),
	}
	const none = "gpu-n1/d1 worn"
	tests := []struct {
		name     string
		selector *resourcev1.DeviceTaintSelector
		want     []string // device and taints
	}{
		{"no selector selects nothing", nil, []string{none}},
		{"an empty one everything", &resourcev1.DeviceTaintSelector{}, []string{"gpu-n1/d0 hot", "gpu-n1/d1 worn hot", "gpu-n2/d0 hot", "nic-n1/d0 hot"}},
		{"a driver", &resourcev1.DeviceTaintSelector{Driver: new("nic")}, []string{none, "nic-n1/d0 hot"}},
		{"a pool", &resourcev1.DeviceTaintSelector{Pool: new("n2")}, []string{none, "gpu-n2/d0 hot"}},
		{"a device in a pool of a driver", &resourcev1.DeviceTaintSelector{Driver: new("gpu"), Pool: new("n1"), Device: new("d1")}, []string{"gpu-n1/d1 worn hot"}},
		{"a device that is not there", &resourcev1.DeviceTaintSelector{Device: new("d7")}, []string{none}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := NewManager()
			rule := &resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: tt.selector,
				Taint: resourcev1.DeviceTaint{Key: "hot", Effect: resourcev1.DeviceTaintEffectNoSchedule}}}
			m.Sync(&cluster.State{ResourceSlices: slices, DeviceTaintRules: []*resourcev1.DeviceTaintRule{rule}})
			tainted, err := m.ResourceSlices().ListWithDeviceTaintRules()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, slice := range tainted {
				for _, device := range slice.Spec.Devices {
					text := slice.Name + "/" + device.Name
					for _, taint := range device.Taints {
						text += " " + taint.Key
					}
					if len(device.Taints) > 0 {
						got = append(got, text)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tainted devices (-want +got):\n%s", diff)
			}
			if n := len(slices[0].Spec.Devices[0].Taints); n > 0 {
				t.Errorf("the slice that was given has %d taints", n)
			}
		})
	}
}
