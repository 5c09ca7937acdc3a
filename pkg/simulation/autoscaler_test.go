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

// pools has two nodes of the group general, which can take two pods of a core each, and a node of no group, which can take none of them.
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

// summarizeEnd describes the cluster after the last step: its nodes, the pods without one, and how long the step took.
func summarizeEnd(r *Result) string {
	last := r.Last()
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
		// The first of the two groups has the higher priority, but can take only two of the pods.
		"the highest priority grows first": {
			autoscaler: `{expander: priority, priorities: {"5": [general], "1": [more]}, nodeGroups: [{name: more, max: 9, template: a-general-2}, ` + general + "]}",
			steps:      "- {name: s, scale: {target: deployment/web, replicas: 7}}",
			want:       "general-1 general-2 large-1 general-1-new-1 general-2-new-1; 0 pending; 2m0s",
		},
		"nodes that are lost come back": {
			autoscaler: "{nodeGroups: [" + general + "]}", steps: "- {name: s, fail: {names: [a-general-1, a-general-2], mode: deleted}}",
			want: "large-1 general-1-new-1; 0 pending; 2m0s",
		},
		// The pod on each node requests half of the node; one node can take both pods.
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
			if diff := cmp.Diff(test.want, summarizeEnd(whole)); diff != "" {
				t.Errorf("nodes, pending pods, duration (-want +got):\n%s", diff)
			}
			// A run that continues from a step ends as a complete run does.
			first, err := Run(t.Context(), s.CutAfter(scenario.WorkloadsStep), Options{})
			if err != nil {
				t.Fatal(err)
			}
			rest, err := Run(t.Context(), s, Options{Prefix: first})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(summarizeEnd(whole), summarizeEnd(rest)); diff != "" {
				t.Errorf("a run in two parts (-whole +parts):\n%s", diff)
			}
		})
	}
}

// zonal has a group with one node in each of two zones, each with room for two pods of a core. The four pods of web fill them; the pods of
// zoned need zone b.
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
		// Four more pods need two more nodes, one in each zone.
		"{name: s, scale: {target: deployment/web, replicas: 8}}": "a-general-1 b-general-1 a-general-1-new-1 b-general-1-new-1",
		// The autoscaler first expects its new nodes in zone a, like the group's first node.
		"{name: s, scale: {target: deployment/zoned, replicas: 4}}": "a-general-1 b-general-1 b-general-1-new-1 b-general-1-new-2",
		// A zone that is down, or that has no node any more, gets no new node. If all nodes of a group are deleted, new nodes are copies of
		// the first.
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

// The first node of the group is cordoned and has a taint that the pods do not tolerate. The autoscaler decides by the other node, so the
// cloud must copy the other one, too: one new node then takes the two Pending pods. A copy of the first node would take none of them, and
// the autoscaler would add nodes without end.
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
	if diff := cmp.Diff("batch plain plain-new-1; 0 pending; 2m0s", summarizeEnd(runCase(t, s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
