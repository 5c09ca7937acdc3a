package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

const zone = "topology.kubernetes.io/zone"

func of(name string) cluster.WorkloadRef {
	return cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/" + name}
}

// answer needs nodes of two groups, of which one has no price, and two patches; one pod stays stranded.
func answer() *plan.Answer {
	price := 0.2
	return &plan.Answer{
		Survive: []string{zone}, Mode: node.Unreachable, Domains: 3, Nodes: 12, Unreplaced: 2, AtLeast: 3,
		Losses: []plan.Loss{
			{Level: zone, Domain: "a", Stranded: 9, Blocked: 3, Needs: []plan.Need{{Group: "general", Nodes: 2}, {Group: "gpu", Nodes: 1}},
				Workloads: []plan.Workload{{WorkloadRef: of("web"), Pods: 4}, {WorkloadRef: of("api"), Pods: 2}, {WorkloadRef: of("ml"), Pods: 2}, {WorkloadRef: of("db"), Pods: 1}}},
			{Level: zone, Domain: "b", Stranded: 1, Needs: []plan.Need{{Group: "general", Nodes: 1}}, Workloads: []plan.Workload{{WorkloadRef: of("web"), Pods: 1}}},
		},
		Add: []plan.Addition{{Group: "general", Zone: "b", Nodes: 2, Like: "b-1", Price: &price}, {Group: "gpu", Zone: "c", Nodes: 2, Like: "c-1"}},
		Changes: []plan.Change{
			{WorkloadRef: of("web"), Change: "nodeTaintsPolicy: Honor", Price: []string{"its pods are replaced"}, Commands: []string{"kubectl patch deployment/web -n shop -p '{}'"}},
			{WorkloadRef: of("api"), Change: "nodeTaintsPolicy: Honor", Price: []string{"its pods are replaced"}, Commands: []string{"kubectl patch deployment/api -n shop -p '{}'"}},
		},
		Left: []plan.Left{{WorkloadRef: of("db"), Level: zone, Domain: "a", Pods: 1, Message: "0/12 nodes are available: 12 node(s) didn't match pod anti-affinity rules."}},
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply")
	reporttest.Formats(t, Formats, New(result, answer(), "v0.1.0"), "some", "plan-report", Kind)
	reporttest.Formats(t, Formats, New(result, &plan.Answer{Survive: []string{zone}, Mode: node.Deleted, Domains: 3, Nodes: 12}, "v0.1.0"), "none", "plan-report", Kind)
}

// The first line says what is lost now, and what would suffice, or which pods stay stranded.
func TestVerdict(t *testing.T) {
	change := func(edit func(*plan.Answer)) *plan.Answer {
		a := answer()
		edit(a)
		return a
	}
	price := 1.25
	const now = "No: the loss of zone a strands 9 pods, and 1 other loss strands some, too"
	for want, a := range map[string]*plan.Answer{
		"Yes: the loss of any zone strands nobody; nothing is to be added.":                                                                                                                                          {Survive: []string{zone}},
		"Yes, with the autoscaler: the loss of any zone strands nobody once it has added nodes; nothing else is to be added.":                                                                                        {Survive: []string{zone}, Autoscaled: []plan.Autoscaled{{Group: "general", Nodes: 2, To: 8, Max: 9}}},
		"No pod of shop/deployment/web has a node: there is nothing of it that a failure could take.":                                                                                                                {Survive: []string{zone}, Pending: 3, NotRunning: []string{"shop/deployment/web"}},
		"Yes: the loss of any zone strands nobody; nothing is to be added. Before any loss 1 of 4 pods is Pending.":                                                                                                  {Survive: []string{zone}, Running: 3, Pending: 1},
		"Yes: the loss of any zone strands nobody; nothing is to be added. Before any loss 5 of 8 pods are Pending. No pod of 2 workloads has a node (a and b): there is nothing of them that a failure could take.": {Survive: []string{zone}, Running: 3, Pending: 5, NotRunning: []string{"a", "b"}},
		"Yes: the loss of any zone strands nobody, though nothing replaces 2 pods of one loss; nothing is to be added.":                                                                                              {Survive: []string{zone}, Unreplaced: 2},
		"Yes: the loss of any zone or any node strands nobody; nothing is to be added.":                                                                                                                              {Survive: []string{zone, "kubernetes.io/hostname"}},
		now + ". With 2 patches and 4 more nodes the worst loss leaves 1: neither nodes nor known patches help them; the others need no fewer than 3 nodes.":                                                         answer(),
		now + ". With 2 patches and 4 more nodes the worst loss leaves 1: the search ended before it knew what helps them; the others need no fewer than 3 nodes.":                                                   change(func(a *plan.Answer) { a.Unfinished = true }),
		now + ". 2 patches and 4 more nodes are enough; fewer than 3 nodes are not.":                                                                                                                                 change(func(a *plan.Answer) { a.Left = nil }),
		now + ". 4 more nodes for 1.25 an hour are enough, and no fewer.":                                                                                                                                            change(func(a *plan.Answer) { a.Left, a.Changes, a.AtLeast, a.Price = nil, nil, 4, &price }),
		now + ". 1 patch is enough.":                change(func(a *plan.Answer) { a.Left, a.Add, a.Changes = nil, nil, a.Changes[:1] }),
		now + "; no node and no known patch helps.": change(func(a *plan.Answer) { a.Add, a.Changes = nil, nil }),
	} {
		if diff := cmp.Diff(want, document(&Report{Answer: *a}, report.Options{}).Answer()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// The first line of a partial answer says nothing about losses that were not tried, nor what would suffice.
func TestPartialVerdict(t *testing.T) {
	price := 1.25
	for want, a := range map[string]*plan.Answer{
		"Not known yet: 2 losses were tried and strand nobody, and the others were not tried.":                         {Survive: []string{zone}, Domains: 2},
		"No: the loss of zone a strands 9 pods. At least 3 more nodes are needed; how many would do is not known yet.": {Survive: []string{zone}, Domains: 2, AtLeast: 3, Losses: []plan.Loss{{Level: zone, Domain: "a", Stranded: 9}}},
		"No: the loss of zone a strands 1 pod. What would do is not known yet.":                                        {Survive: []string{zone}, Domains: 1, Price: &price, Losses: []plan.Loss{{Level: zone, Domain: "a", Stranded: 1, Open: true}}},
	} {
		r := &Report{Head: report.Head{Partial: "interrupted after 2 of 3 losses"}, Answer: *a}
		if diff := cmp.Diff(want, document(r, report.Options{}).Answer()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if text := reporttest.Write(t, Formats, r, "text", report.Options{}); strings.Contains(text, "Tried as a whole") {
			t.Errorf("a part of an answer says that the plan was tried:\n%s", text)
		}
	}
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	ref := cluster.WorkloadRef{Namespace: h, Workload: h}
	r := &Report{Head: report.Head{Scenario: h}, Answer: plan.Answer{
		Survive: []string{h}, Losses: []plan.Loss{{Level: h, Domain: h, Workloads: []plan.Workload{{WorkloadRef: ref}}, Needs: []plan.Need{{Group: h}}}},
		Add: []plan.Addition{{Group: h, Zone: h, Like: h}}, Changes: []plan.Change{{WorkloadRef: ref, Change: h, Price: []string{h}, Commands: []string{h}}},
		Left: []plan.Left{{WorkloadRef: ref, Level: h, Domain: h, Message: h}}, Autoscaled: []plan.Autoscaled{{Group: h}}, Raise: []plan.Raise{{Group: h}},
	}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
