package simulation

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
)

// zones has two zones of two equal nodes, and four pods with a maximum skew of one. A zone without its nodes still counts, so the two pods
// that it had are Pending.
const zones = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{name: a, nodeGroups: [{count: 2}]}, {name: b, nodeGroups: [{count: 2}]}]}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 4
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          topologySpreadConstraints:
          - {topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
          containers: [{name: c, image: i}]
steps:
`

// drawn has two nodes; the first is cordoned when two pods arrive that must share a zone.
const drawn = `apiVersion: faultline/v1alpha1
kind: Scenario
terminationSeconds: 0
cluster:
- synthetic: {zones: [{name: a, nodeGroups: [{count: 1}]}, {name: b, nodeGroups: [{count: 1}]}]}
steps:
- {name: cordon, cordon: {names: [a-node-1]}}
- name: apply
  apply:
    objects:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 2
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            affinity:
              podAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}
            containers: [{name: c, image: i}]
- {name: uncordon, uncordon: {names: [a-node-1]}}
`

// kubectl handles one item after another, and the scheduler uses what is there by then. A recorded control plane put both pods on the first
// node of a returning zone in five of five runs.
func TestOneAfterTheOther(t *testing.T) {
	for name, c := range map[string]struct {
		scenario, steps string
		inTurn          map[string]int
		together        map[string]int
	}{
		"restore": {
			scenario: zones,
			steps: `- {name: fail, fail: {selector: topology.kubernetes.io/zone=a}, expect: {pending: 2}}
- {name: last, restore: {selector: topology.kubernetes.io/zone=a, TOGETHER}}`,
			inTurn:   map[string]int{"a-node-1": 2, "b-node-1": 1, "b-node-2": 1},
			together: map[string]int{"a-node-1": 1, "a-node-2": 1, "b-node-1": 1, "b-node-2": 1},
		},
		"restore what is gone": {
			scenario: zones,
			steps: `- {name: fail, fail: {selector: topology.kubernetes.io/zone=a}, expect: {pending: 2}}
- {name: gone, fail: {names: [a-node-2], mode: deleted}, expect: {pending: 2}}
- {name: last, restore: {selector: topology.kubernetes.io/zone=a, TOGETHER}}`,
			inTurn:   map[string]int{"a-node-1": 2, "b-node-1": 1, "b-node-2": 1},
			together: map[string]int{"a-node-1": 1, "a-node-2": 1, "b-node-1": 1, "b-node-2": 1},
		},
		"uncordon": {
			scenario: zones,
			steps: `- {name: cordon, cordon: {names: [a-node-1, a-node-2]}}
- {name: empty, delete: {pods: {nodes: {selector: topology.kubernetes.io/zone=a}}}, expect: {pending: 2}}
- {name: last, uncordon: {names: [a-node-1, a-node-2], TOGETHER}}`,
			inTurn:   map[string]int{"a-node-1": 2, "b-node-1": 1, "b-node-2": 1},
			together: map[string]int{"a-node-1": 1, "a-node-2": 1, "b-node-1": 1, "b-node-2": 1},
		},
		"uncordon in the order of the names": {
			scenario: zones,
			steps: `- {name: cordon, cordon: {selector: topology.kubernetes.io/zone=a}}
- {name: empty, delete: {pods: {nodes: {selector: topology.kubernetes.io/zone=a}}}, expect: {pending: 2}}
- {name: last, uncordon: {names: [a-node-2, a-node-1], TOGETHER}}`,
			inTurn:   map[string]int{"a-node-2": 2, "b-node-1": 1, "b-node-2": 1},
			together: map[string]int{"a-node-1": 1, "a-node-2": 1, "b-node-1": 1, "b-node-2": 1},
		},
		"delete": { // of pods that end at once: a pod's successor has to be where the other still is; with both gone, zone a is as good and comes first
			scenario: drawn,
			steps:    `- {name: last, delete: {pods: {selector: app=web}, TOGETHER}}`,
			inTurn:   map[string]int{"b-node-1": 2},
			together: map[string]int{"a-node-1": 2},
		},
	} {
		for together, want := range map[string]map[string]int{"together: true": c.together, "together: false": c.inTurn} {
			t.Run(name+" "+together, func(t *testing.T) {
				file := c.scenario + strings.ReplaceAll(c.steps, "TOGETHER", together)
				s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(file)}}, "scenario.yaml", loader.Options{})
				if err != nil {
					t.Fatal(err)
				}
				result := runCase(t, s)
				for i, spec := range StepsOf(s) {
					if pending := len(result.Steps[i].Pending); spec.Expect != nil && pending != *spec.Expect.Pending {
						t.Errorf("%s: %d Pending, want %d", spec.Name, pending, *spec.Expect.Pending)
					}
				}
				last := result.Last()
				if diff := cmp.Diff(want, byNode(last.State)); diff != "" {
					t.Errorf("pods by node (-want +got):\n%s", diff)
				}
				if len(last.Placed) != 2 || len(last.Pending) != 0 {
					t.Errorf("%d placed and %d Pending in the last step, want 2 and 0", len(last.Placed), len(last.Pending))
				}
			})
		}
	}
}
