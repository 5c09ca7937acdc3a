package capacity_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// objects returns a source of objects in JSON.
func objects(all ...string) scenario.Source {
	var source scenario.Source
	for _, object := range all {
		source.Objects = append(source.Objects, runtime.RawExtension{Raw: []byte(object)})
	}
	return source
}

func nodeNamed(name string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%[1]s", "labels": {"kubernetes.io/hostname": "%[1]s"}},
		"status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}}`, name)
}

// sliceOf returns a ResourceSlice with two devices of a node, each with a serial number.
func sliceOf(node, pool string, slices int, model string) string {
	return fmt.Sprintf(`{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "%[1]s-gpu-x7x"}, "spec": {"driver": "gpu.example.com",
		"nodeName": "%[1]s", "pool": {"name": "%[2]s", "generation": 1, "resourceSliceCount": %[3]d}, "devices": [
		{"name": "%[1]s-0", "attributes": {"serial": {"string": "%[1]s-0"}, "model": {"string": "%[4]s"}}},
		{"name": "%[1]s-1", "attributes": {"serial": {"string": "%[1]s-1"}, "model": {"string": "%[4]s"}}}]}}`, node, pool, slices, model)
}

const (
	deviceClass = `{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.example.com"},
		"spec": {"extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}}`
	deviceTemplate = `{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "gpu"},
		"spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}}}`
	byClaim = `"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}], `
)

// byResource returns a Deployment whose pods request a device as an extended resource.
func byResource(replicas int) string {
	return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "train"}, "spec": {"replicas": %d, "selector": {"matchLabels": {"app": "train"}},
		"template": {"metadata": {"labels": {"app": "train"}}, "spec": {"containers": [{"name": "c", "image": "i", "resources":
		{"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"example.com/gpu": "1"}}}]}}}}`, replicas)
}

// Pods with one device each, on nodes with two devices: a new node has the devices of the node that it copies.
func TestSizeWithDevices(t *testing.T) {
	train := func(replicas int) string { return string(deployment("train", replicas, "1", "1Gi", byClaim).Raw) }
	for _, test := range []struct {
		name     string
		cluster  []string
		workload string
		want     [][]int
	}{
		{"a pool of a node", []string{nodeNamed("n1"), sliceOf("n1", "n1", 1, "a")}, train(5), [][]int{{3}}},
		{"a pool of two nodes", []string{nodeNamed("n1"), nodeNamed("n2"), sliceOf("n1", "all", 2, "a"), sliceOf("n2", "all", 2, "a")}, train(7), [][]int{{4}}},
		{"too many nodes", []string{nodeNamed("n1"), nodeNamed("n2"), nodeNamed("n3"), sliceOf("n1", "n1", 1, "a"), sliceOf("n2", "n2", 1, "a"), sliceOf("n3", "n3", 1, "a")},
			train(3), [][]int{{2}}},
		{"an extended resource", []string{nodeNamed("n1"), nodeNamed("n2"), nodeNamed("n3"), sliceOf("n1", "n1", 1, "a"), sliceOf("n2", "n2", 1, "a"), sliceOf("n3", "n3", 1, "a")},
			byResource(3), [][]int{{2}}},
		// 16 CPUs of a node would do, but one has 2 devices and the other 2 of another model. Both take such pods.
		{"nodes with other devices", []string{nodeNamed("n1"), nodeNamed("n2"), sliceOf("n1", "n1", 1, "a"), sliceOf("n2", "n2", 1, "b")}, train(6), [][]int{{3}, {0}}},
		// Nodes without devices, or with others, are of another kind.
		{"nodes with and without", []string{nodeNamed("n1"), nodeNamed("n2"), sliceOf("n1", "n1", 1, "a")}, train(3), [][]int{{2}, {0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{objects(append(test.cluster, deviceClass)...)},
				Workloads: []scenario.Source{objects(deviceTemplate, test.workload)}})
			if err != nil {
				t.Fatal(err)
			}
			sizing := size(t, s, capacity.SizeOptions{Options: capacity.Options{Mode: node.Unreachable}})
			if diff := cmp.Diff(test.want, counts(sizing)); diff != "" {
				t.Errorf("nodes by group and zone (-want +got):\n%s", diff)
			}
			if !sizing.Proven {
				t.Error("the answer is not proven")
			}
		})
	}
}

// Pods with one device each, on two nodes with two devices: without one of the nodes, one of three pods has no device.
func TestSafeWithDevices(t *testing.T) {
	s := scenarioOf(t, `{"nodeGroups": [{"name": "gpu", "count": 2, "cpu": 16, "memory": "64Gi", "devices": [{"class": "gpu.example.com", "count": 2}]}]}`,
		runtime.RawExtension{Raw: []byte(deviceTemplate)}, deployment("train", 3, "1", "1Gi", byClaim))
	result, err := simulation.Run(t.Context(), capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	safe, err := capacity.CheckSafety(t.Context(), result, capacity.Options{Survive: []string{v1.LabelHostname}, Mode: node.Deleted})
	if err != nil {
		t.Fatal(err)
	}
	if len(safe[0].Unsafe) == 0 || safe[0].Unsafe[0].Pods != 1 {
		t.Errorf("unsafe are %+v, want one pod", safe[0].Unsafe)
	}
}
