package simulation

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// A pod held back by a gate gets a node once the gate is gone, whether a manifest no longer has it or a patch removes it.
func TestGateRemoved(t *testing.T) {
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	node := raw(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}`)
	pod := func(gates string) scenario.Source {
		return scenario.Source{Objects: []runtime.RawExtension{raw(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {` + gates + `"containers": [{"name": "c", "image": "i"}]}}`)}}
	}
	open := pod("")
	for name, step := range map[string]scenario.Step{
		"apply": {Name: "open", Apply: &open},
		"patch": {Name: "open", Patch: &scenario.Patch{Target: scenario.Target{Target: "pod/p"}, Type: "json",
			Patch: raw(`[{"op": "remove", "path": "/spec/schedulingGates"}]`)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := loader.New("gate", &scenario.File{
				Cluster: []scenario.Source{{Objects: []runtime.RawExtension{node}}}, Workloads: []scenario.Source{pod(`"schedulingGates": [{"name": "quota"}], `)},
				Steps: []scenario.Step{step},
			})
			if err != nil {
				t.Fatal(err)
			}
			steps := runCase(t, s).Steps
			if len(steps[0].Pending) != 1 || len(steps[1].Pending) != 0 || len(steps[1].Placed) != 1 {
				t.Errorf("%d Pending with the gate; %d Pending and %d placed without, want 1, 0, 1", len(steps[0].Pending), len(steps[1].Pending), len(steps[1].Placed))
			}
		})
	}
}
