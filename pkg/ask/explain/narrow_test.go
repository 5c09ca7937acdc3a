package explain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Nodes n1 in zone a, with a pod of the worker, and n2 in zone b, which is full. Web's rules select app=shop, which the worker has, too.
func TestRuleSelectsPodsOfOthers(t *testing.T) {
	objects := node("n1", "a", "") + node("n2", "b", "") + fillingPod("n2") +
		"  - {apiVersion: v1, kind: Pod, metadata: {name: worker, labels: {app: shop, part: worker}}, spec: {nodeName: n1, containers: [{name: c, image: c}]}}\n"
	web := func(rule string) string {
		return fmt.Sprintf(`  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: shop, part: web}}
      template:
        metadata: {labels: {app: shop, part: web}}
        spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}], %s}
`, rule)
	}
	const selector = "labelSelector: {matchLabels: {app: shop}}}]"
	for name, test := range map[string]struct{ rule, fix string }{
		"spread": {
			"topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, " + selector,
			"select part=web, too, in the spread over topology.kubernetes.io/zone, so that only its own pods count: n1, pods of pod/worker count no longer",
		},
		"anti-affinity": {
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, " + selector + "}}",
			"select part=web, too, in the required anti-affinity over kubernetes.io/hostname, so that only its own pods count: n1, pods of pod/worker count no longer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := simulated(t, "cluster:\n- objects:\n"+objects+"workloads:\n- objects:\n"+web(test.rule))
			fixes, _, err := Fixes(t.Context(), result, "workloads", result.Last().Pending[0].Pod, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var first string
			if len(fixes) > 0 {
				first = fmt.Sprintf("%s: %s, %s", fixes[0].Change, fixes[0].Node, fixes[0].Price[0])
			}
			if diff := cmp.Diff(test.fix, first); diff != "" {
				t.Errorf("first fix (-want +got):\n%s", diff)
			}
		})
	}
}
