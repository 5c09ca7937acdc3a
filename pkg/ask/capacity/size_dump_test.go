package capacity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/loader"
)

// A dump is sized the same whether it is the cluster or is applied. Three pods of 1 CPU are placed again and fit on one node of 4 CPUs. The
// pod of a DaemonSet follows the nodes, and the pod of another scheduler, which would need a second node, is left out.
func TestSizeOfADump(t *testing.T) {
	dump := ""
	for _, name := range []string{"n1", "n2", "n3"} {
		dump += "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", resourceVersion: '1'}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}\n---\n"
	}
	pod := func(name, more string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", resourceVersion: '2'" + strings.Replace(more, ";", "}, spec: {nodeName: ", 1) +
			", containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}\n---\n"
	}
	dump += pod("a", ";n1") + pod("b", ";n2") + pod("c", ";n3") + pod("d", ";n3, schedulerName: volcano") + pod("e", ";n3, schedulerName: volcano") +
		pod("f", ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u, controller: true}];n3")
	for _, files := range [][2][]string{{{"-"}, nil}, {nil, {"-"}}} {
		s, err := loader.FromFiles(strings.NewReader(dump), files[0], files[1], loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sizing := size(t, s, capacity.SizeOptions{})
		if diff := cmp.Diff([]any{[][]int{{1}}, 3, 2}, []any{counts(sizing), sizing.Unbound, sizing.Foreign}); diff != "" {
			t.Errorf("nodes, placed afresh, of others (-want +got):\n%s", diff)
		}
	}
}
