package metric_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// twoZones has zone a with two nodes and zone b with one, each for two pods. A node costs 0.5 in a and has no price in b.
const twoZones = `{"zones": [
	{"name": "a", "nodeGroups": [{"count": 2, "pods": 2, "pricePerHour": 0.5}]},
	{"name": "b", "nodeGroups": [{"count": 1, "pods": 2}]}]}`

func deployment(name, replicas, spec string) runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "` + name + `"}, "spec": {"replicas": ` + replicas + `,
		"selector": {"matchLabels": {"app": "` + name + `"}}, "template": {"metadata": {"labels": {"app": "` + name + `"}},
		"spec": {` + spec + `"containers": [{"name": "c", "image": "i"}]}}}}`)}
}

const selectZoneA = `"nodeSelector": {"topology.kubernetes.io/zone": "a"}, `

func runScenario(t *testing.T, objects ...runtime.RawExtension) (world.World, *simulation.Result) {
	t.Helper()
	return runOnZones(t, twoZones, objects...)
}

func runOnZones(t *testing.T, zones string, objects ...runtime.RawExtension) (world.World, *simulation.Result) {
	t.Helper()
	synthetic := scenario.Source{}
	if err := json.Unmarshal([]byte(`{"synthetic": `+zones+`}`), &synthetic); err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{synthetic}, Workloads: []scenario.Source{{Objects: objects}}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := simulation.NewWorld(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	result, err := simulation.Run(t.Context(), s, simulation.Options{World: w})
	if err != nil {
		t.Fatal(err)
	}
	return w, result
}

// There are five pods. db has three in zone a, where four fit. One pod of web takes the fourth place or goes to b, and the other goes to b
// in any case, since default spreading prefers the empty zone; so both are in b, or one is in a. The loss of a takes all of db, which may
// not go elsewhere, and the loss of b leaves one place for two pods.
func TestOf(t *testing.T) {
	w, result := runScenario(t, deployment("db", "3", selectZoneA), deployment("web", "2", `"nodeSelector": {"topology.kubernetes.io/zone": "b"}, `))
	got, err := metric.Measure(t.Context(), w, result.Scenario, result.Steps[0].State, metric.Options{
		Levels: []string{"topology.kubernetes.io/zone", "kubernetes.io/hostname"}, Recover: []string{"topology.kubernetes.io/zone"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &metric.Metrics{Pods: 5, Cost: new(1.0), Unpriced: 1, Levels: []metric.LevelMetrics{
		{
			TopologyKey: "topology.kubernetes.io/zone", Domains: 2, Skew: 3, SkewOf: "deployment/db",
			Radius: 1, RadiusOf: "deployment/db", RadiusIn: "a",
			Failures: []metric.FailureMetrics{{Domain: "a", Lost: 3, Stranded: 3}, {Domain: "b", Lost: 2, Stranded: 2}},
		},
		{TopologyKey: "kubernetes.io/hostname", Domains: 3, Skew: 2, SkewOf: "deployment/db", Radius: 1, RadiusOf: "deployment/web", RadiusIn: "b-node-1"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The loss of a node takes two of db's three pods.
	got, err = metric.Measure(t.Context(), w, result.Scenario, result.Steps[0].State, metric.Options{
		Workloads: []cluster.Ref{{Kind: "Deployment", Namespace: "default", Name: "db"}}, Levels: []string{"kubernetes.io/hostname"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l := got.Level("kubernetes.io/hostname"); l.RadiusOf != "deployment/db" || l.Radius != 2.0/3 {
		t.Errorf("radius %v of %s, want 2/3 of deployment/db", l.Radius, l.RadiusOf)
	}
}

// solo has one replica, which any placement can lose whole, so the radius is that of web, whose two pods are in both zones. If solo is
// asked about, its loss counts.
func TestOneReplicaIsNoRadius(t *testing.T) {
	w, result := runScenario(t, deployment("web", "2", ""), deployment("solo", "1", ""))
	for want, opts := range map[string]metric.Options{
		"deployment/web": {}, "deployment/solo": {Workloads: []cluster.Ref{{Kind: "Deployment", Namespace: "default", Name: "solo"}}},
	} {
		opts.Levels = []string{"topology.kubernetes.io/zone"}
		got, err := metric.Measure(t.Context(), w, result.Scenario, result.Steps[0].State, opts)
		if err != nil {
			t.Fatal(err)
		}
		if level := got.Levels[0]; level.RadiusOf != want || want == "deployment/web" && level.Radius != 0.5 {
			t.Errorf("radius %v of %s, want %s", level.Radius, level.RadiusOf, want)
		}
	}
}

// Thirteen nodes have one pod each, the only pod of its workload, which finds another node after any failure; these failures take all of a
// workload, as any placement would. Two nodes have five each of the ten pods of db, which fit nowhere else: their failure takes half of a
// workload, strands pods, and is among the worst.
func TestTheFailureThatStrandsIsLookedAt(t *testing.T) {
	const nodes = `{"zones": [{"name": "a", "nodeGroups": [{"count": 13, "pods": 2}]}, {"name": "b", "nodeGroups": [{"count": 2, "pods": 5}]}]}`
	objects := []runtime.RawExtension{deployment("db", "10", `"nodeSelector": {"topology.kubernetes.io/zone": "b"}, `)}
	for i := range 13 {
		objects = append(objects, deployment(fmt.Sprintf("single-%d", i), "1", selectZoneA+`"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
			[{"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}}]}}, `))
	}
	w, result := runOnZones(t, nodes, objects...)
	for _, c := range []struct {
		worst, failures, stranded int
		partly                    bool
	}{
		{worst: 0, failures: 15, stranded: 5},
		{worst: 15, failures: 15, stranded: 5},
		{worst: 12, failures: 12, stranded: 5, partly: true},
	} {
		node := []string{"kubernetes.io/hostname"}
		m, err := metric.Measure(t.Context(), w, result.Scenario, result.Steps[0].State, metric.Options{Levels: node, Recover: node, Worst: c.worst})
		if err != nil {
			t.Fatal(err)
		}
		level := m.Level(node[0])
		stranded, looked := level.NotBack()
		if len(level.Failures) != c.failures || stranded != c.stranded || !looked || level.IsPartlyExamined() != c.partly {
			t.Errorf("worst %d: %d failures, %d stranded, partly %v; want %+v", c.worst, len(level.Failures), stranded, level.IsPartlyExamined(), c)
		}
	}
}

// Node a-1 has the only pod of single and one of web's three pods; a-2 has the other two. For single the loss of a-1 is worse, for web that
// of a-2.
func TestTheFailureOfTheWorkloadIsLookedAt(t *testing.T) {
	const nodes = `{"nodeGroups": [{"name": "a", "count": 2, "pods": 2}]}`
	w, result := runOnZones(t, nodes, deployment("single", "1", `"nodeSelector": {"kubernetes.io/hostname": "a-1"}, `), deployment("web", "3", ""))
	host := []string{"kubernetes.io/hostname"}
	for name, want := range map[string]string{"single": "a-1", "web": "a-2"} {
		of := []cluster.Ref{{Kind: "Deployment", Namespace: "default", Name: name}}
		m, err := metric.Measure(t.Context(), w, result.Scenario, result.Steps[0].State, metric.Options{Workloads: of, Levels: host, Recover: host, Worst: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Level(host[0]).Failures; len(got) != 1 || got[0].Domain != want {
			t.Errorf("of %s: %v, want %s", name, got, want)
		}
	}
}

func TestPendingAndMoved(t *testing.T) {
	w, first := runScenario(t, deployment("web", "3", selectZoneA))
	_, second := runScenario(t, deployment("web", "5", ""))
	m, err := metric.Measure(t.Context(), w, first.Scenario, first.Steps[0].State, metric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Pods != 3 || m.Pending != 0 {
		t.Errorf("%d pods, %d Pending, want 3 and 0", m.Pods, m.Pending)
	}
	before, after := first.Steps[0].State, second.Steps[0].State
	// Two pods and one pod are on the nodes of a. Of five pods on three nodes for two pods each, at least two and one stay there, so no pod
	// has to move.
	if got := metric.CountMoves(before, after); got != 0 {
		t.Errorf("%d of 3 moved, want 0", got)
	}
	// The two pods on the node of b must go to a, where one pod is missing: one of three pods moves.
	_, third := runScenario(t, deployment("web", "3", `"nodeSelector": {"topology.kubernetes.io/zone": "b"}, `))
	if got := metric.CountMoves(before, third.Steps[0].State); got != 2 {
		t.Errorf("%d moved, want 2: two run in b, and neither ran there before", got)
	}
}
