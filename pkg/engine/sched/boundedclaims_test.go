package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/faultline/faultline/pkg/cluster"
)

// oneDeviceShort returns a cluster of one node with 16 devices, and a pod that claims 17: 8 by one request and 9 by another. The allocator
// tries each choice of 8 devices with each choice of 9 others.
func oneDeviceShort() (*cluster.State, *v1.Pod) {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "devices", NodeName: new("n1"), Pool: resourcev1.ResourcePool{Name: "n1", Generation: 1, ResourceSliceCount: 1}}}
	for i := range 16 {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", i)})
	}
	claim := deviceClaim("default", "devices")
	claim.Spec.Devices.Requests[0].Exactly.Count = 8
	other := claim.Spec.Devices.Requests[0].DeepCopy()
	other.Name, other.Exactly.Count = "e", 9
	claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, *other)
	set, pods := replicas("web", 1, nil)
	pods[0].Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &claim.Name}}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Allocatable: walkthrough().Nodes[1].Status.Allocatable}}
	state := (&cluster.State{Now: cluster.Epoch}).With(node, slice, claim, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "devices"}}, set, pods[0])
	return state, pods[0]
}

// The search for devices ends after the maximum number of steps, with the message that upstream has for its timeout.
func TestSearchForDevicesIsBounded(t *testing.T) {
	state, pod := oneDeviceShort()
	engine := newEngine(t, Ties{})
	engine.allocationSteps = 1000
	result, err := engine.Place(t.Context(), state, []*v1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	const want = `running "DynamicResources" filter plugin: node n1: timed out trying to allocate devices`
	if len(result.Pending) != 1 || result.Pending[0].Message != want || !result.Pending[0].Failed {
		t.Errorf("pending %+v, want %s", result.Pending, want)
	}
}

// The search has fewer steps on a node with more devices, each of which a step may look at.
func TestSearchForManyDevicesIsBounded(t *testing.T) {
	state, pod := oneDeviceShort()
	slice := state.ResourceSlices[0]
	for i := range 16 * usualDevices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("other-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"other": {BoolValue: new(true)}}})
	}
	const usual = `!("other" in device.attributes["devices"])`
	for i := range state.ResourceClaims[0].Spec.Devices.Requests {
		state.ResourceClaims[0].Spec.Devices.Requests[i].Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: usual}}}
	}
	engine := newEngine(t, Ties{})
	engine.allocationSteps = 10_000
	caller := &countdownContext{Context: t.Context(), most: 10_000}
	result, err := engine.Place(caller, state, []*v1.Pod{pod})
	if err != nil || len(result.Pending) != 1 || !result.Pending[0].Failed {
		t.Errorf("result %+v, error %v", result, err)
	}
	if most := 2 * 10_000 / 16; caller.asked > most { // in two searches
		t.Errorf("%d steps, want at most %d", caller.asked, most)
	}
}

// countdownContext is a context that ends after its error has been asked for a number of times.
type countdownContext struct {
	context.Context
	asked, most int
}

func (c *countdownContext) Err() error {
	if c.asked++; c.asked > c.most {
		return context.Canceled
	}
	return nil
}

// The search ends when its caller cancels, and what it has found until then is not an answer.
func TestSearchForDevicesEndsWithItsCaller(t *testing.T) {
	state, pod := oneDeviceShort()
	engine := newEngine(t, Ties{})
	caller := &countdownContext{Context: t.Context(), most: 500}
	result, err := engine.Place(caller, state, []*v1.Pod{pod})
	if result != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("result %+v, error %v", result, err)
	}
	if caller.asked > caller.most+10 {
		t.Errorf("%d more steps after the caller has gone", caller.asked-caller.most)
	}
}

// The evaluation of an expression that selects devices ends with the caller of Place, too: one expression may take most of a second for a
// device.
func TestExpressionsEndWithTheirCaller(t *testing.T) {
	const each = "[0,1,2,3,4,5,6,7,8,9].all(%s, "
	expression := fmt.Sprintf(each+each+each+"a + b + c >= 0)))", "a", "b", "c")
	caller, leave := context.WithCancel(t.Context())
	steps := &stepContext{Context: t.Context(), placeContext: caller, limit: 1000}
	compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(expression, cel.Options{})
	if matches, _, err := compiled.DeviceMatches(steps, cel.Device{}); !matches || err != nil {
		t.Fatalf("matches %t, error %v", matches, err)
	}
	leave()
	if _, _, err := compiled.DeviceMatches(steps, cel.Device{}); err == nil || !strings.Contains(err.Error(), "operation interrupted") {
		t.Errorf("error %v after the caller has gone", err)
	}
}
