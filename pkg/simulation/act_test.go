package simulation

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
)

// A step handles its nodes in the order in which it names them, or by name. A node that was deleted and restored several times exists once.
func TestNodesThatComeBack(t *testing.T) {
	const file = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {nodeGroups: [{name: worker, count: 3}]}
workloads:
- objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}]
steps:
- {name: named, cordon: {names: [worker-3, worker-1]}}
- {name: all, uncordon: {selector: kubernetes.io/os=linux}}
- {name: gone, fail: {names: [worker-2], mode: deleted}}
- {name: back, restore: {names: [worker-2]}}
- {name: gone again, fail: {names: [worker-2, worker-1], mode: deleted}}
- {name: all back, restore: {selector: kubernetes.io/os=linux}}
- {name: nothing is lost, restore: {selector: kubernetes.io/os=linux}}
`
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(file)}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range runCase(t, s).Steps[1:] {
		said := step.Action + ":"
		for _, node := range step.State.Nodes {
			said += " " + node.Name
		}
		got = append(got, said)
	}
	want := []string{
		"cordon worker-3 worker-1: worker-1 worker-2 worker-3",
		"uncordon worker-1 worker-2 worker-3: worker-1 worker-2 worker-3",
		"deleted: worker-2: worker-1 worker-3",
		"restore worker-2: worker-1 worker-3 worker-2",
		"deleted: worker-2 worker-1: worker-3",
		"restore worker-1 worker-2 worker-3: worker-3 worker-1 worker-2",
		"restore worker-1 worker-2 worker-3: worker-3 worker-1 worker-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was done, and the nodes after it (-want +got):\n%s", diff)
	}
}
