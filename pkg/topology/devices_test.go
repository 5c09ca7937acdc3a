package topology

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/internal/golden"
)

// The devices of a node form one pool for each driver, in slices of at most 128, numbered over all entries of the driver.
func TestMakeDevices(t *testing.T) {
	var spec Spec
	if err := yaml.Unmarshal([]byte(`
nodeGroups:
- {name: a, namePattern: a, count: 1, devices: [{class: gpu.example.com, count: 128, attributes: {model: a100, numa: 0, mig: true}, capacity: {memory: 80Gi}}, {class: nic.example.com}, {class: gpu.example.com}]}
- {name: b, namePattern: b, count: 1}
`), &spec); err != nil {
		t.Fatal(err)
	}
	made, errs := BuildCluster(&spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, class := range made.Classes {
		got = append(got, class.Name+": "+class.Spec.Selectors[0].CEL.Expression)
	}
	for _, slice := range made.Slices {
		first, last := slice.Spec.Devices[0], slice.Spec.Devices[len(slice.Spec.Devices)-1]
		got = append(got, fmt.Sprintf("%s: %s on %s, %d of %d slices of pool %s: %s to %s", slice.Name, slice.Spec.Driver, *slice.Spec.NodeName,
			slice.Spec.Pool.Generation, slice.Spec.Pool.ResourceSliceCount, slice.Spec.Pool.Name, first.Name, last.Name))
	}
	want := []string{
		`gpu.example.com: device.driver == "gpu.example.com"`,
		`nic.example.com: device.driver == "nic.example.com"`,
		"a-gpu.example.com: gpu.example.com on a, 1 of 2 slices of pool a: gpu-0 to gpu-127",
		"a-gpu.example.com-2: gpu.example.com on a, 1 of 2 slices of pool a: gpu-128 to gpu-128",
		"a-nic.example.com: nic.example.com on a, 1 of 1 slices of pool a: nic-0 to nic-0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	one, err := yaml.Marshal(made.Slices[0].Spec.Devices[0])
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/device.yaml", string(one))
}

func TestDevicesThatAreWrong(t *testing.T) {
	for _, test := range []struct{ devices, want string }{
		{"{}", "nodeGroups[0].devices[0].class: Required value: the name of their driver and class, such as gpu.example.com"},
		{"{class: GPU}", `nodeGroups[0].devices[0].class: Invalid value: "GPU": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"{class: gpu.example.com, count: 0}", "nodeGroups[0].devices[0].count: Invalid value: 0: must be from 1 to 1024"},
		{"{class: gpu.example.com, attributes: {model: 1.5}}", "nodeGroups[0].devices[0].attributes[model]: Invalid value: 1.5: must be a string, a whole number, true or false"},
		{"{class: gpu.example.com, capacity: {memory: much}}", `nodeGroups[0].devices[0].capacity[memory]: Invalid value: "much": must be a quantity such as 4, 500m or 16Gi`},
	} {
		var spec Spec
		if err := yaml.Unmarshal([]byte("nodeGroups: [{count: 1, devices: ["+test.devices+"]}]"), &spec); err != nil {
			t.Fatal(err)
		}
		errs := spec.Validate(nil)
		if len(errs) != 1 || errs[0].Error() != test.want {
			t.Errorf("%s: %v, want %s", test.devices, errs, test.want)
		}
	}
}
