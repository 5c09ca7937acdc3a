package drain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/world"
)

func TestWriteDrain(t *testing.T) {
	schema := reporttest.Schema(t, "drain-report")
	pod := func(name string) world.BlockedPod {
		return world.BlockedPod{PodRef: cluster.PodRef{Namespace: "default", Name: name}, Reason: "because"}
	}
	for name, r := range map[string]*Report{
		"ends": {Ends: true, Nodes: []world.DrainedNode{
			{Node: "n1", Ends: true, Evicted: []cluster.PodRef{{Namespace: "default", Name: "web-1"}}, Placed: []placement.RecoveredPod{{PodRef: cluster.PodRef{Namespace: "default", Name: "web-2"}, Node: "n3"}}},
			{Node: "n2", Ends: true},
		}},
		"pending": {Ends: true, Nodes: []world.DrainedNode{
			{Node: "n1", Ends: true, Evicted: []cluster.PodRef{{Namespace: "shop", Name: "web-1"}}, Pending: []world.PendingPod{{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-2"}, Wait: placement.Wait{Message: "no room"}}}}},
		}},
		"blocked": {Nodes: []world.DrainedNode{{Node: "n1", Blocked: []world.BlockedPod{pod("bare")}}, {Node: "n2", Ends: true}}},
		"order": {Searched: true, Nodes: []world.DrainedNode{{Node: "n1", Refused: []world.BlockedPod{pod("web-1")}}, {Node: "n2", Ends: true}},
			Order: []world.DrainedNode{{Node: "n2", Ends: true}, {Node: "n1", Ends: true, Evicted: []cluster.PodRef{{Namespace: "default", Name: "web-1"}}}}},
		"not-created": {Ends: true, Nodes: []world.DrainedNode{
			{Node: "n1", Ends: true, Evicted: []cluster.PodRef{{Namespace: "shop", Name: "web-1", Workload: "deployment/web"}, {Namespace: "shop", Name: "web-2", Workload: "deployment/web"}},
				Pending:    []world.PendingPod{{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-3", Workload: "deployment/web"}, Wait: placement.Wait{Message: "no room"}}}},
				NotCreated: []cluster.Refusal{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Pods: 1, Message: `Error creating: pods "web-" is forbidden: exceeded quota: q`}}},
		}},
		"several":  several(),
		"no-order": {Searched: true, Nodes: []world.DrainedNode{{Node: "n1", Refused: []world.BlockedPod{pod("web-1")}}, {Node: "n2", Ends: true}}},
	} {
		r.APIVersion, r.Kind, r.Ties = report.APIVersion, Kind, "upstream"
		for _, format := range Formats.Names() {
			var out bytes.Buffer
			if err := Formats.Write(&out, r, format, report.Options{}); err != nil {
				t.Fatal(err)
			}
			if format == "json" {
				if err := reporttest.Validate(t, schema, out.String()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if format == "text" {
				reporttest.Golden(t, ""+name+".text", out.String())
			}
		}
	}
}

// several returns a drain of a node with more pods than are named one by one: 4 of web are evicted, 5 of 2 workloads stay for the same
// reason, and of the 2 without a node one had none before.
func several() *Report {
	n := world.DrainedNode{Node: "n1", Pending: []world.PendingPod{
		{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: "giant-1", Workload: "deployment/giant"}, Wait: placement.Wait{Message: "too large"}}, Before: true},
		{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-4b", Workload: "deployment/web"}, Wait: placement.Wait{Message: "no room"}}},
	}}
	for _, name := range []string{"web-1", "web-2", "web-3", "web-4"} {
		n.Evicted = append(n.Evicted, cluster.PodRef{Namespace: "shop", Name: name, Workload: "deployment/web"})
	}
	for i, node := range []string{"n2", "n3", "n2"} {
		n.Placed = append(n.Placed, placement.RecoveredPod{PodRef: cluster.PodRef{Namespace: "shop", Name: n.Evicted[i].Name + "b", Workload: "deployment/web"}, Node: node})
	}
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		n.Refused = append(n.Refused, world.BlockedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: name, Workload: "statefulset/db"}, Reason: "because"})
	}
	for _, name := range []string{"etcd-0", "etcd-1"} {
		n.Refused = append(n.Refused, world.BlockedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: name, Workload: "statefulset/etcd"}, Reason: "because"})
	}
	return &Report{Nodes: []world.DrainedNode{n}}
}

// aDrain returns a drain of two nodes that does not end in the given order, and ends in another.
func aDrain() *Report {
	return &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream"}, Searched: true,
		Nodes: []world.DrainedNode{
			{Node: "n1", Refused: []world.BlockedPod{{PodRef: cluster.PodRef{Namespace: "default", Name: "web-1"}, Reason: "Cannot evict pod as it would violate the pod's disruption budget."}}},
			{Node: "n2", Ends: true, Evicted: []cluster.PodRef{{Namespace: "default", Name: "db-0", Workload: "statefulset/db"}},
				Placed: []placement.RecoveredPod{{PodRef: cluster.PodRef{Namespace: "default", Name: "web-2", Workload: "deployment/web"}, Node: "n3"}},
				Pending: []world.PendingPod{
					{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "default", Name: "db-0", Workload: "statefulset/db"}, Wait: placement.Wait{Message: "0/3 nodes are available: 3 node(s) were unschedulable."}}},
					{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "default", Name: "giant"}, Wait: placement.Wait{Message: "0/3 nodes are available: 3 Insufficient cpu."}}, Before: true},
				}},
		},
		Order: []world.DrainedNode{{Node: "n2", Ends: true}, {Node: "n1", Ends: true, Evicted: []cluster.PodRef{{Namespace: "default", Name: "web-1"}}}},
	}
}

func TestDrainMarkdown(t *testing.T) {
	reporttest.Golden(t, "drain.markdown", reporttest.Write(t, Formats, aDrain(), "markdown", report.Options{}))
}

func hostileDrain() *Report {
	const h = reporttest.Hostile
	node := world.DrainedNode{Node: h, Evicted: []cluster.PodRef{{Namespace: h, Name: h, Workload: h}}, Blocked: []world.BlockedPod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Reason: h}}, Refused: []world.BlockedPod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Reason: h}},
		Placed: []placement.RecoveredPod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Node: h}}, Pending: []world.PendingPod{{StrandedPod: placement.StrandedPod{PodRef: cluster.PodRef{Namespace: h, Name: h}, Wait: placement.Wait{Message: h}}}}, NotCreated: []cluster.Refusal{{Ref: cluster.Ref{Kind: h, Namespace: h, Name: h}, Pods: 1, Message: h}}}
	return &Report{Head: report.Head{Scenario: h}, Nodes: []world.DrainedNode{node, node}, Order: []world.DrainedNode{node}}
}

func TestDrainMarkdownHostile(t *testing.T) {
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, hostileDrain(), "markdown", report.Options{}))
}

// Even the largest report fits a comment, and counts what is left out.
func TestDrainMarkdownIsBounded(t *testing.T) {
	r := hostileDrain()
	for len(r.Nodes[0].Evicted) < 5000 {
		r.Nodes[0].Evicted = append(r.Nodes[0].Evicted, r.Nodes[0].Evicted[0])
	}
	for len(r.Nodes) < 500 {
		r.Nodes = append(r.Nodes, r.Nodes[0])
	}
	reporttest.CheckBounded(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}), "rows")
}

// Reading a written report gives the same report, and reading it as another kind is an error.
func TestDrainRoundTrip(t *testing.T) {
	want := aDrain()
	for _, format := range []string{"json", "yaml"} {
		var out bytes.Buffer
		if err := Formats.Write(&out, want, format, report.Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := report.Decode[Report]("r", out.Bytes(), Kind)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if _, err := report.Decode[Report]("r", out.Bytes(), "Report"); err == nil || !strings.Contains(err.Error(), "give a report of apiVersion faultline/v1alpha1 and kind Report") {
			t.Errorf("%s is taken for a Report: %v", format, err)
		}
	}
}

// Nodes whose drain does not end come first, with the reason.
func TestBars(t *testing.T) {
	stays := world.BlockedPod{PodRef: cluster.PodRef{Name: "db-0"}, Reason: "the budget db"}
	r := &Report{Nodes: []world.DrainedNode{{Node: "a", Ends: true, Evicted: make([]cluster.PodRef, 4)}, {Node: "b", Evicted: make([]cluster.PodRef, 1), Refused: []world.BlockedPod{stays, stays}}}}
	want := []doc.BarRow{{Name: "b", Values: []int{1, 2}, Note: "does not end"}, {Name: "a", Values: []int{4, 0}, Note: "ends"}}
	if diff := cmp.Diff(want, bars(r).Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
