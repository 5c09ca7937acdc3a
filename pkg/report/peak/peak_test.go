package peak

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

const zone = "topology.kubernetes.io/zone"

func of(name string) cluster.WorkloadRef {
	return cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/" + name}
}

// answer has pods without a node at the peak and after its losses, a group that ends short, and a change that is enough.
func answer() *peak.Answer {
	price := 1.8
	room := []peak.Room{{Resource: "cpu", Free: 0.146}, {Resource: "memory", Free: 0.5}}
	next := peak.Point{Share: 0.84, Short: 0, AfterLoss: 2, Level: zone, Domain: "b", Losses: 1}
	return &peak.Answer{
		Survive: []string{zone}, Mode: node.Unreachable, Share: 1, PendingBefore: 4, StillPending: 3, Now: 200, Pods: 415, Short: 37, NotCreated: 2, Room: room,
		Losses:    []peak.Loss{{Level: zone, Domain: "b", Short: 61, Unreplaced: 2, Room: room}, {Level: zone, Domain: "a", Short: 40, Room: room}},
		Workloads: []peak.Workload{{WorkloadRef: of("web"), Autoscaler: "web", Now: 10, Max: 60, Wanted: 60, Running: 30, AfterLoss: 20}, {WorkloadRef: of("api"), Autoscaler: "api", Now: 2, Max: 9, Wanted: 9, Running: 9, AfterLoss: 9}},
		CronJobs:  []cronjob.CronJob{{Namespace: "shop", Name: "nightly", Schedule: "0 3 * * *", When: "every day at 03:00", Pods: 3}}, Hour: "2024-10-23T03:00Z",
		Idle:     []peak.Idle{{Namespace: "shop", Name: "gone", Why: "the input has no shop/deployment/gone"}},
		Starved:  []peak.Starved{{WorkloadRef: of("web"), Priority: 10, Grows: true, Short: 30, AfterLoss: 50, Ceiling: "1 cpu asked and at most 0 free on 9 nodes"}, {WorkloadRef: of("batch"), Short: 7, AfterLoss: 11, Lost: 7, Ceiling: "500m cpu asked and at most 0 free on 9 nodes", By: []peak.By{{WorkloadRef: of("web"), Pods: 7, Priority: 10}}, Preempts: true}},
		Ceilings: []peak.Ceiling{{Kind: "groupMaximum", What: "the maximum of general of 12", Pods: 37, Workloads: []cluster.WorkloadRef{of("web"), of("batch")}}},
		Groups:   []peak.Group{{Name: "general", Now: 6, Peak: 12, AfterLoss: 12, Max: 12, Needed: 21}, {Name: "gpu", Now: 1, Peak: 1, AfterLoss: 1, Max: 3, Needed: 1}},
		Curve:    []peak.Point{{Share: 0, Replicas: 12, Pods: 200, Losses: 1}, {Share: 0.5, Replicas: 41, Pods: 300, Losses: 1}, {Share: 1, Replicas: 69, Pods: 415, Short: 37}},
		Safe:     &peak.Safe{Share: 0.83, Next: &next, Tried: []float64{0, 0.5, 0.83, 0.84, 1}, Losses: 2, Of: 2},
		Remedies: []peak.Remedy{
			{Kind: "raise", What: "a higher maximum of general from 12 to 21", Raise: []peak.Raise{{Group: "general", From: 12, To: 21}}, Nodes: 9, Price: &price, Losses: 2},
			{Kind: "priority", What: "priority class high for shop/deployment/batch", Commands: []string{"kubectl patch deployment/batch -n shop"}, Short: 37, AfterLoss: 61, Level: zone, Domain: "b", Losses: 2, Saves: []cluster.WorkloadRef{of("batch")}},
			{Kind: "larger", What: "nodes of twice the size in place of 9 general/a", Replace: []peak.Replacement{{Group: "general", Zone: "a", Nodes: []string{"a-1"}, CPU: "8", Memory: "32Gi", Pods: "110"}}, Price: new(2.4), Losses: 2, Beaten: true},
			{Kind: "buffer", What: "a CapacityBuffer for 60 further pods of shop/deployment/web, for which an autoscaler adds 9 nodes", Buffers: []peak.Buffer{{WorkloadRef: of("web"), Replicas: 60}}, Price: &price, Losses: 2},
			{Kind: "lower", What: "83 % of the growth of 1 HorizontalPodAutoscaler", GivesUp: 9, Losses: 2},
		},
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply")
	reporttest.Formats(t, Formats, New(result, answer(), "v0.1.0"), "short", "peak-report", Kind)
	reporttest.Formats(t, Formats, New(result, &peak.Answer{Mode: node.Unreachable, Share: 1, Now: 3, Pods: 3, Room: []peak.Room{{Resource: "cpu", Free: 0.29}}}, "v0.1.0"), "none", "peak-report", Kind)
}

// The first line answers the question, and says what is short.
func TestVerdict(t *testing.T) {
	change := func(edit func(*peak.Answer)) *peak.Answer {
		a := answer()
		edit(a)
		return a
	}
	only := func(c peak.Ceiling) func(*peak.Answer) {
		return func(a *peak.Answer) { a.Groups, a.Remedies, a.Ceilings = nil, nil, []peak.Ceiling{c} }
	}
	const no = "No: at peak 37 of 412 pods have no node (3 others were Pending before), 61 if zone b is lost"
	yes := func(edit func(*peak.Answer)) *peak.Answer {
		return change(func(a *peak.Answer) {
			a.Short, a.StillPending, a.Pods = 0, 0, 412
			for i := range a.Losses {
				a.Losses[i].Short, a.Losses[i].Room = 0, []peak.Room{{Resource: "cpu", Free: 0.3 - 0.1*float64(i)}}
			}
			a.Room = []peak.Room{{Resource: "memory", Free: 0.4}}
			edit(a)
		})
	}
	for want, a := range map[string]*peak.Answer{
		no + "; the node group general ends 9 nodes short.":        answer(),
		no + "; the ResourceQuota shop/compute refuses 12 pods.":   change(only(peak.Ceiling{Kind: "quota", What: "ResourceQuota shop/compute", Pods: 12})),
		no + "; CPU is used up, and nothing adds nodes that help.": change(only(peak.Ceiling{Kind: "nodes", What: "cpu", Pods: 37})),
		no + "; what binds is the spread over zone.":               change(only(peak.Ceiling{Kind: "rule", What: "the spread over zone", Pods: 37})),
		no + ".": change(only(peak.Ceiling{Kind: "other", What: "its controller has not made them", Pods: 37})),
		no + "; 3 more nodes are enough.": change(func(a *peak.Answer) {
			only(peak.Ceiling{Kind: "nodes", What: "cpu", Pods: 37})(a)
			a.Remedies = []peak.Remedy{{Kind: "nodes", What: "3 more nodes", Nodes: 3}}
		}),
		"No: at 80 % of the way to the peak 1 of 412 pods has no node (3 others were Pending before); the node group general ends 9 nodes short.":             change(func(a *peak.Answer) { a.Share, a.Short, a.Losses = 0.8, 1, nil }),
		"No: at peak all 412 pods have a node (3 others were Pending before), but 61 have none if zone b is lost; the node group general ends 9 nodes short.": change(func(a *peak.Answer) { a.Short = 0 }),
		"Yes: at peak all 412 pods have a node, also if any zone is lost; 20 % of CPU is left without the worst zone, a.":                                     yes(func(*peak.Answer) {}),
		"Yes: at peak all 412 pods have a node; 40 % of memory is left.":                                                                                      yes(func(a *peak.Answer) { a.Losses = nil }),
		"Yes: at peak, where nothing grows, all 412 pods have a node; 40 % of memory is left.":                                                                yes(func(a *peak.Answer) { a.Losses, a.Workloads, a.CronJobs = nil, nil, nil }),
	} {
		if diff := cmp.Diff(want, document(&Report{Answer: *a}, report.Options{}).Answer()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	ref := cluster.WorkloadRef{Namespace: h, Workload: h}
	r := &Report{Head: report.Head{Scenario: h}, Answer: peak.Answer{
		Survive: []string{h}, Share: 1, Short: 1, Losses: []peak.Loss{{Level: h, Domain: h, Short: 2, Room: []peak.Room{{Resource: h}}}}, Workloads: []peak.Workload{{WorkloadRef: ref, Autoscaler: h}},
		Idle: []peak.Idle{{Namespace: h, Name: h, Why: h}}, CronJobs: []cronjob.CronJob{{Namespace: h, Name: h}}, Starved: []peak.Starved{{WorkloadRef: ref, Ceiling: h, By: []peak.By{{WorkloadRef: ref}}}},
		Ceilings: []peak.Ceiling{{Kind: "rule", What: h, Workloads: []cluster.WorkloadRef{ref}}}, Groups: []peak.Group{{Name: h, Needed: 1}},
		Curve: []peak.Point{{Level: h, Domain: h}}, Safe: &peak.Safe{Next: &peak.Point{Level: h, Domain: h, AfterLoss: 1}},
		Remedies: []peak.Remedy{{Kind: "nodes", What: h, Commands: []string{h}, Short: 1, AfterLoss: 2, Level: h, Domain: h, Saves: []cluster.WorkloadRef{ref}}},
	}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
