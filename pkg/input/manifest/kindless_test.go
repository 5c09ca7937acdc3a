package manifest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// A dump without apiVersion and kind gives the same objects with the same kinds.
func TestKindsOfADump(t *testing.T) {
	var dump struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24}), &dump); err != nil {
		t.Fatal(err)
	}
	kinds := func() map[string]int {
		found := map[string]int{}
		for _, item := range dump.Items {
			text, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			set, err := Decode("dump.json", text)
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range set.Objects {
				found[cluster.KindOf(obj.Object)]++
			}
		}
		return found
	}
	want := kinds()
	for _, item := range dump.Items {
		delete(item, "apiVersion")
		delete(item, "kind")
	}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// These are objects of further kinds, and objects whose kind cannot be inferred.
func TestKindless(t *testing.T) {
	const meta = `metadata: {name: a, uid: u, resourceVersion: "7"}, `
	for text, want := range map[string]string{
		"spec: {schedule: 1 * * * *, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}":                  "CronJob",
		"spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}, status: {expectedPods: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1}": "PodDisruptionBudget",
		"spec: {selector: {a: b}, replicas: 1, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}":                         "ReplicationController",
		"value: 5, preemptionPolicy: Never": "PriorityClass",
		"handler: runsc":                    "RuntimeClass",
		"spec: {maxReplicas: 2, targetCPUUtilizationPercentage: 50, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}": "HorizontalPodAutoscaler",
		"kind: Node, status: {capacity: {cpu: 4}, nodeInfo: {}}":                                                                       "Node",
		"apiVersion: v1, status: {capacity: {cpu: 4}, nodeInfo: {machineID: 0}}":                                                       "Node",
		"status: {capacity: {cpu: 4}, allocatable: {cpu: 4}, conditions: []}":                                                          "Node",
		// A NodeClaim of Karpenter, a DeploymentConfig of OpenShift, a ConfigMap, and no field at all.
		"spec: {selector: {a: b}, triggers: [], replicas: 1, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}": "",
		"spec: {nodeClassRef: {name: c}}, status: {capacity: {cpu: 4}, allocatable: {cpu: 4}, conditions: []}":                                   "",
		"data: {a: b}": "",
		"spec: {}":     "",
	} {
		set, err := Decode("dump.yaml", []byte("{"+meta+text+"}"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		for _, obj := range set.Objects {
			got += cluster.KindOf(obj.Object)
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, set.Flaws)
		}
		const unknown = "[dump.yaml: object a: its apiVersion or kind is missing, and its fields do not show what it is]"
		if flaws := fmt.Sprint(set.Flaws); want == "" && flaws != unknown {
			t.Errorf("%s: %s", text, flaws)
		}
	}
	set, err := Decode("list.json", []byte(`{"items": [{"metadata": {"name": "a", "uid": "u"}, "status": {"nodeInfo": {}}}, {"metadata": {"name": "b", "uid": "v"}, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Running"}}]}`))
	if err != nil || len(set.Objects) != 2 || set.Objects[1].Source.Path != "items[1]" {
		t.Errorf("a list without a kind: %+v, %v", set, err)
	}
}
