package blast_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
)

// filtered returns a state in which web has 3 pods, two of them in zone b, db has 1 pod, in zone b, and a bare pod is in zone c.
func filtered(t *testing.T) *cluster.State {
	return settled(t, nodes("a b c"), map[string]string{"web": "n1 n2 n2", "db": "n2", "one": "n3"},
		app("Deployment", "web", 3, ""), app("Deployment", "db", 1, ""),
		`{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: one}}, spec: {containers: [{name: c, image: c}]}}`)
}

func TestFilterSelects(t *testing.T) {
	state := filtered(t)
	for name, test := range map[string]struct {
		filter blast.Filter
		want   []string
	}{
		"name":      {blast.Filter{Workloads: []string{"deploy/web"}}, []string{"deployment/web"}},
		"full name": {blast.Filter{Workloads: []string{"default/deployment/web", "deployment/db"}}, []string{"deployment/db", "deployment/web"}},
		"namespace": {blast.Filter{Namespace: "default"}, []string{"deployment/db", "deployment/web", "pod/one"}},
		"selector":  {blast.Filter{Selector: "app in (db, one)"}, []string{"deployment/db", "pod/one"}},
		"replicas":  {blast.Filter{MinReplicas: 2}, []string{"deployment/web"}},
		"all":       {blast.Filter{Namespace: "default", Selector: "app!=db", MinReplicas: 3}, []string{"deployment/web"}},
	} {
		only, err := test.filter.Select(state)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, o := range slices.SortedFunc(maps.Keys(only), cluster.Ref.Compare) {
			got = append(got, o.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if only, err := (blast.Filter{MinReplicas: 1}).Select(state); only != nil || err != nil {
		t.Errorf("no filter selects %v, %v; want all", only, err)
	}
}

func TestFilterMatchesNothing(t *testing.T) {
	state := filtered(t)
	for want, filter := range map[string]blast.Filter{
		`workload "web" is neither kind/name nor namespace/kind/name; give a name such as statefulset/db
namespace shop: no workload matches; there is default
selector app=one: no workload matches; there are app=db, app=web
at least 4 replicas: no workload matches; the largest has 3`: {
			Workloads: []string{"web"}, Namespace: "shop", Selector: "app=one", MinReplicas: 4,
		},
		`workload "pod/one": no workload of this name has a running pod; there are deployment/db, deployment/web`: {Workloads: []string{"pod/one"}},
		"filters: each matches a workload, but no workload matches all of them; leave one out": {
			Workloads: []string{"deployment/db"}, MinReplicas: 2,
		},
	} {
		if _, err := filter.Select(state); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// If only db is reported, the loss of zone b takes its one pod, and the same nodes fail. The report does not mention the 2 lost pods of
// web.
func TestFilterRestrictsTheReport(t *testing.T) {
	state := filtered(t)
	only, err := (blast.Filter{Workloads: []string{"deployment/db"}}).Select(state)
	if err != nil {
		t.Fatal(err)
	}
	opts := blast.Options{Levels: []string{zone}, Mode: node.Deleted, Only: only}
	level := lost(t, state, opts).Levels[0]
	want := blast.Radius{Share: 1, Namespace: "default", Workload: "deployment/db", Domains: []string{"b"}, Lost: 1, Replicas: 1}
	if diff := cmp.Diff(want, level.Radius); diff != "" {
		t.Errorf("radius (-want +got):\n%s", diff)
	}
	if b := level.Failures[1]; b.Pods != 3 || len(b.Workloads) != 1 {
		t.Errorf("zone b has %d pods, and takes of %d workloads; want 3 and 1", b.Pods, len(b.Workloads))
	}
	b := recoveries(t, state, opts)["b"]
	if b.Lost != 1 || len(b.Stranded) != 1 || b.Stranded[0].Workload != "deployment/db" { // the nodes hold no other pod
		t.Errorf("%d lost, stranded %v; want db's pod", b.Lost, b.Stranded)
	}
}
