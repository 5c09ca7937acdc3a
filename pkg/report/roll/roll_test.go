package roll

import (
	"encoding/json"
	"testing"

	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/world"
)

func ref(name string) cluster.PodRef {
	return cluster.PodRef{Namespace: "shop", Name: name, Workload: "deployment/web"}
}

func sample(nodes, unavailable, pending int, price float64) roll.Sample {
	return roll.Sample{Total: nodes, Unavailable: unavailable, Pending: pending, Price: &price}
}

// done returns a roll of two nodes that ends.
func done() *roll.Answer {
	return &roll.Answer{
		Pool: "pool=general", Surge: 1, Order: roll.ByName, Nodes: 2, Replaced: 2, Seconds: 7800, Evicted: 640,
		Moves: []roll.Moves{{Moves: 1, Pods: 612}, {Moves: 2, Pods: 14}}, MostPending: 3,
		Waited: []roll.Wait{{PodRef: ref("web-1"), Seconds: 30, Turn: 1}, {PodRef: ref("web-2"), Seconds: 5, Turn: 2}},
		Worst: &roll.Moment{Turn: 1, Seconds: 121, Unavailable: 4, Pending: 3, Workloads: []roll.Lack{
			{WorkloadRef: cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/web"}, Ready: 2, Of: 6},
		}},
		Delays: []roll.Delay{{Budget: "shop/web", Pods: 3, Seconds: 10}, {Budget: "shop/db", Pods: 1, Seconds: 5}},
		Levels: []roll.Level{{TopologyKey: "topology.kubernetes.io/zone", Start: roll.Spread{Radius: 0.5, Skew: 1}, Worst: &roll.Spread{Radius: 0.75, Skew: 3}, End: roll.Spread{Radius: 0.6, Skew: 2}}},
		Start:  sample(2, 0, 0, 1.5),
		Turns: []roll.Turn{
			{Old: []string{"a-1"}, New: []string{"a-1-new-1"}, Seconds: 3600, Evicted: 320, Sample: sample(2, 4, 3, 1.5)},
			{Old: []string{"b-1"}, Seconds: 4200, Evicted: 320, Sample: sample(2, 0, 1, 1.75)},
		},
	}
}

// stopped returns a roll that a budget stops at its second node.
func stopped() *roll.Answer {
	a := done()
	a.Replaced, a.Turns = 1, a.Turns[:1]
	a.Moves = []roll.Moves{{Moves: 1, Pods: 1}}
	a.Blocked = []roll.Blocked{{Turn: 2, Node: "b-1", Number: 2, Stays: []world.BlockedPod{{PodRef: ref("web-2"), Reason: "Cannot evict pod as it would violate the pod's disruption budget."}}, Budget: &roll.Budget{Name: "shop/web", Needs: 2, Healthy: 2}}}
	return a
}

// left returns a roll that ends with a pod without a node, and one that nothing replaces.
func left() *roll.Answer {
	a := done()
	a.Pending = []placement.StrandedPod{{PodRef: ref("web-3"), Wait: placement.Wait{Message: "0/2 nodes are available: 2 Insufficient cpu."}}}
	a.Lost, a.StillPending = []roll.Lost{{WorkloadRef: cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/web"}, Replicas: 1}}, 2
	a.NotReplaced = 1
	a.Plan = &roll.Plan{Remove: []string{"c-1"}, Patches: []roll.BudgetPatch{{Budget: roll.Budget{Name: "shop/web", Needs: 2, Healthy: 2}, Patch: json.RawMessage(`{"spec":{"maxUnavailable":1}}`),
		Command: `kubectl patch poddisruptionbudget/web -n shop --type=merge -p '{"spec":{"maxUnavailable":1}}'`}}}
	return a
}

func of(t *testing.T, answers ...*roll.Answer) *Report {
	return New(reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply"), answers, "v0.1.0")
}

func TestFormats(t *testing.T) {
	surge := done()
	surge.Surge, surge.Waited, surge.MostPending = 2, nil, 0
	for name, answers := range map[string][]*roll.Answer{"done": {done()}, "stopped": {stopped()}, "left": {left()}, "compared": {stopped(), done(), surge}} {
		reporttest.Formats(t, Formats, of(t, answers...), name, "roll-report", Kind)
	}
}

// The first line is the answer.
func TestVerdict(t *testing.T) {
	quiet, goesOn, one, bare, never := done(), stopped(), done(), stopped(), done()
	quiet.Waited, quiet.Moves = nil, nil
	goesOn.KeepsGoing = true
	more := stopped()
	more.KeepsGoing = true
	more.Blocked = append(more.Blocked, more.Blocked[0])
	more.Blocked[1].Budget = &roll.Budget{Name: "shop/cart", Healthy: 1, Needs: 1}
	one.Nodes, one.Turns = 1, one.Turns[:1]
	bare.Blocked[0].Budget = nil
	uncounted := stopped()
	uncounted.Blocked[0].Budget = &roll.Budget{Name: "shop/web"}
	never.Surge, never.Waited = 2, nil
	for want, answers := range map[string][]*roll.Answer{
		"Yes: all 2 nodes of pool=general are replaced in 2 turns (2 h 10 min); 612 pods move once, 14 twice; none is Pending for longer than 30 s.":                                                                              {done()},
		"Yes: all 2 nodes of pool=general are replaced in 2 turns (2 h 10 min); no pod moves; none is ever Pending.":                                                                                                              {quiet},
		"Yes: the one node of pool=general is replaced in 1 turn (2 h 10 min); 612 pods move once, 14 twice; none is Pending for longer than 30 s.":                                                                               {one},
		"No: shop/deployment/web lost a replica; after 1 node is removed and 1 budget is patched, all 2 nodes of pool=general are replaced in 2 turns (2 h 10 min); 612 pods move once, 14 twice; at most 3 are Pending at once.": {left()},
		"No: the roll of pool=general stops at node 2 of 2: budget shop/web allows no eviction (2 of 2 needed).":                                                                                                                  {stopped()},
		"No: the roll of pool=general stops at node 2 of 2: pod/web-2 of shop stays on node/b-1.":                                                                                                                                 {bare},
		"No: the roll of pool=general stops at node 2 of 2: budget shop/web allows no eviction (it cannot be computed).":                                                                                                          {uncounted},
		"No: 1 of 2 nodes of pool=general is replaced, and the drains of 1 do not end: budget shop/web allows no eviction (2 of 2 needed).":                                                                                       {goesOn},
		"No: 1 of 2 nodes of pool=general is replaced, and the drains of 2 do not end: budgets allow no eviction, such as shop/web (2 of 2 needed).":                                                                              {more},
		"The smallest surge that never leaves a pod Pending is 2; 2 of 3 ways replace all nodes of pool=general.":                                                                                                                 {stopped(), done(), never},
		"Each of 2 of 2 ways that replace all nodes of pool=general leaves pods Pending on the way.":                                                                                                                              {done(), done()},
		"None of 2 ways replaces all nodes of pool=general: the roll stops at node 2 of 2 or before.":                                                                                                                             {stopped(), stopped()},
	} {
		r := of(t, answers...)
		if got := document(r, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Lost replicas are named by workload; Pending pods that replace none are counted after them.
func TestLost(t *testing.T) {
	of := func(name string, replicas int) roll.Lost {
		return roll.Lost{WorkloadRef: cluster.WorkloadRef{Namespace: "default", Workload: "deployment/" + name}, Replicas: replicas}
	}
	pending := func(n int) []placement.StrandedPod { return make([]placement.StrandedPod, n) }
	for want, a := range map[string]*roll.Answer{
		"deployment/web lost 2 replicas":                                       {Pending: pending(2), Lost: []roll.Lost{of("web", 2)}},
		"2 workloads lost 3 replicas (deployment/web 2 and deployment/db 1)":   {Pending: pending(3), Lost: []roll.Lost{of("web", 2), of("db", 1)}},
		"1 new pod stays Pending in the end":                                   {Pending: pending(1)},
		"deployment/web lost a replica and 2 new pods stay Pending in the end": {Pending: pending(3), Lost: []roll.Lost{of("web", 1)}},
	} {
		if got := lostText(a); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	pod := cluster.PodRef{Namespace: h, Name: h, Workload: h}
	a := roll.Answer{Pool: h, Nodes: 1, Waited: []roll.Wait{{PodRef: pod, Seconds: 1}}, Delays: []roll.Delay{{Budget: h, Pods: 1}},
		Worst:   &roll.Moment{Workloads: []roll.Lack{{WorkloadRef: cluster.WorkloadRef{Namespace: h, Workload: h}}}},
		Pending: []placement.StrandedPod{{PodRef: pod, Wait: placement.Wait{Message: h}}}, Levels: []roll.Level{{TopologyKey: h}},
		Blocked: []roll.Blocked{{Node: h, Stays: []world.BlockedPod{{PodRef: pod, Reason: h}}, Budget: &roll.Budget{Name: h}}}, Turns: []roll.Turn{{Old: []string{h}, New: []string{h}}}}
	r := &Report{Head: report.Head{Scenario: h}, Rolls: []roll.Answer{a}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
	r.Rolls = append(r.Rolls, a)
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
