package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/world"
)

// The comparison is about Karmada's decisions, and not about the pods that then run, which are compared as pods.
func TestDiffBindings(t *testing.T) {
	in := func(name string, shares ...world.Share) run.Binding {
		return run.Binding{Kind: "Deployment", Namespace: "default", Name: name, Policy: "PropagationPolicy default/all", Reason: "Success", Clusters: shares}
	}
	refused := in("refused")
	refused.Reason, refused.Message = "NoClusterFit", "0/2 clusters are available."
	of := func(bindings ...run.Binding) *run.Report {
		return &run.Report{Steps: []run.Step{{Name: "workloads", Bindings: bindings}}}
	}
	old := of(
		in("same", world.Share{Cluster: "m1", Assigned: 3, Running: 3}),
		in("web", world.Share{Cluster: "m1", Assigned: 3, Running: 3}),
		in("shares", world.Share{Cluster: "m1", Assigned: 2, Running: 2}, world.Share{Cluster: "m2", Assigned: 2, Running: 2}),
		in("refused", world.Share{Cluster: "m1", Assigned: 1, Running: 1}),
		in("gone"),
	)
	new := of(
		in("same", world.Share{Cluster: "m1", Assigned: 3, Running: 2, Pending: 1}),
		in("web", world.Share{Cluster: "m2", Assigned: 3, Running: 3}),
		in("shares", world.Share{Cluster: "m1", Assigned: 3, Running: 3}, world.Share{Cluster: "m2", Assigned: 1, Running: 1}),
		refused,
		in("added", world.Share{Cluster: "m2", Assigned: 1, Running: 1}),
	)
	d := New(old, new, "dev")
	type decided struct{ Name, Old, New string }
	var got []decided
	text := func(b *run.Binding) string {
		if b == nil {
			return "none"
		}
		return b.Text(false)
	}
	for _, b := range d.Steps[0].Bindings {
		got = append(got, decided{b.Name, text(b.Old), text(b.New)})
	}
	want := []decided{
		{"web", "m1 3", "m2 3"},
		{"shares", "m1 2, m2 2", "m1 3, m2 1"},
		{"refused", "m1 1", "NoClusterFit: 0/2 clusters are available."},
		{"added", "none", "m2 1"},
		{"gone", "<none>", "none"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "5 decisions of Karmada changed"; d.Verdict != want {
		t.Errorf("the verdict is %q, want %q", d.Verdict, want)
	}
	diffGolden(t, "bindings", d)
	if d := New(old, old, "dev"); len(d.Steps) != 0 {
		t.Errorf("a report differs from itself:\n%s", writeDiff(t, d, "text", report.Options{}))
	}
}
