package cause_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCausesBehindTaints has one node, whose taint hides that its label is another one.
func TestCausesBehindTaints(t *testing.T) {
	const tainted = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: g-1, labels: {kubernetes.io/hostname: g-1, pool: gpu}}, spec: {taints: [{key: dedicated, value: ml, effect: NoSchedule}]}, status: {allocatable: {cpu: 4, pods: 110}}}
workloads:
- objects:
`
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"the label that it has": {", nodeSelector: {pool: gpu}", []string{"TaintToleration 1: untolerated taint dedicated=ml:NoSchedule on g-1"}},
		"a label that no node has": {", nodeSelector: {pool: gpus}", []string{
			"NodeAffinity 1, behind others: wants pool=gpus; no node has pool=gpus (the values there are: gpu); g-1 comes nearest and lacks pool=gpus (it has pool=gpu)",
			"TaintToleration 1: untolerated taint dedicated=ml:NoSchedule on g-1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, causesOfPending(t, tainted+pod("new", "", "1", test.spec))); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
