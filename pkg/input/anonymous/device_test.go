package anonymous

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// A private driver, its class and its domains in names, values and expressions get new words, the same everywhere. A public driver stays,
// and so does a text that is no domain.
func TestPrivateDrivers(t *testing.T) {
	attribute := func(value string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &value} }
	slice := func(driver string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "slice"},
			Spec: resourcev1.ResourceSliceSpec{Driver: driver, NodeName: ptr.To("n1"), Pool: resourcev1.ResourcePool{Name: "n1"}, Devices: []resourcev1.Device{{
				Name: "gpu-0",
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
					"model": attribute("A100"), "numa.acme.internal/node": attribute("fabric.acme.internal"), "version": {VersionValue: ptr.To("1.2.3")},
				},
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"numa.acme.internal/memory": {Value: resource.MustParse("80Gi")}},
			}}},
		}
	}
	expression := `device.driver == "gpu.acme.internal" && device.attributes["numa.acme.internal"].node == 'fabric.acme.internal' && ` +
		`device.attributes["gpu.nvidia.com"].model == "A100" && device.driver != "npu" && device.attributes["x"].version >= "1.2.3"`
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu.acme.internal"},
		Spec:       resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}},
	}
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Constraints: []resourcev1.DeviceConstraint{{MatchAttribute: ptr.To(resourcev1.FullyQualifiedName("numa.acme.internal/node"))}},
		}},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "gpu.acme.internal", Pool: "n1", Device: "gpu-0"}},
		}}},
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "c", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"deviceclass.resource.kubernetes.io/gpu.acme.internal": resource.MustParse("1")}},
	}}}}
	dump, err := NewDump(context.Background(), []cluster.Object{class, slice("gpu.acme.internal"), slice("gpu.nvidia.com"), slice("npu"), claim, pod})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(dump.Objects)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, private := range []string{"acme", "npu", "fabric", "numa"} {
		if strings.Contains(got, private) {
			t.Errorf("%s is still in %s", private, got)
		}
	}
	driver, domain, value := dump.words.replaceName("gpu.acme.internal"), dump.words.replaceName("numa.acme.internal"), dump.words.replaceName("fabric.acme.internal")
	want := strings.NewReplacer("gpu.acme.internal", driver, "numa.acme.internal", domain, "fabric.acme.internal", value, "npu", dump.words.replaceName("npu")).Replace(expression)
	escaped, _ := json.Marshal(want)
	for _, part := range []string{
		string(escaped), `"driver":"` + driver + `"`, `"driver":"gpu.nvidia.com"`, `"` + domain + `/node":{"string":"` + value + `"}`, `"` + domain + `/memory":{"value":"80Gi"}`,
		`"matchAttribute":"` + domain + `/node"`, `"name":"` + driver + `"`, `"deviceclass.resource.kubernetes.io/` + driver + `":"1"`, `"model":{"string":"A100"}`, `"version":"1.2.3"`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}
}
