package simulation

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// pools has two nodes of the group general, which take two pods of a core each, and one of no group, which takes none of them.
const pools = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    zones:
    - name: a
      nodeGroups:
      - {name: general, count: 2, cpu: 2, memory: 8Gi, labels: {pool: general}}
      - {name: large, count: 1, cpu: 8, memory: 32Gi, taints: [{key: dedicated, value: web, effect: NoSchedule}]}
AUTOSCALER
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          topologySpreadConstraints:
          - {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
          containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]
BUDGET
steps:
STEPS
`

const budget = `  - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}}`

func loadPools(t *testing.T, autoscaler, budget, steps string) *scenario.Scenario {
	t.Helper()
	text := strings.NewReplacer("AUTOSCALER", "autoscaler: "+autoscaler, "BUDGET", budget, "STEPS", steps).Replace(pools)
	s, err := loader.LoadFS(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ending describes the cluster after the last step: its nodes, the pods without one, and how long the step took.
func ending(r *Result) string {
	last := &r.Steps[len(r.Steps)-1]
	var nodes []string
	for _, node := range last.State.Nodes {
		nodes = append(nodes, strings.TrimPrefix(node.Name, "a-"))
	}
	before := r.Initial.Now
	if len(r.Steps) > 1 {
		before = r.Steps[len(r.Steps)-2].State.Now
	}
	return fmt.Sprintf("%s; %d pending; %s", strings.Join(nodes, " "), len(last.Pending), last.State.Now.Sub(before.Time).Truncate(time.Minute))
}

func TestAutoscaler(t *testing.T) {
	const general = "{name: general, min: 1, max: 3, from: pool=general}"
	for name, test := range map[string]struct{ autoscaler, budget, steps, want string }{
		"nobody asks": {
			autoscaler: "{nodeGroups: [" + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 4}}",
			want: "general-1 general-2 large-1; 0 pending; 0s",
		},
		"a node comes after two minutes": {
			autoscaler: "{nodeGroups: [" + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 5}}",
			want: "general-1 general-2 large-1 general-1-new-1; 0 pending; 2m0s",
		},
		"or when the scenario says": {
			autoscaler: "{readyAfter: 5m, nodeGroups: [" + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 5}}",
			want: "general-1 general-2 large-1 general-1-new-1; 0 pending; 5m0s",
		},
		"a group ends at its maximum": {
			autoscaler: "{nodeGroups: [" + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 8}}",
			want: "general-1 general-2 large-1 general-1-new-1; 2 pending; 2m0s",
		},
		"a flag limits all": {
			autoscaler: `{flags: {max-nodes-total: "3"}, nodeGroups: [` + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 5}}",
			want: "general-1 general-2 large-1; 1 pending; 0s",
		},
		"a group without a node is like a template": {
			autoscaler: "{nodeGroups: [{name: more, max: 9, template: a-general-2}]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 7}}",
			want: "general-1 general-2 large-1 general-2-new-1 general-2-new-2; 0 pending; 2m0s",
		},
		"a template with a taint helps nobody": {
			autoscaler: "{nodeGroups: [{name: more, max: 9, template: a-large-1}]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 7}}",
			want: "general-1 general-2 large-1; 3 pending; 0s",
		},
		// Of the two groups the first has priority, and takes no more than two pods.
		"the highest priority grows first": {
			autoscaler: `{expander: priority, priorities: {"5": [general], "1": [more]}, nodeGroups: [{name: more, max: 9, template: a-general-2}, ` + general + "]}",
			steps:      "- {name: s, scale: {target: deployment/web, replicas: 7}}",
			want:       "general-1 general-2 large-1 general-1-new-1 general-2-new-1; 0 pending; 2m0s",
		},
		"nodes that are lost come back": {
			autoscaler: "{nodeGroups: [" + general + "]}", steps: "- {name: s, fail: {names: [a-general-1, a-general-2], mode: deleted}}",
			want: "large-1 general-1-new-1; 0 pending; 2m0s",
		},
		// A pod on each node asks for half of it; one node takes both.
		"a node goes after ten minutes": {
			autoscaler: "{scaleDown: {}, nodeGroups: [" + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 2}}",
			want: "general-2 large-1; 0 pending; 0s",
		},
		"unless a budget keeps its pod": {
			autoscaler: "{scaleDown: {}, nodeGroups: [" + general + "]}", budget: budget, steps: "- {name: s, scale: {target: deployment/web, replicas: 2}}",
			want: "general-1 general-2 large-1; 0 pending; 5m0s", // after which the autoscaler looks at the nodes again
		},
		"or it is used too much": {
			autoscaler: "{scaleDown: {threshold: 0.4}, nodeGroups: [" + general + "]}", steps: "- {name: s, scale: {target: deployment/web, replicas: 2}}",
			want: "general-1 general-2 large-1; 0 pending; 0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadPools(t, test.autoscaler, test.budget, test.steps)
			whole, err := Run(t.Context(), s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ending(whole)); diff != "" {
				t.Errorf("nodes, pending pods, duration (-want +got):\n%s", diff)
			}
			// A run that goes on from a step ends as the whole one does.
			first, err := Run(t.Context(), s.Until(scenario.WorkloadsStep), Options{})
			if err != nil {
				t.Fatal(err)
			}
			rest, err := Run(t.Context(), s, Options{Prefix: first})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ending(whole), ending(rest)); diff != "" {
				t.Errorf("a run in two parts (-whole +parts):\n%s", diff)
			}
		})
	}
}

// zonal has a group with a node for two pods of a core in each of two zones, and no room: the pods of web ask for nothing, those of asks for
// the zone b.
const zonal = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{name: a}, {name: b}], nodeGroups: [{name: general, count: 1, cpu: 2, memory: 8Gi, labels: {pool: general}}]}
autoscaler: {groupsBy: pool}
workloads:
- objects:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}}
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: zoned}, spec: {replicas: 0, selector: {matchLabels: {app: zoned}}, template: {metadata: {labels: {app: zoned}},
      spec: {nodeSelector: {topology.kubernetes.io/zone: b}, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}}
steps:
- STEP
`

func TestAutoscalerOverZones(t *testing.T) {
	for step, want := range map[string]string{
		// Two more nodes for four pods: one in each zone.
		"{name: s, scale: {target: deployment/web, replicas: 8}}": "a-general-1 b-general-1 a-general-1-new-1 b-general-1-new-1",
		// The autoscaler first takes new nodes for such as are in zone a.
		"{name: s, scale: {target: deployment/zoned, replicas: 4}}": "a-general-1 b-general-1 b-general-1-new-1 b-general-1-new-2",
		// The zone that is down gets none, nor the one that is gone. Of a group that is
		// gone new nodes are like the first.
		"{name: s, fail: {names: [a-general-1]}}":                             "a-general-1 b-general-1 b-general-1-new-1",
		"{name: s, fail: {names: [a-general-1], mode: deleted}}":              "b-general-1 b-general-1-new-1",
		"{name: s, fail: {names: [a-general-1, b-general-1], mode: deleted}}": "a-general-1-new-1 a-general-1-new-2",
	} {
		s, err := loader.LoadFS(fstest.MapFS{"s.yaml": {Data: []byte(strings.ReplaceAll(zonal, "STEP", step))}}, "s.yaml", loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		result := runCase(t, s)
		var nodes []string
		for _, node := range result.Steps[1].State.Nodes {
			nodes = append(nodes, node.Name)
		}
		if diff := cmp.Diff(want, strings.Join(nodes, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
}

// The first node of the group is cordoned and has a taint that the pods do not tolerate. The autoscaler decides by the other one, so that new nodes
// are like it: one takes the two pods that wait. Like the first they would take none, and come without end.
func TestAutoscalerPassesOverCordonedNodes(t *testing.T) {
	const text = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: batch, labels: {pool: general}}, spec: {unschedulable: true, taints: [{key: dedicated, value: batch, effect: NoSchedule}]}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
  - {apiVersion: v1, kind: Node, metadata: {name: plain, labels: {pool: general}}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
autoscaler: {nodeGroups: [{name: general, max: 20, from: pool=general}]}
workloads:
- objects:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}
`
	s, err := loader.LoadFS(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("batch plain plain-new-1; 0 pending; 2m0s", ending(runCase(t, s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
