package advice_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// scenarioWith returns a scenario of two zones with nodes of 4 CPU each, and these workloads: name, replicas, and more fields of the pod's spec.
func scenarioWith(t *testing.T, nodes string, workloads ...[3]string) *scenario.Scenario {
	t.Helper()
	var source, placed scenario.Source
	if err := json.Unmarshal([]byte(`{"synthetic": {"zones": [{"name": "a"}, {"name": "b"}], "nodeGroups": [{"name": "worker", "count": `+nodes+`, "cpu": 4}]}}`), &source); err != nil {
		t.Fatal(err)
	}
	for _, w := range workloads {
		placed.Objects = append(placed.Objects, runtime.RawExtension{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "` + w[0] + `"},
			"spec": {"replicas": ` + w[1] + `, "selector": {"matchLabels": {"app": "` + w[0] + `"}}, "template": {"metadata": {"labels": {"app": "` + w[0] + `"}}, "spec": {` + w[2] + `}}}}`)})
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{source}, Workloads: []scenario.Source{placed}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func requesting(cpu string) string {
	return `"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "` + cpu + `"}}}]`
}

// Three nodes of 4 CPU in each of two zones:
//
//   - pair has two pods that prefer zone a, so that both run there, whatever a soft rule says; a hard rule moves one.
//   - one has one pod, whose second costs 100m of 24 CPU, and dear has one pod, whose second costs 200m.
//   - four has two pods in each zone, each on its own node, which cannot be better.
//   - huge and full share two nodes that only they may use. Each takes more than the other leaves free, so neither can have a second pod.
func TestEvery(t *testing.T) {
	const near = `"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions":
		[{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}}]}}, `
	const two = `"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions":
		[{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a-worker-1", "a-worker-2"]}]}]}}}, `
	s := scenarioWith(t, "3", [3]string{"huge", "1", two + requesting("3")}, [3]string{"full", "1", two + requesting("3")}, [3]string{"pair", "2", near + requesting("10m")}, [3]string{"four", "4", requesting("10m")}, [3]string{"one", "1", requesting("100m")},
		[3]string{"dear", "1", requesting("200m")})
	e, err := advice.ForAllWorkloads(t.Context(), s, advice.AllOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Workload, Change string
		Gain, Cost       float64
		Survives, Free   bool
	}
	var got []row
	for _, w := range e.Workloads {
		got = append(got, row{w.Workload, w.Change, w.Gain, w.Cost, w.Survives(), w.Free()})
		if (w.Change == "") == (w.Why == "") {
			t.Errorf("%s: change %q, and why not %q", w.Workload, w.Change, w.Why)
		}
	}
	want := []row{
		{"deployment/pair", "spread zone", 0.5, 0, true, true},
		{"deployment/one", "2 replicas", 1, 0.1 / 24, true, false},
		{"deployment/dear", "2 replicas", 1, 0.2 / 24, true, false},
		{"deployment/four", "", 0, 0, false, false},
		{"deployment/full", "", 0, 0, false, false},
		{"deployment/huge", "", 0, 0, false, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if why := e.Workloads[5].Why; !strings.Contains(why, "2 replicas: huge-") || !strings.Contains(why, "would be newly Pending: 0/6 nodes are available: 2 Insufficient cpu") {
		t.Errorf("huge has no change since %q", why)
	}
	if diff := cmp.Diff([]string{v1.LabelTopologyZone, v1.LabelHostname}, e.Levels); diff != "" {
		t.Errorf("levels (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(&advice.CombinedReplicas{Workloads: 2, Asks: map[string]string{"cpu": "300m"}}, e.Together); diff != "" {
		t.Errorf("together (-want +got)\n%s", diff)
	}
	e, err = advice.ForAllWorkloads(t.Context(), s, advice.AllOptions{Namespace: "default", Selector: labels.SelectorFromSet(labels.Set{"app": "one"})})
	if err != nil || len(e.Workloads) != 1 || e.Workloads[0].Workload != "deployment/one" {
		t.Errorf("of app=one: %+v, %v", e, err)
	}
}

// Two zones of one node with 4 CPU each, and workloads of one pod each:
//
//   - Two workloads of 2500m are on a node each. Neither has room for a second pod.
//   - Two workloads of 1500m have room for both second pods: 2 × 1500m on each node.
//   - With three workloads of 1300m, two share a node. Their second pods fill the other node, and the second pod of the third fits beside them.
//   - With 1400m, the third has no room there. The other node has room for either of the two second pods, but not for both.
func TestTogether(t *testing.T) {
	for cpu, want := range map[string]*advice.CombinedReplicas{
		"2500m": nil,
		"1500m": {Workloads: 2, Asks: map[string]string{"cpu": "3"}},
		"1300m": {Workloads: 3, Asks: map[string]string{"cpu": "3900m"}},
		"1400m": {Workloads: 2, Asks: map[string]string{"cpu": "2800m"}, Pending: 1},
	} {
		workloads := [][3]string{{"a", "1", requesting(cpu)}, {"b", "1", requesting(cpu)}}
		if cpu < "1500m" {
			workloads = append(workloads, [3]string{"c", "1", requesting(cpu)})
		}
		e, err := advice.ForAllWorkloads(t.Context(), scenarioWith(t, "1", workloads...), advice.AllOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.Together); diff != "" {
			t.Errorf("pods of %s (-want +got)\n%s", cpu, diff)
		}
	}
}
