package loader

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

func mustLoad(t *testing.T, path string) *scenario.Scenario {
	t.Helper()
	s, err := Load(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rulesOfWeb returns the rules of the Deployment web, wherever the scenario has it.
func rulesOfWeb(t *testing.T, s *scenario.Scenario) []string {
	t.Helper()
	var all []string
	for _, obj := range s.Objects() {
		if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "web" {
			for _, r := range rule.List(&d.Spec.Template.Spec) {
				all = append(all, r.String())
			}
		}
	}
	return all
}

func TestVariants(t *testing.T) {
	s := mustLoad(t, "testdata/ok/variants.yaml")
	if got := rulesOfWeb(t, s); !cmp.Equal(got, []string{"spread over topology.kubernetes.io/zone, maxSkew 1, DoNotSchedule"}) {
		t.Errorf("the scenario itself is changed: %q", got)
	}
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	type found struct {
		Rules     []string
		Replicas  int32
		Nodes     int
		Workloads []cluster.Ref
	}
	spread := []string{"spread over topology.kubernetes.io/zone, maxSkew 1, DoNotSchedule"}
	for _, test := range []struct {
		name string
		want found
	}{
		{"none", found{nil, 3, 4, []cluster.Ref{web}}},
		// Without over, the keys stay.
		{"hard", found{[]string{"required anti-affinity over topology.kubernetes.io/zone"}, 3, 4, nil}},
		{"pair", found{[]string{"preferred anti-affinity over topology.kubernetes.io/zone (weight 100)",
			"preferred anti-affinity over kubernetes.io/hostname (weight 50)"}, 3, 4, []cluster.Ref{web}}},
		{"skew", found{[]string{"spread over kubernetes.io/hostname, maxSkew 2, ScheduleAnyway"}, 3, 4, []cluster.Ref{web}}},
		{"larger", found{spread, 9, 6, []cluster.Ref{web}}},
		{"patched", found{append([]string{"node selector disk=ssd"}, spread...), 3, 4, []cluster.Ref{web}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, v := range s.Variants {
				if v.Name != test.name {
					continue
				}
				replicas, _ := cluster.Replicas(v.Scenario.Workloads[0])
				got := found{rulesOfWeb(t, v.Scenario), replicas, len(v.Scenario.Nodes()), v.Workloads}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				return
			}
			t.Fatal("there is no such variant")
		})
	}
}

// If a variant changes a workload, its pods stay on their nodes, and its controller rolls the change out. With fresh, the pods are made
// again.
func TestVariantsOfDumps(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		s, err := New("dump", &scenario.File{
			Fresh:   fresh,
			Cluster: []scenario.Source{{Files: []string{dumpFile}}},
			Variants: []scenario.Variant{
				{Name: "rule", Rules: []scenario.RuleChange{{Workload: "deployment/web", Rule: "hard"}}},
				{Name: "replicas", Replicas: map[string]int32{"deployment/web": 4}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		owned := func(s *scenario.Scenario) (n int) {
			for _, obj := range s.Cluster {
				if strings.HasPrefix(obj.GetName(), "web-") {
					n++
				}
			}
			return n
		}
		before, rule, replicas := owned(s), owned(s.Variants[0].Scenario), owned(s.Variants[1].Scenario)
		if want := map[bool]int{false: before, true: 0}[fresh]; before == 0 || rule != want || replicas != before {
			t.Errorf("fresh %t: %d objects belong to web before, %d with another rule, %d with more replicas; want some, %d and as many as before", fresh, before, rule, replicas, want)
		}
	}
}

// A variant with a dump of its own has what a scenario of this dump has: its pods keep the controllers that the dump lacks, and its workloads
// stay in their place.
func TestVariantWithDumpOfItsOwn(t *testing.T) {
	const nodes = `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "NAME", "resourceVersion": "1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}`
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "default", "uid": "p", "resourceVersion": "2", "labels": {"app": "web"},
		"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r", "controller": true}]},
		"spec": {"nodeName": "NAME", "containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}, "status": {"phase": "Running"}}`
	source := func(node string, objects ...string) scenario.Source {
		var s scenario.Source
		for _, object := range objects {
			s.Objects = append(s.Objects, runtime.RawExtension{Raw: []byte(strings.ReplaceAll(object, "NAME", node))})
		}
		return s
	}
	other := source("b", nodes, pod)
	alone, err := New("alone", &scenario.File{Cluster: []scenario.Source{other}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New("variants", &scenario.File{
		Cluster: []scenario.Source{source("a", nodes, pod)}, Variants: []scenario.Variant{{Name: "dump", Cluster: []scenario.Source{other}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want, got := list.Map(alone.Cluster, cluster.RefTo), list.Map(s.Variants[0].Scenario.Cluster, cluster.RefTo)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 5 {
		t.Errorf("the variant's cluster has other objects than the dump alone, or fewer than node, pod, ReplicaSet, claim and volume (-alone +variant):\n%s", diff)
	}
}

func TestSweep(t *testing.T) {
	s := mustLoad(t, "testdata/ok/sweep.yaml")
	if diff := cmp.Diff([]string{"zones", "replicas", "rule"}, s.Parameters); diff != "" {
		t.Errorf("parameters (-want +got)\n%s", diff)
	}
	var names []string
	for _, p := range s.Points {
		names = append(names, p.Name)
	}
	want := []string{
		"zones=2,replicas=3,rule=soft", "zones=2,replicas=3,rule=hard", "zones=2,replicas=5,rule=soft", "zones=2,replicas=5,rule=hard",
		"zones=3,replicas=3,rule=soft", "zones=3,replicas=3,rule=hard", "zones=3,replicas=5,rule=soft", "zones=3,replicas=5,rule=hard",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("points (-want +got)\n%s", diff)
	}
	last := s.Points[7]
	if replicas, _ := cluster.Replicas(last.Scenario.Workloads[0]); replicas != 5 || len(last.Scenario.Nodes()) != 6 {
		t.Errorf("%s: %d replicas and %d nodes, want 5 and 6", last.Name, replicas, len(last.Scenario.Nodes()))
	}
	if diff := cmp.Diff([]string{"required anti-affinity over topology.kubernetes.io/zone"}, rulesOfWeb(t, last.Scenario)); diff != "" {
		t.Errorf("%s (-want +got)\n%s", last.Name, diff)
	}
	wantChange := `{"cluster":[{"synthetic":{"nodeGroups":[{"count":2}],"zones":[{"count":3,"name":"3-{index}"}]}}],` +
		`"patches":[{"patch":{"metadata":{"annotations":{"kept":"$(rule)"}}},"target":"deployment/web"}],` +
		`"replicas":{"deployment/web":5},"rules":[{"over":[{"topologyKey":"zone"}],"rule":"hard"}]}`
	if got := string(last.Change); got != wantChange {
		t.Errorf("change %s\nwant   %s", got, wantChange)
	}
	// Points with equal clusters share one cluster.
	if n, ok := scenario.CommonSteps(s.Points[0].Scenario, s.Points[1].Scenario); ok || n != 0 {
		t.Errorf("soft and hard have %d steps in common, %t", n, ok)
	}
	if &s.Points[0].Scenario.Cluster[0] != &s.Points[3].Scenario.Cluster[0] && s.Points[0].Scenario.Cluster[0] != s.Points[3].Scenario.Cluster[0] {
		t.Error("the same cluster was built twice")
	}
}

// If two variants make the same change in the first step, they share this step.
func TestPointsHaveStepsInCommon(t *testing.T) {
	first := scenario.Step{Name: "first", Apply: &scenario.Source{Files: []string{"testdata/docs/web.yaml"}}}
	second := scenario.Step{Name: "second", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/web"}, Replicas: 4}}
	var sweep scenario.Sweep
	err := json.Unmarshal([]byte(`{"parameters": [{"name": "rule", "values": ["soft", "hard"]}, {"name": "n", "range": {"from": 1, "to": 3}}],
		"variant": {"replicas": {"deployment/web": "$(n)"}, "rules": [{"rule": "$(rule)"}]}}`), &sweep)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New("steps", &scenario.File{
		Cluster: []scenario.Source{{Files: []string{"testdata/docs/kind-config.yaml"}}}, Steps: []scenario.Step{first, second}, Sweep: &sweep,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ a, b, want int }{{0, 0, 2}, {0, 1, 1}, {0, 2, 1}, {2, 3, 0}, {4, 5, 1}} {
		if n, ok := scenario.CommonSteps(s.Points[test.a].Scenario, s.Points[test.b].Scenario); !ok || n != test.want {
			t.Errorf("%s and %s: %d steps in common, %t; want %d", s.Points[test.a].Name, s.Points[test.b].Name, n, ok, test.want)
		}
	}
}
