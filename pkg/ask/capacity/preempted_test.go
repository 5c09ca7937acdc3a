package capacity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/capacity"
)

// Two nodes of 4 cores have three pods of web with 2 cores each and a higher priority, and a pod of alone with 1 core. A second pod of
// alone is Pending, since two may not share the zone, and there is only one zone. A further pod of web preempts the pod of alone, and the
// Pending one gets the small node: as many run as before. Then no node has 2 cores left.
func TestPreemptedAndReplacedByOneThatWaited(t *testing.T) {
	const world = `{"zones": [{"name": "a"}], "nodeGroups": [{"name": "w", "count": 2, "cpu": 4, "memory": "16Gi"}, {"name": "small", "count": 1, "cpu": 1, "memory": "16Gi"}]}`
	const apart = `"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
		{"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "alone"}}}]}}, `
	high := runtime.RawExtension{Raw: []byte(`{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}`)}
	result := run(t, world, high, deployment("web", 3, "2", "1Gi", `"priorityClassName": "high", `), deployment("alone", 2, "1", "1Gi", apart))
	want := []string{"deployment/web 1 cpu on 3"}
	if diff := cmp.Diff(want, findAnswers(t, result, []string{"deployment/web"}, nil, capacity.Options{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
