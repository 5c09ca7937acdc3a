package simulation

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/faultline/faultline/pkg/loader"
)

// Six pods of a gang of six are on three nodes, two on each. A spare node has room for the number of pods that the case says. Then the zone
// of one node fails. The remaining pods of the gang stay where they are.
func TestPodGroupAfterAFailure(t *testing.T) {
	const file = `{apiVersion: faultline/v1alpha1, kind: Scenario, scheduler: {featureGates: {GenericWorkload: true}},
cluster: [{synthetic: {zones: [{name: a}, {name: b}, {name: c}], nodeGroups: [{name: worker, count: 1, cpu: 2}]}},
  {objects: [{apiVersion: v1, kind: Node, metadata: {name: spare}, spec: {unschedulable: true}, status: {capacity: {cpu: %d, memory: 8Gi, pods: 10}}}]}],
workloads: [{objects: [
  {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train}, spec: {schedulingPolicy: {gang: {minCount: 6}}}},
  {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: train}, spec: {replicas: 6, selector: {matchLabels: {app: train}}, template: {metadata: {labels: {app: train}}, spec:
    {schedulingGroup: {podGroupName: train}, containers: [{name: c, image: c, resources: {requests: {cpu: 900m}}}]}}}}]}],
steps: [{name: spare, uncordon: {names: [spare]}}, {name: fails, fail: {selector: topology.kubernetes.io/zone=a, mode: %s}}]}`
	for name, c := range map[string]struct {
		places int
		mode   string
		want   map[string]int
		wait   int
	}{
		"room for both": {2, "deleted", map[string]int{"b-worker-1": 2, "c-worker-1": 2, "spare": 2}, 0},
		"room for one is not enough for the gang": {1, "deleted", map[string]int{"b-worker-1": 2, "c-worker-1": 2}, 2},
		// As long as the kubelet of the lost node does not answer, its pods are Terminating, and upstream counts them as scheduled.
		"the lost pods still count": {1, "unreachable", map[string]int{"a-worker-1": 2, "b-worker-1": 2, "c-worker-1": 2, "spare": 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: fmt.Appendf(nil, file, c.places, c.mode)}}, "scenario.yaml", loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result := runCase(t, s)
			last := result.Last()
			if diff := cmp.Diff(c.want, byNode(last.State)); diff != "" || len(last.Pending) != c.wait {
				t.Errorf("%d pods are Pending, want %d; pods by node (-want +got):\n%s", len(last.Pending), c.wait, diff)
			}
			// Once True, the condition stays.
			condition := meta.FindStatusCondition(last.State.PodGroups[0].Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
			if condition == nil || condition.Status != "True" || !condition.LastTransitionTime.Equal(&result.Initial.Now) {
				t.Errorf("condition %v, want it to be True since %s", condition, result.Initial.Now)
			}
		})
	}
}
