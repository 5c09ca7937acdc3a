package simulation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/runtest"
)

// The only node has a NoExecute taint, which web tolerates for 60 s. Each pod of web lands there and is evicted a minute later. The step
// ends nevertheless, with a pod of web on the node, and a note says why.
func TestEndlessEvictionsEnd(t *testing.T) {
	result := runtest.Run(t, `
apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: a, effect: NoExecute}]}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]
          containers: [{name: c, image: i}]
`)
	last := result.Last()
	if took := last.State.Now.Sub(result.Initial.Now.Time).Minutes(); took < 1000 {
		t.Errorf("the step took %v minutes, want one for each of 1000 evictions", took)
	}
	if !slices.ContainsFunc(last.Notes, func(note string) bool {
		return strings.Contains(note, "taints still evicted new pods after 1000 evictions")
	}) {
		t.Errorf("notes: %q", last.Notes)
	}
}
