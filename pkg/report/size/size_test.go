package size

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// sized is a group of 5 nodes in two zones, of which 3 will do, and a control plane that is kept.
func sized(t *testing.T, counts [][]int) *Report {
	t.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-3"}}
	return New(reporttest.Result(t, nil).Scenario, reporttest.Nodes("a-1", "a-2", "a-3", "b-1", "b-2", "cp-1"), &capacity.Sizing{
		Counts: counts, Priced: true, Cost: 0.75, Before: 1.25, Proven: counts != nil, Tried: 12, Unbound: 1, Foreign: 2,
		Groups: []capacity.Group{
			{Name: "small", Priced: true, Price: 0.25, Zones: []capacity.Zone{{Name: "a", Nodes: reporttest.Nodes("a-1", "a-2", "a-3")}, {Name: "b", Nodes: reporttest.Nodes("b-1", "b-2")}}},
			{Name: "control plane", Kept: true, Zones: []capacity.Zone{{Nodes: reporttest.Nodes("cp-1")}}},
		},
		Aside: []capacity.Aside{
			{Workload: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "giant"}, Pods: 2, Empty: true, Refused: &placement.Pending{Pod: pod, Message: "0/6 nodes are available: 6 Insufficient cpu."}},
			{Workload: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "apart"}, Pods: 1, Refused: &placement.Pending{Pod: pod}},
			{Workload: cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"}, Level: v1.LabelTopologyZone, Domain: "a", Pods: 1, Refused: &placement.Pending{Pod: pod, Message: "volume node affinity conflict"}},
			{Workload: cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"}, Level: v1.LabelTopologyZone, Domain: "b", Pods: 1, Refused: &placement.Pending{Pod: pod, Message: "volume node affinity conflict"}},
		},
		Fewer: []capacity.Fewer{
			{Group: "small", Zone: "a", Stranded: 1, Refused: &placement.Pending{Pod: pod, Message: "0/3 nodes are available: 3 Insufficient cpu."}},
			{Group: "small", Level: v1.LabelTopologyZone, Domain: "b", Stranded: 2, Refused: &placement.Pending{Pod: pod}},
		},
	}, []capacity.Safety{{
		Level: v1.LabelTopologyZone, Domains: 2, Lacks: []capacity.Lack{{Group: "small", Zone: "b", Nodes: 1}},
		Unsafe: []capacity.Unsafe{{Domain: "a", Pods: 2, Refused: &placement.Pending{Pod: pod, Message: "0/6 nodes are available: 6 Insufficient cpu."}}},
	}}, capacity.SizeOptions{Free: true, Options: capacity.Options{Survive: []string{v1.LabelTopologyZone}, Mode: node.Unreachable}}, "v0.1.0")
}

// By hand: 2 of 3 nodes in zone a and 1 of 2 in zone b are 3 of 5. The control plane's is not counted.
func TestFormats(t *testing.T) {
	r := sized(t, [][]int{{2, 1}, {1}})
	reporttest.Formats(t, Formats, r, "found", "size-report", Kind)
	reporttest.Has(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"3 nodes at 0.75 an hour will do: every pod but 3 has a node, also after the loss of any zone but for what is set aside. The scenario has 5 at 1.25.",
		"Set aside: 2 pods of deployment/giant fit on no node, even when it is empty: 0/6 nodes are available: 6 Insufficient cpu.",
		"Set aside: 1 pod of deployment/apart has no node, nor with twice the nodes: kube-scheduler gave no message",
		"Set aside: 1 pod of statefulset/db is not back after the loss of zone a or b, nor with twice the nodes: volume node affinity conflict",
		"1 pod had a node and was placed again.",
		"2 pods of other schedulers are left out.",
		"small                  a        2       3        0.25",
		"control plane (kept)   <none>   1       1        <none>",
		"With one small fewer in zone a, 1 pod has no node; the first is web-3",
		"With one small fewer in each zone, after the loss of zone b, 2 pods have no node; the first is web-3",
	)
}

// What keeps the zones equal says so, and what their difference would save: 2 of 4 nodes are enough where zone b has none.
func TestEven(t *testing.T) {
	nodes := reporttest.Nodes("a-1", "b-1")
	r := New(reporttest.Result(t, nil).Scenario, nodes, &capacity.Sizing{
		Counts: [][]int{{2, 2}}, Priced: true, Cost: 1, Before: 0.5, Proven: true, Uneven: [][]int{{2, 0}}, UnevenCost: 0.5,
		Groups: []capacity.Group{{Name: "small", Priced: true, Price: 0.25, Zones: []capacity.Zone{{Name: "a", Nodes: nodes[:1]}, {Name: "b", Nodes: nodes[1:]}}}},
	}, nil, capacity.SizeOptions{}, "v0.1.0")
	reporttest.Formats(t, Formats, r, "even", "size-report", Kind)
	reporttest.Has(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"4 nodes at 1 an hour will do, as many of a group in each of its zones: every pod has a node. The scenario has 2 at 0.5.",
		"With numbers that differ from zone to zone 2 nodes at 0.5 an hour will do: 2 of small in a; simulate size --free searches for the fewest of these.",
	)
}

func TestNothingWillDo(t *testing.T) {
	r := sized(t, nil)
	reporttest.Formats(t, Formats, r, "none", "size-report", Kind)
	reporttest.Has(t, reporttest.Write(t, Formats, r, "text", report.Options{}), "small                  a        <none>   3        0.25")
	if r.Found || r.Nodes != 0 || r.Before != 5 || r.Cost != nil {
		t.Errorf("found %t, %d of %d nodes at %v", r.Found, r.Nodes, r.Before, r.Cost)
	}
}

func TestMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile
	r := &Report{Head: report.Head{Scenario: h}, Survive: []string{h}, Aside: []Aside{{Workload: h, Domain: h, Level: h, Message: h}}, Groups: []Group{{Name: h, Zones: []Zone{{Zone: h}}}}, Fewer: []Fewer{{Group: h, Zone: h, Level: h, Domain: h, Pod: h, Message: h}}}
	reporttest.Harmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
