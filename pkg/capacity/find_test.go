package capacity_test

import (
	"encoding/json"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/capacity"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

const zone = v1.LabelTopologyZone

// workloadOf is a workload whose pods ask for so much; more is put into their spec.
func workloadOf(kind, name string, replicas int, cpu, memory, more string) runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "%[1]s", "metadata": {"name": "%[2]s"}, "spec": {"replicas": %[3]d,
		"selector": {"matchLabels": {"app": "%[2]s"}}, "template": {"metadata": {"labels": {"app": "%[2]s"}},
		"spec": {%[6]s"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "%[4]s", "memory": "%[5]s"}}}]}}}}`,
		kind, name, replicas, cpu, memory, more))}
}

func deployment(name string, replicas int, cpu, memory, more string) runtime.RawExtension {
	return workloadOf("Deployment", name, replicas, cpu, memory, more)
}

// scenarioOf is a scenario of a synthetic cluster, given as JSON, and workloads.
func scenarioOf(t testing.TB, world string, objects ...runtime.RawExtension) *scenario.Scenario {
	t.Helper()
	synthetic := scenario.Source{}
	if err := json.Unmarshal([]byte(`{"synthetic": `+world+`}`), &synthetic); err != nil {
		t.Fatal(err)
	}
	s, err := scenario.New("test", &scenario.File{Cluster: []scenario.Source{synthetic}, Workloads: []scenario.Source{{Objects: objects}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, world string, objects ...runtime.RawExtension) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(t.Context(), capacity.Base(scenarioOf(t, world, objects...), ""), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
