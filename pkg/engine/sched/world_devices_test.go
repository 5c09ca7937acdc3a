package sched

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// withDevices gives every third world devices: some nodes have them, apps share claims, and the resource that apps request may be devices
// by a class. Worlds without devices stay unchanged.
func (w *world) withDevices(state *cluster.State) *cluster.State {
	if w.seed%3 != 0 {
		return state
	}
	w.Rand = rand.New(rand.NewPCG(w.seed, 1<<33))
	state = state.With(w.deviceClass())
	for _, node := range state.Nodes {
		if w.chance(2) {
			state = state.With(w.slice(node.Name))
		}
	}
	for _, namespace := range []string{"default", "east", "west"} {
		state = state.With(deviceClaim(namespace, "ours"), deviceClaim(namespace, "theirs"))
	}
	for _, app := range w.apps {
		if w.chance(3) {
			name := one(w, "ours", "theirs", "nobody's")
			app.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &name}}
		}
		if w.chance(4) {
			app.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
		}
	}
	return state
}

func (w *world) deviceClass() *resourcev1.DeviceClass {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "devices"}}
	if w.chance(2) {
		class.Spec.ExtendedResourceName = new(string(gpu))
	}
	return class
}

func (w *world) slice(node string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "devices", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}}
	for i := range 1 + w.IntN(3) {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", i)})
	}
	return slice
}

func deviceClaim(namespace, name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(namespace + "/" + name)},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "d", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "devices", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}}},
	}
}

// changeDevices returns the state with one change of devices.
func (w *world) changeDevices(state *cluster.State) *cluster.State {
	if len(state.DeviceClasses)+len(state.ResourceSlices) == 0 {
		return state
	}
	switch w.IntN(5) {
	case 0: // the class means another resource, or none
		return state.With(w.deviceClass())
	case 1:
		if len(state.ResourceSlices) > 0 {
			return state.Without(one(w, state.ResourceSlices...))
		}
	case 2:
		if len(state.Nodes) > 0 {
			return state.With(w.slice(one(w, state.Nodes...).Name))
		}
	case 3: // what the controllers do when the last pod is gone
		if len(state.ResourceClaims) > 0 {
			released := one(w, state.ResourceClaims...).DeepCopy()
			released.Status = resourcev1.ResourceClaimStatus{}
			return state.With(released)
		}
	case 4: // nobody has it reserved, and yet it is allocated
		if len(state.ResourceClaims) > 0 {
			unused := one(w, state.ResourceClaims...).DeepCopy()
			unused.Status.ReservedFor = nil
			return state.With(unused)
		}
	}
	return state
}
