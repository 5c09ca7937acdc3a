package size

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// sized returns a report on a group of 5 nodes in two zones, and a control plane that is kept.
func sized(t *testing.T, found bool, a, b, kept int) *Report {
	t.Helper()
	cost, before, price := 0.75, 1.25, 0.25
	sizing := &capacity.Sizing{
		Found: found, Survive: []string{v1.LabelTopologyZone}, Mode: string(node.Unreachable),
		Safety: []capacity.Safety{{
			Level: v1.LabelTopologyZone, Domains: 2,
			Unsafe: []capacity.Unsafe{{Domain: "a", Pods: 2, Pod: "default/web-3", Message: "0/6 nodes are available: 6 Insufficient cpu."}},
		}},
		Nodes: a + b, Before: 5, CostBefore: &before, Proven: found, Tried: 12, Pods: 12, Unbound: 1, Foreign: 2,
		Groups: []capacity.Group{
			{Name: "small", Price: &price, Zones: []capacity.Zone{{Zone: "a", Nodes: a, Before: 3}, {Zone: "b", Nodes: b, Before: 2}}},
			{Name: "control plane", Kept: true, Zones: []capacity.Zone{{Nodes: kept, Before: 1}}},
		},
		Aside: []capacity.Aside{
			{Workload: "deployment/giant", Pods: 2, Empty: true, Pod: "default/web-3", Message: "0/6 nodes are available: 6 Insufficient cpu."},
			{Workload: "deployment/apart", Pods: 1, Pod: "default/web-3"},
			{Workload: "statefulset/db", Level: v1.LabelTopologyZone, Domain: "a", Pods: 1, Pod: "default/web-3", Message: "volume node affinity conflict"},
			{Workload: "statefulset/db", Level: v1.LabelTopologyZone, Domain: "b", Pods: 1, Pod: "default/web-3", Message: "volume node affinity conflict"},
		},
		Fewer: []capacity.Fewer{
			{Group: "small", Zone: "a", Stranded: 1, Pod: "default/web-3", Message: "0/3 nodes are available: 3 Insufficient cpu."},
			{Group: "small", Level: v1.LabelTopologyZone, Domain: "b", Stranded: 2, Pod: "default/web-3"},
		},
	}
	if found {
		sizing.Cost = &cost
	}
	return New(reporttest.Result(t, nil).Scenario, reporttest.Nodes("a-1", "a-2", "a-3", "b-1", "b-2", "cp-1"), sizing, "v0.1.0")
}

// By hand: 2 of 3 nodes in zone a and 1 of 2 in zone b are 3 of 5. The control plane's node is not counted.
func TestFormats(t *testing.T) {
	r := sized(t, true, 2, 1, 1)
	reporttest.Formats(t, Formats, r, "found", "size-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
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

// The report says that the zones are equal, and what different numbers would save: 2 of 4 nodes suffice if zone b has none.
func TestEven(t *testing.T) {
	cost, before, less, price := 1.0, 0.5, 0.5, 0.25
	group := func(b int) []capacity.Group {
		return []capacity.Group{{Name: "small", Price: &price, Zones: []capacity.Zone{{Zone: "a", Nodes: 2, Before: 1}, {Zone: "b", Nodes: b, Before: 1}}}}
	}
	r := New(reporttest.Result(t, nil).Scenario, reporttest.Nodes("a-1", "b-1"), &capacity.Sizing{
		Found: true, Groups: group(2), Even: true, Nodes: 4, Before: 2, Cost: &cost, CostBefore: &before, Proven: true,
		Uneven: &capacity.Cheaper{Nodes: 2, Cost: &less, Groups: group(0)},
	}, "v0.1.0")
	reporttest.Formats(t, Formats, r, "even", "size-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"4 nodes at 1 an hour will do, as many of a group in each of its zones: every pod has a node while none fails. The scenario has 2 at 0.5.",
		"With numbers that differ from zone to zone 2 nodes at 0.5 an hour will do: 2 of small in a; simulate size --free searches for the fewest of these.",
	)
}

func TestNothingWillDo(t *testing.T) {
	r := sized(t, false, 0, 0, 0)
	reporttest.Formats(t, Formats, r, "none", "size-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}), "small                  a        <none>   3        0.25")
}

// The first line is the answer, also if no node is needed, and if no number helps.
func TestFirstLine(t *testing.T) {
	group := func(kept, plane bool, before int) capacity.Group {
		return capacity.Group{Name: "g", Kept: kept, ControlPlane: plane, Zones: []capacity.Zone{{Before: before}}}
	}
	planes, cordoned, workers := group(true, true, 3), group(true, false, 2), group(false, false, 4)
	aside := []capacity.Aside{{Workload: "deployment/web", Pods: 3, Empty: true}}
	for want, sizing := range map[string]capacity.Sizing{
		"No node besides the 3 control planes is needed: every pod has a node while none fails.":                        {Found: true, Pods: 4, Groups: []capacity.Group{planes}},
		"No node besides the 5 that stay is needed: every pod has a node while none fails. The scenario has 4 more.":    {Found: true, Pods: 4, Before: 4, Groups: []capacity.Group{planes, cordoned, workers}},
		"No node besides the one that stays is needed: every pod has a node while none fails. The scenario has 4 more.": {Found: true, Pods: 4, Before: 4, Groups: []capacity.Group{group(true, false, 1), workers}},
		"No node is needed: every pod has a node while none fails. The scenario has 4.":                                 {Found: true, Before: 4, Groups: []capacity.Group{workers}},
		"It takes more than the control plane so that every pod has a node, also after the loss of any node. Give a node of a group that may grow, or name theirs with --group.": {Pods: 4,
			Survive: []string{v1.LabelHostname}, Groups: []capacity.Group{group(true, true, 1)}},
		"No number of these nodes is enough: 3 of 3 pods have no node, however many there are.": {Pods: 3, Aside: aside, Before: 4, Groups: []capacity.Group{workers}},
		"No number of these nodes is enough: 3 of 4 pods have no node, however many there are. No node besides the 3 control planes is needed for the other one.": {Found: true, Pods: 4, Aside: aside, Before: 4,
			Groups: []capacity.Group{planes, workers}},
		"No number of these nodes is enough: 3 of 5 pods have no node, however many there are. No node besides the 3 control planes is needed for the other 2.": {Found: true, Pods: 5, Aside: aside, Before: 4,
			Groups: []capacity.Group{planes, workers}},
		"2 nodes will do: every pod but 3 has a node while none fails. The scenario has 4.": {Found: true, Pods: 5, Aside: aside, Nodes: 2, Before: 4, Groups: []capacity.Group{planes, workers}},
	} {
		r := &Report{Sizing: sizing}
		if got := document(r, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile
	r := &Report{report.Head{Scenario: h}, capacity.Sizing{Survive: []string{h}, Aside: []capacity.Aside{{Workload: h, Domain: h, Level: h, Message: h}}, Groups: []capacity.Group{{Name: h, Zones: []capacity.Zone{{Zone: h}}}}, Fewer: []capacity.Fewer{{Group: h, Zone: h, Level: h, Domain: h, Pod: h, Message: h}}}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}

// 2 of 3 nodes stay in zone a, and zone b gets a third.
func TestBars(t *testing.T) {
	want := []doc.BarRow{
		{Name: "small in a", Values: []int{2, 0, 1}, Note: "2 needed, 3 now"}, {Name: "small in b", Values: []int{2, 1, 0}, Note: "3 needed, 2 now"},
		{Name: "control plane", Values: []int{1, 0, 0}, Note: "1 kept"},
	}
	if diff := cmp.Diff(want, bars(sized(t, true, 2, 3, 1)).Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
