package capacity

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// mixes returns one of every kind: more that fit, with what prevents the next; no more; not even the present ones; and a search that
// stopped.
func mixes() []capacity.Mix {
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	db := cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"}
	return []capacity.Mix{
		{
			Name: "deployment/web", Workloads: []capacity.Share{{Ref: web, Proportion: 1, Now: 3, Most: 4}},
			Fit: capacity.Limit{More: 2, Stranded: 1, Pod: "default/web-6", Message: "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) had untolerated taint(s).", Probes: 5,
				Binds:  []capacity.Binding{{Kind: "cpu", What: "cpu", Plugin: "NodeResourcesFit", Message: "Insufficient cpu", Nodes: 2}, {Kind: "taint", What: "taint", Nodes: 1}},
				Uneven: []capacity.Uneven{{Fits: 5, DoesNot: 4}}},
			Survive: []capacity.Limit{{Level: v1.LabelTopologyZone, More: 1, Domain: "a", Stranded: 2, Pod: "default/web-5", Message: "no room", Unreplaced: 1,
				Binds: []capacity.Binding{{Kind: "cpu", What: "cpu", Nodes: 1}}}},
			Headroom: []capacity.Headroom{
				{Resource: v1.ResourceCPU, Allocatable: 12, Requested: 4.5, Free: 7.5, Used: 5, TooSmall: 1.5, OtherShort: 0.75, Refused: 0.25},
				{Resource: v1.ResourceMemory, Allocatable: 24 << 30, Requested: 8 << 30, Free: 16 << 30, Used: 3 << 29, TooSmall: 0, OtherShort: 14 << 30, Refused: 1 << 29},
			},
		},
		{Name: "statefulset/db", Workloads: []capacity.Share{{Ref: db, Proportion: 1, Now: 5}}, Fit: capacity.Limit{Short: true, Why: "a pod of it is lost."},
			Survive: []capacity.Limit{{Level: v1.LabelTopologyZone, Short: true}}},
		{Name: "deployment/web=2,statefulset/db=1", Workloads: []capacity.Share{{Ref: web, Proportion: 2, Now: 3}, {Ref: db, Proportion: 1, Now: 5}},
			Fit: capacity.Limit{Capped: true, More: 1000}, Survive: []capacity.Limit{{Level: "rack"}}},
	}
}

func asked(t *testing.T) *Report {
	t.Helper()
	return New(reporttest.Result(t, reporttest.Nodes("a-1", "b-1", "c-1"), "apply"), mixes(), []capacity.Safety{
		{Level: v1.LabelTopologyZone, Domains: 3,
			Unsafe: []capacity.Unsafe{{Domain: "a", Pods: 3, Pod: "default/web-1", Message: "no room"}, {Domain: "b", Pods: 2, Pod: "default/web-2", Message: "a rule"}, {Domain: "c", Pods: 2, Pod: "default/web-3", Message: "a rule"}}},
		{Level: "rack", Domains: 2, Safe: true, Unreplaced: 1},
	}, capacity.Options{Survive: []string{v1.LabelTopologyZone}, Mode: node.Deleted}, "v0.1.0")
}

// By hand: 3 replicas and 2 more are 5; the 3rd more does not fit. A unit of the mix holds 2 of web and 1 of db.
func TestFormats(t *testing.T) {
	r := asked(t)
	reporttest.Formats(t, Formats, r, "answers", "capacity-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"deployment/web: 2 more replicas fit (5 in all); the 3rd stays Pending: cpu on 2 of 3 nodes, taint on 1.",
		"  The HorizontalPodAutoscaler of deployment/web allows it 4.",
		"  While any zone may fail: 1 more replica fits (4 in all); with the 2nd, the loss of zone a leaves 2 pods without a node: cpu on 1 of 3 nodes.",
		"  Warning: 5 more fit, but 4 do not: this is below the smallest count that is known not to fit.",
		"statefulset/db: no more fit: not even the 5 that it asks for now have a node: a pod of it is lost.",
		"deployment/web=2,statefulset/db=1: at least 1000 more units fit (2003 and 1005 in all); the search stopped there (see --up-to).",
		"  While any rack may fail: no more (3 and 5 in all).",
		"  cpu (cores)   12            4.5         7.5    5              1.5         750m          250m",
		"  memory        24Gi          8Gi         16Gi   1.5Gi          0           14Gi          512Mi",
		"Safe now: no. simulate plan --survive zone finds what to add.",
		"  The loss of zone a leaves 3 pods Pending: no room",
		"  The loss of zone b or c leaves 2 pods Pending: a rule",
		"Safe now: yes. Whichever of the 2 racks is lost, every pod that needs another node gets one. Up to 1 pod is not replaced.",
		"    FailedScheduling  no room",
	)
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		resource v1.ResourceName
		n        float64
		want     string
	}{{"cpu", 0.25, "250m"}, {"cpu", 3.5, "3.5"}, {"cpu", 12, "12"}, {"cpu", 1096.15, "1,096"}, {"pods", 13200, "13,200"}, {"memory", 1.5 * (1 << 30), "1.5Gi"}, {"memory", 1 << 40, "1Ti"}, {"memory", 100, "100"}, {"hugepages-2Mi", 4 << 20, "4Mi"}, {"example.com/gpu", 2, "2"}} {
		if got := doc.Quantity(c.resource, c.n); got != c.want {
			t.Errorf("%v of %s is %s, want %s", c.n, c.resource, got, c.want)
		}
	}
}

// The workloads with the least room come first, and a sentence counts those without room.
func TestTightestFirst(t *testing.T) {
	r := &Report{Mode: "unreachable"}
	for _, fit := range []capacity.Limit{{More: 7}, {More: 100, Capped: true}, {Short: true}, {More: 2}} {
		r.Mixes = append(r.Mixes, capacity.Mix{Name: fmt.Sprintf("deployment/w%d", len(r.Mixes)), Workloads: []capacity.Share{{Proportion: 1, Now: 1}}, Fit: fit})
	}
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"No more fit of 1 of 4 workloads: deployment/w2.",
		"Of each of the other 3 workloads at least 2 more fit.",
		"The tightest are listed first, and --workload shows the limit of one in full.",
	)
	var names []string
	for _, m := range r.sortTightest() {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"deployment/w2", "deployment/w3", "deployment/w0", "deployment/w1"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile
	limit := capacity.Limit{Level: h, Domain: h, Pod: h, Message: h, Why: h, Stranded: 1, Binds: []capacity.Binding{{What: h, Message: h, Nodes: 1}}}
	r := &Report{Head: report.Head{Scenario: h}, Safety: []capacity.Safety{{Level: h, Unsafe: []capacity.Unsafe{{Domain: h, Message: h}}}}, Mixes: []capacity.Mix{{Name: h, Fit: limit, Survive: []capacity.Limit{limit}, Headroom: []capacity.Headroom{{Resource: h}}}, {Name: h}}, Largest: []capacity.Pod{{By: h, Node: h}}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}

// Of 7 more replicas 2 are safe, for 50 or more no failure was tried, and the tightest workloads come first.
func TestBars(t *testing.T) {
	r := &Report{Nodes: 3, Mixes: []capacity.Mix{
		{Name: "deployment/web", Fit: capacity.Limit{More: 7, Binds: []capacity.Binding{{What: "cpu", Nodes: 3}}}, Survive: []capacity.Limit{{Level: v1.LabelTopologyZone, More: 2}}},
		{Name: "deployment/none", Fit: capacity.Limit{Short: true}, Survive: []capacity.Limit{{Level: v1.LabelTopologyZone, Short: true}}},
		{Name: "deployment/many", Fit: capacity.Limit{More: 50, Capped: true}},
	}}
	want := []doc.BarRow{
		{Name: "deployment/none", Values: []int{0, 0}, Note: "not even now"},
		{Name: "deployment/web", Values: []int{2, 5}, Note: "cpu on 3 of 3 nodes"},
		{Name: "deployment/many", Values: []int{0, 50}, Note: "at least 50, with no look at failures"},
	}
	if diff := cmp.Diff(want, bars(r).Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
