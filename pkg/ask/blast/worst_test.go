package blast_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// recoveries returns the recoveries of the failures that have one, by their domains.
func recoveries(t *testing.T, state *cluster.State, opts blast.Options) map[string]*blast.Recovery {
	t.Helper()
	analysis := lost(t, state, opts)
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := blast.Recover(t.Context(), state, &scenario.Scenario{Config: config}, analysis, opts, nil); err != nil {
		t.Fatal(err)
	}
	found := map[string]*blast.Recovery{}
	for _, failure := range analysis.Levels[0].Failures {
		if failure.Recovery != nil {
			found[failure.Domains[0]] = failure.Recovery
		}
	}
	return found
}

// Zone a takes a third of web and a third of db, with 2 pods; b two thirds of web, with 2 pods; c two thirds of db, with 3 pods, one of
// them bare. Each of the two is one beyond an even spread, and c has most pods: it is the worst, then comes b, then a.
func TestTheWorstFailuresAreRecovered(t *testing.T) {
	state := settled(t, nodes("a b c"), map[string]string{"web": "n1 n2 n2", "db": "n1 n3 n3", "one": "n3"},
		app("Deployment", "web", 3, ""), app("Deployment", "db", 3, ""),
		`{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: one}}, spec: {containers: [{name: c, image: c}]}}`)
	for worst, want := range map[int][]string{0: {"a", "b", "c"}, 1: {"c"}, 2: {"b", "c"}, 3: {"a", "b", "c"}} {
		var got []string
		for domain := range recoveries(t, state, blast.Options{Levels: []string{zone}, Mode: node.Deleted, Worst: worst}) {
			got = append(got, domain)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the worst %d (-want +got):\n%s", worst, diff)
		}
	}
}

// db has two pods in zone a, of which one is Terminating, and one in zone b: two replicas, of which a takes one. Its recovery has one pod to
// account for, too.
func TestTerminatingPodsAreNoReplicas(t *testing.T) {
	state := &cluster.State{Now: cluster.Epoch, Nodes: nodes("a b")}
	for i, node := range []string{"n1", "n1", "n2"} {
		pod := podOf("Widget", "db", i, node)
		pod.UID = types.UID(pod.Name)
		if i == 1 {
			end := metav1.NewTime(cluster.Epoch.Add(1000))
			pod.DeletionTimestamp = &end
		}
		state.Pods = append(state.Pods, pod)
	}
	opts := blast.Options{Levels: []string{zone}, Mode: node.Deleted}
	level := lost(t, state, opts).Levels[0]
	want := blast.Radius{Share: 0.5, Namespace: "default", Workload: "widget/db", Domains: []string{"a"}, Lost: 1, Replicas: 2}
	if diff := cmp.Diff(want, level.Radius); diff != "" {
		t.Errorf("radius (-want +got):\n%s", diff)
	}
	if got := level.Failures[0].Pods; got != 1 {
		t.Errorf("zone a takes %d pods, want 1", got)
	}
	if got := recoveries(t, state, opts)["a"]; got.Lost != 1 || len(got.NotReplaced) != 1 {
		t.Errorf("of zone a %d pods are lost and %d not replaced, want 1 and 1", got.Lost, len(got.NotReplaced))
	}
}

// With random ties each failure draws from the seed again, so its result does not depend on the failures that were examined before.
func TestEachFailureDrawsAnew(t *testing.T) {
	state := settled(t, nodes("a b c d e f g h"), map[string]string{"web": "n1 n2 n3"}, app("Deployment", "web", 3, "")) // 5 equal nodes are empty
	for _, node := range state.Nodes {
		node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("20")
	}
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.NewCluster(config, sched.Ties{Random: true, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	opts := blast.Options{Levels: []string{zone}, Mode: node.Deleted}
	placed := func(failures ...blast.Failure) (all [][]string) {
		analysis := &blast.Analysis{Levels: []blast.Level{{TopologyKey: zone, Failures: failures}}}
		if err := blast.RecoverIn(t.Context(), w, state, analysis, opts); err != nil {
			t.Fatal(err)
		}
		for _, failure := range analysis.Levels[0].Failures {
			var on []string
			for _, p := range failure.Recovery.Recovered {
				on = append(on, p.Name+" "+p.Node)
			}
			all = append(all, on)
		}
		return all
	}
	failures := lost(t, state, opts).Levels[0].Failures[:3]
	together := placed(failures[0], failures[1], failures[2])
	for i, failure := range failures {
		if diff := cmp.Diff(together[i], placed(failure)[0]); diff != "" {
			t.Errorf("zone %s (-after the others +alone):\n%s", failure.Domains[0], diff)
		}
	}
}
