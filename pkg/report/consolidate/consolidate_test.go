package consolidate

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/world"
)

// answer removes two of four nodes, one of them without a price, and has one node that stays for each reason.
func answer() *consolidate.Answer {
	price := 0.5
	a := &consolidate.Answer{
		Nodes: 12, Survive: []string{"topology.kubernetes.io/zone"}, Evicted: 7, Saved: &price, Unpriced: 1,
		Removed:  []consolidate.Removed{{Node: "a-1", Evicted: 3, Price: &price}, {Node: "b-1", Evicted: 4}},
		Stranded: []consolidate.Stranded{{Level: "topology.kubernetes.io/zone", Before: 2, After: 1}},
	}
	for i, why := range []consolidate.Why{consolidate.Kept, consolidate.ControlPlane, consolidate.ByPod, consolidate.ByBudget, consolidate.ByBudget, consolidate.ByVolume, consolidate.ByRoom,
		consolidate.ByRules, consolidate.ByQuota, consolidate.ByFailure, consolidate.ByAutoscaler} {
		s := consolidate.Stay{Node: "c-" + string(rune('a'+i)), Why: why}
		if i > 1 {
			s.Message = "0/3 nodes are available: 3 Insufficient cpu."
			for range i {
				s.Pods = append(s.Pods, cluster.PodRef{Namespace: "shop", Name: "web-1", Workload: "deployment/web"})
			}
		}
		a.Stays = append(a.Stays, s)
	}
	return a
}

// decided is what a decider makes of three nodes: it replaces two by a cheaper one.
func decided() *consolidate.Answer {
	start := metav1.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	before, after, old, cheap := 1.0, 0.6, 0.3, 0.2
	return &consolidate.Answer{
		Nodes: 3, Evicted: 5,
		Removed: []consolidate.Removed{{Node: "a-1", Evicted: 3, Price: &old, Why: "Underutilized: saves $0.4000 an hour"}, {Node: "a-2", Evicted: 2, Price: &old}},
		Stays:   []consolidate.Stay{{Node: "b-1", Why: consolidate.ByDecider, Message: "Can't replace with a cheaper node"}},
		Decided: &consolidate.Decided{
			Decider: "karpenter", Rounds: 2, Seconds: 65, CostBefore: &before, CostAfter: &after, Added: []consolidate.Added{{Node: "new", Price: &cheap, Why: "c-2x, zone-1, spot"}},
			Moments: []world.Moment{{At: start, Nodes: 3, Price: &before}, {At: metav1.NewTime(start.Add(65 * time.Second)), Nodes: 2, Pending: 1, Price: &after}},
		},
	}
}

// The first line on what a decider does is the answer.
func TestDecidedVerdict(t *testing.T) {
	pending, none, unpriced, cycle := decided(), decided(), decided(), decided()
	pending.Decided.NewlyPending = 1
	none.Removed, none.Decided.Added = nil, nil
	unpriced.Removed, unpriced.Decided.Added, unpriced.Decided.CostAfter = nil, nil, nil
	cycle.Decided.Cycle = &world.Cycle{Decider: "karpenter", EverySeconds: 60, Acts: []world.Act{{Verb: "create"}}}
	for want, a := range map[string]*consolidate.Answer{
		"karpenter removes 2 of 3 nodes and adds 1: 2 are enough, 0.40 an hour less, after 1 min 5 s; no pod is newly Pending.": decided(),
		"karpenter removes 2 of 3 nodes and adds 1: 2 are enough, 0.40 an hour less, after 1 min 5 s; 1 pod is newly Pending.":  pending,
		"karpenter removes none of 3 nodes, which cost 0.60 an hour.":                                                           none,
		"karpenter removes none of 3 nodes.": unpriced,
		"karpenter never comes to rest: every 1 min it makes 1 other change, and the cluster is as before.": cycle,
	} {
		if got := document(&Report{Answer: *a}, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply")
	reporttest.Formats(t, Formats, New(result, answer(), "v0.1.0"), "some", "consolidate-report", Kind)
	none := &consolidate.Answer{Nodes: 4, Removed: []consolidate.Removed{}, Stays: answer().Stays[:4]}
	reporttest.Formats(t, Formats, New(result, none, "v0.1.0"), "none", "consolidate-report", Kind)
	reporttest.Formats(t, Formats, New(result, decided(), "v0.1.0"), "decided", "consolidate-report", Kind)
}

// The first line of a partial answer says nothing about nodes and losses that were not tried.
func TestPartialVerdict(t *testing.T) {
	zone := []string{"topology.kubernetes.io/zone"}
	went := []consolidate.Removed{{Node: "a-1"}, {Node: "b-1"}}
	for want, a := range map[string]*consolidate.Answer{
		"At least 2 of 12 nodes can go: no budget is broken, no pod is newly Pending while no node fails; 7 were not tried.":      {Nodes: 12, Removed: went, Untried: 7, Stays: stays(3, consolidate.ByRoom)},
		"At least 2 of 12 nodes can go: no budget is broken, no pod is newly Pending, also after the loss of any zone as before.": {Nodes: 12, Survive: zone, Removed: went, Unproven: 3},
		"No node is known yet that can go while no node fails: 3 nodes were tried; 9 were not tried.":                             {Nodes: 12, Untried: 9, Stays: stays(3, consolidate.ByRoom)},
		"Not known yet which nodes can go, also after the loss of any zone as before: 4 of 12 nodes can go while no node fails.":  {Nodes: 12, Survive: zone, Unproven: 4, Stays: stays(8, consolidate.ByRoom)},
	} {
		r := &Report{Head: report.Head{Partial: "interrupted after 5 of 12 nodes"}, Answer: *a}
		if got := document(r, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func stays(n int, why consolidate.Why) []consolidate.Stay {
	return slices.Repeat([]consolidate.Stay{{Node: "n", Why: why}}, n)
}

// The first line of the question which nodes can be free counts those that are free now.
func TestFreeVerdict(t *testing.T) {
	free := []consolidate.Removed{{Node: "a-1"}, {Node: "b-1", Evicted: 3}}
	for want, a := range map[string]*consolidate.Answer{
		"2 of 12 nodes can be free of pods, now 1: 3 evictions, no budget is broken, no pod is newly Pending.": {Free: true, Nodes: 12, Removed: free, Evicted: 3},
		"1 of 12 nodes can be free of pods, as now.":                                                           {Free: true, Nodes: 12, Removed: free[:1]},
		"None of 12 nodes can be free of pods.":                                                                {Free: true, Nodes: 12, Stays: stays(12, consolidate.ByRoom)},
	} {
		if got := document(&Report{Answer: *a}, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	partial := &Report{Head: report.Head{Partial: "interrupted"}, Answer: consolidate.Answer{Free: true, Nodes: 12, Removed: free, Evicted: 3, Untried: 7}}
	if got, want := document(partial, report.Options{}).Answer(), "At least 2 of 12 nodes can be free of pods, now 1: 3 evictions, no budget is broken, no pod is newly Pending."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The first line is the answer. Every reason has words.
func TestVerdict(t *testing.T) {
	plain := answer()
	plain.Survive, plain.Saved = nil, nil
	for want, a := range map[string]*consolidate.Answer{
		"2 of 12 nodes can go: 10 are enough, 0.50 an hour less; no budget is broken, no pod is newly Pending, also after the loss of any zone as before.": answer(),
		"2 of 12 nodes can go: 10 are enough; no budget is broken, no pod is newly Pending while no node fails.":                                           plain,
		"No node can go: all 4 are needed, or stay for other reasons.":                                                                                     {Nodes: 4, Stays: stays(4, consolidate.ByRoom)},
		"No node can go: 3 of 5 were tried, and each is needed, or stays for another reason.":                                                              {Nodes: 5, Stays: slices.Concat(stays(2, consolidate.ControlPlane), stays(3, consolidate.ByFailure))},
		"No node can go: 1 of 2 was tried, and is needed, or stays for another reason.":                                                                    {Nodes: 2, Stays: slices.Concat(stays(1, consolidate.Kept), stays(1, consolidate.ByPod))},
		"No node was tried: all 3 are control planes; --pool KEY=VALUE tries those with a label.":                                                          {Nodes: 3, Stays: stays(3, consolidate.ControlPlane)},
		"No node was tried: the only one is a control plane; --pool KEY=VALUE tries those with a label.":                                                   {Nodes: 1, Stays: stays(1, consolidate.ControlPlane)},
		"No node was tried: 1 control plane is not asked about, and you keep the other 2.":                                                                 {Nodes: 3, Stays: slices.Concat(stays(1, consolidate.ControlPlane), stays(2, consolidate.Kept))},
		"No node was tried: you keep all 2.":                             {Nodes: 2, Stays: stays(2, consolidate.Kept)},
		"No node was tried: you keep 2 of 6, and --pool names no other.": {Nodes: 6, Stays: stays(2, consolidate.Kept)},
		"No node was tried: the cluster has no other.":                   {Nodes: 1},
	} {
		r := &Report{Answer: *a}
		if got := document(r, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for _, s := range answer().Stays {
		if reasonTexts[s.Why] == "" {
			t.Errorf("%s has no words", s.Why)
		}
	}
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	r := &Report{Head: report.Head{Scenario: h}, Answer: consolidate.Answer{
		Survive: []string{h}, Removed: []consolidate.Removed{{Node: h}}, Stranded: []consolidate.Stranded{{Level: h}},
		Stays: []consolidate.Stay{{Node: h, Why: consolidate.ByRoom, Pods: []cluster.PodRef{{Namespace: h, Name: h, Workload: h}}, Message: h}},
	}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
