package explain

import (
	"strings"
	"testing"
)

// The pod is of an old template, which has a node selector; the new one has an affinity and a toleration of another value in its place.
func TestACorrectionIsOfTheTemplate(t *testing.T) {
	tainted := strings.Replace(node("n1", "a", "taints: [{key: dedicated, value: ml-team, effect: NoSchedule}]"), "labels: {", "labels: {pool: gpu, ", 1)
	result := simulated(t, "cluster:\n- objects:\n"+tainted+"workloads:\n- objects:\n"+workload("StatefulSet", 1, "cpu: 1", ", nodeSelector: {pool: gpus}, tolerations: [{key: dedicated, value: ml, effect: NoSchedule}]")+
		"steps:\n- {name: affinity, patch: {target: sts/web, patch: {spec: {template: {spec: {nodeSelector: null, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [gpus]}]}]}}}}}}}}}\n")
	fixes, _, err := Fixes(t.Context(), result, "affinity", result.Last().Pending[0].Pod, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(fixes) == 0 || !strings.HasPrefix(fixes[0].Change, "ask for nodes with pool=gpu (now gpus), and tolerate dedicated=ml-team:NoSchedule (now dedicated=ml:NoSchedule)") {
		t.Errorf("fixes %+v", fixes)
	}
}
