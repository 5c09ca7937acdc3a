package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// How the scheduler uses a pool depends on which of its slices exist, and which slices a node can use.
func TestDevicesAreNoted(t *testing.T) {
	slice := func(name, where, pool string, generation, count int, devices ...string) string {
		var listed []string
		for _, device := range devices {
			listed = append(listed, "{name: "+device+"}")
		}
		return fmt.Sprintf("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: %s}, spec: {driver: gpu, %s, pool: {name: %s, generation: %d, resourceSliceCount: %d}, devices: [%s]}}",
			name, where, pool, generation, count, strings.Join(listed, ", "))
	}
	const on1, on2, all = "nodeName: one", "nodeName: two", "allNodes: true"
	const labelled = "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: Exists}]}]}"
	for _, test := range []struct {
		name   string
		slices []string
		want   []string
	}{
		{"whole pools", []string{slice("a", on1, "one", 1, 2, "d0"), slice("b", on1, "one", 1, 2, "d1"), slice("c", on2, "two", 1, 1, "d0")}, nil},
		{"no such node", []string{slice("a", "nodeName: gone", "gone", 1, 2, "d0")},
			[]string{"no pod can use the devices of ResourceSlice a of node gone: there is no such node"}},
		{"incomplete", []string{slice("a", on1, "one", 1, 2, "d0"), slice("b", on2, "two", 3, 2, "d0")},
			[]string{"no pod can get a device of pool one of driver gpu on node one (1 of 2) and pool two of driver gpu on node two (1 of 2): the scheduler waits until there are as many ResourceSlices as their resourceSliceCount says"}},
		{"more than there should be", []string{slice("a", on1, "one", 1, 1, "d0"), slice("b", on1, "one", 1, 1, "d1")},
			[]string{"no pod can get a device of pool one of driver gpu on node one (2 of 1): the scheduler waits until there are as many ResourceSlices as their resourceSliceCount says"}},
		{"a pool of two nodes is complete if all of it is there", []string{slice("a", on1, "all", 1, 2, "d0"), slice("b", on2, "all", 1, 2, "d1")}, nil},
		{"an older generation", []string{slice("a", on1, "one", 1, 1, "d0"), slice("b", on1, "one", 2, 1, "d0")},
			[]string{"the scheduler ignores ResourceSlice a: there is a newer generation of their pool"}},
		{"an older one, of which there is a newer one elsewhere", []string{slice("a", on1, "all", 1, 2, "d0"), slice("b", on2, "all", 2, 1, "d0")},
			[]string{"the scheduler ignores ResourceSlice a: there is a newer generation of their pool"}},
		{"an older one that is complete on its node is used", []string{slice("a", on1, "all", 1, 1, "d0"), slice("b", on2, "all", 2, 1, "d1")}, nil},
		{"the newer generation is incomplete", []string{slice("a", on1, "one", 1, 1, "d0"), slice("b", on1, "one", 2, 2, "d0")},
			[]string{"no pod can get a device of pool one of driver gpu on node one (1 of 2): the scheduler waits until there are as many ResourceSlices as their resourceSliceCount says"}},
		{"overlapping on a node", []string{slice("a", on1, "one", 1, 2, "d0"), slice("b", all, "one", 1, 2, "d0", "d1")},
			[]string{"no pod on node one gets a device of pool one of driver gpu: ResourceSlices a and b both publish device d0; give each device a name of its own"}},
		{"overlapping on different nodes", []string{slice("a", on1, "all", 1, 1, "d0"), slice("b", on2, "all", 1, 1, "d0")},
			[]string{"ResourceSlices a and b both publish device d0 of pool all of driver gpu: to the scheduler it is one device, which only one claim gets; give each node a pool of its own"}},
		{"the same in another pool", []string{slice("a", on1, "one", 1, 1, "d0"), slice("b", all, "all", 1, 1, "d0")}, nil},
		{"by a selector, which only node two matches", []string{slice("a", on1, "all", 1, 1, "d0"), slice("b", labelled, "all", 1, 1, "d1")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			world := append([]string{"{apiVersion: v1, kind: Node, metadata: {name: one}}", "{apiVersion: v1, kind: Node, metadata: {name: two, labels: {rack: r}}}",
				"{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}"}, test.slices...)
			s, err := FromFiles(strings.NewReader(strings.Join(world, "\n---\n")), []string{"-"}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, s.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
