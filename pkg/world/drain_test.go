package world_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// runDrainSteps runs a scenario with the objects, one per line, and returns the result.
func runDrainSteps(t *testing.T, nodes, workloads string, steps ...scenario.Step) *simulation.Result {
	t.Helper()
	source := func(documents string) scenario.Source {
		var s scenario.Source
		for _, document := range strings.Split(documents, "\n") {
			data, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			s.Objects = append(s.Objects, runtime.RawExtension{Raw: data})
		}
		return s
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{source(nodes)}, Workloads: []scenario.Source{source(workloads)}, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Nodes a and c are for web, b and d for the queue. The queue must not share a zone with web, and runs on b, in the zone of c. So web fits
// only on a until the queue has moved from b to d.
const drainNodes = `{apiVersion: v1, kind: Node, metadata: {name: a, labels: {zone: west, for: web}}, status: {capacity: {cpu: 4, pods: 10}}}
{apiVersion: v1, kind: Node, metadata: {name: b, labels: {zone: mid, for: queue}}, status: {capacity: {cpu: 4, pods: 10}}}
{apiVersion: v1, kind: Node, metadata: {name: c, labels: {zone: mid, for: web}}, status: {capacity: {cpu: 4, pods: 10}}}
{apiVersion: v1, kind: Node, metadata: {name: d, labels: {zone: east, for: queue}}, status: {capacity: {cpu: 1, pods: 10}}}`

func drainWorkloads(minAvailable int) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: queue}, spec: {selector: {matchLabels: {app: queue}}, template: {metadata: {labels: {app: queue}}, spec: {nodeSelector: {for: queue}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}, containers: [{name: c, image: c, resources: {requests: {cpu: 500m}}}]}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {for: web}, containers: [{name: c, image: c, resources: {requests: {cpu: 500m}}}]}}}}
` + fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: %d, selector: {matchLabels: {app: web}}}}`, minAvailable)
}

type drainFigures struct {
	Node                                       string
	Ends                                       bool
	Evicted, Blocked, Refused, Placed, Pending int
}

func figuresOf(all []world.DrainedNode) []drainFigures {
	var figures []drainFigures
	for _, d := range all {
		figures = append(figures, drainFigures{d.Node, d.Ends, len(d.Evicted), len(d.Blocked), len(d.Refused), len(d.Placed), len(d.Pending)})
	}
	return figures
}

func TestDrain(t *testing.T) {
	result := runDrainSteps(t, drainNodes, drainWorkloads(1))
	state := result.Steps[0].State
	w, err := world.NewCluster(result.Scenario.Config, result.Scenario.Ties)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	options := world.DrainOptions{DrainOptions: node.DrainOptions{IgnoreDaemonSets: true}}
	drain := func(state *cluster.State, nodes ...string) []drainFigures {
		w.Reset()
		_, all, err := w.DrainNodes(t.Context(), state, nodes, options, &world.Record{})
		if err != nil {
			t.Fatal(err)
		}
		return figuresOf(all)
	}
	// One pod of web is evicted, and its replacement waits until the queue makes room. The budget forbids the eviction of the other.
	if diff := cmp.Diff([]drainFigures{{"a", false, 1, 0, 1, 0, 1}, {"b", true, 1, 0, 0, 2, 0}}, drain(state, "a", "b")); diff != "" {
		t.Errorf("a, b (-want +got):\n%s", diff)
	}
	want := []drainFigures{{"b", true, 1, 0, 0, 1, 0}, {"a", true, 2, 0, 0, 2, 0}}
	if diff := cmp.Diff(want, drain(state, "b", "a")); diff != "" {
		t.Errorf("b, a (-want +got):\n%s", diff)
	}
	order, err := w.FindDrainOrder(t.Context(), *result.Steps[0].Mark(), state, []string{"a", "b"}, options)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, figuresOf(order)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]drainFigures{{"c", true, 0, 0, 0, 0, 0}}, drain(state, "c")); diff != "" {
		t.Errorf("an empty node (-want +got):\n%s", diff)
	}
	strict := runDrainSteps(t, drainNodes, drainWorkloads(2)).Steps[0].State
	if order, err := w.FindDrainOrder(t.Context(), *result.Steps[0].Mark(), strict, []string{"a", "b"}, options); err != nil || order != nil {
		t.Errorf("an order where the budget forbids every eviction: %v, %v", order, err)
	}
	if _, _, err := w.DrainNodes(t.Context(), state, []string{"x"}, options, &world.Record{}); err == nil {
		t.Error("a missing node is drained")
	}
}

// The step does what [world.Cluster.DrainNodes] does, and records what keeps the drain from ending: the budget keeps both pods of web on a, and
// kubectl the bare pod on b.
func TestDrainStep(t *testing.T) {
	bare := "\n{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {nodeName: b, containers: [{name: c, image: c}]}}"
	step := scenario.Step{Name: "drain", Drain: &scenario.Drain{Nodes: scenario.Nodes{Names: []string{"a", "b", "d"}}}}
	result := runDrainSteps(t, drainNodes, drainWorkloads(2)+bare, step)
	budget := "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 2 currently"
	type stays struct{ node, workload, reason string }
	var want, got []stays
	for _, pod := range result.Steps[0].State.Pods {
		if pod.Labels["app"] == "web" {
			want = append(want, stays{"a", "deployment/web", budget})
		}
	}
	want = append(want, stays{node: "b", reason: "cannot delete Pods that declare no controller (use --force to override): default/bare"})
	var ends []bool
	for _, d := range result.Steps[1].Drained {
		ends = append(ends, d.Ends)
		for _, p := range d.BlockingPods() {
			got = append(got, stays{d.Node, p.Workload, p.Reason})
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stays{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{false, false, true}, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

// In a world in which nothing acts, a drain only cordons its nodes. A missing node is a problem of its field.
func TestDrainWhereNothingActs(t *testing.T) {
	state := runDrainSteps(t, drainNodes, drainWorkloads(1)).Steps[0].State
	w, err := world.NewCluster(nil, sched.Ties{})
	if err != nil {
		t.Fatal(err)
	}
	step := &scenario.LoadedStep{Step: scenario.Step{Drain: &scenario.Drain{Nodes: scenario.Nodes{Names: []string{"b", "gone"}}}}}
	next, _, err := w.Do(t.Context(), state, step, &world.Record{})
	var fields []string
	for _, p := range world.Problems(err) {
		fields = append(fields, p.Field.String())
	}
	want := []any{true, len(state.Pods), []string{"drain.names[1]"}}
	if diff := cmp.Diff(want, []any{next.Node("b").Spec.Unschedulable, len(next.Pods), fields}); diff != "" {
		t.Errorf("cordoned, pods, problems (-want +got):\n%s", diff)
	}
}
