package simulation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/world"
)

// Each zone has a node of 4 CPU and a pod of 3. Four more pods come, whose zones may differ by one. The first loop finds that one new node of g1 takes
// one (z1 2, z2 1) and the next one would make it 3 and 1; the second that two of g2 take two (2 and 3); the third adds the last in z1 (3 and 3).
func TestNodesThatComeLittleByLittle(t *testing.T) {
	result := runtest.Run(t, `
apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    zones:
    - {name: z1, nodeGroups: [{name: pool, count: 1, cpu: 4, memory: 16Gi, labels: {group: g1}}]}
    - {name: z2, nodeGroups: [{name: pool, count: 1, cpu: 4, memory: 16Gi, labels: {group: g2}}]}
autoscaler: {groupsBy: group, nodeGroups: [{name: g1, min: 1, max: 10}, {name: g2, min: 1, max: 10}]}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app}
    spec:
      replicas: 2
      selector: {matchLabels: {app: app}}
      template:
        metadata: {labels: {app: app}}
        spec:
          topologySpreadConstraints:
          - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: app}}}
          containers: [{name: c, image: c, resources: {requests: {cpu: "3"}}}]
steps:
- {name: six, scale: {target: deploy/app, replicas: 6}}
`)
	did := result.Steps[1].Autoscaling
	want := []world.Slow{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "app"}, Loops: 2, Of: 3, Most: 2,
		Reasons: []string{"node(s) didn't match pod topology spread constraints"}, Spreads: []string{"topology.kubernetes.io/zone"}}}
	if diff := cmp.Diff(want, did.Slow); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	says := []string{"2 of 3 loops add at most 2 nodes each, though more pods of deployment/app wait: the next one on another new node of the same group would violate their spread over topology.kubernetes.io/zone"}
	if diff := cmp.Diff(says, doc.SlowScaling(did.Slow)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
