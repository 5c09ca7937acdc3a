package sched

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// BenchmarkClaims places pods that claim one device each, by a CEL expression, on 625 nodes with eight devices each.
func BenchmarkClaims(b *testing.B) {
	const devices, pods = 8, 200
	for b.Loop() {
		b.StopTimer()
		engine, state := perfWorld(b, perfCase{}, "kept", 625, 0)
		state = state.With(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "devices"}, Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "devices"`}}}}})
		var given []cluster.Object
		for _, node := range state.Nodes {
			slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "devices", NodeName: &node.Name, Pool: resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: 1}}}
			for i := range devices {
				slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", i)})
			}
			given = append(given, slice)
		}
		claiming := perfPods(nil, "sched-1", pods)
		for _, pod := range claiming {
			claim := deviceClaim(pod.Namespace, pod.Name)
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &claim.Name}}
			given = append(given, claim)
		}
		state = withPlacedPods(state.With(given...), claiming)
		b.StartTimer()
		result, err := engine.Place(context.Background(), state, claiming)
		if err != nil {
			b.Fatal(err)
		}
		if len(result.Placed) != pods || len(result.Claims) != pods {
			b.Fatalf("%d of %d pods placed, with %d claims", len(result.Placed), pods, len(result.Claims))
		}
		engine.Close()
	}
	b.ReportMetric(float64(pods*b.N)/b.Elapsed().Seconds(), "pods/s")
}
