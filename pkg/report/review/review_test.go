package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/ask/review"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// found returns a review with two groups, of which one has no price, three zones, and three risks.
func found() *review.Review {
	price := 0.8
	spare := func(all, free, stranded float64) capacity.Spare {
		return capacity.Spare{Allocatable: all, Free: free, Stranded: stranded}
	}
	return &review.Review{
		Running: 11, Pending: 1, Cost: &price, Unpriced: 1,
		Groups: []review.Group{
			{Idle: capacity.Idle{Group: "general", Nodes: 4, CPU: spare(16, 4.5, 1), Memory: spare(64<<30, 32<<30, 1<<30)}, Cost: &price},
			{Idle: capacity.Idle{Group: "gpu", Nodes: 1, CPU: spare(8, 0.25, 0), Memory: spare(32<<30, 0, 0)}},
		},
		Levels: []review.Level{{TopologyKey: "topology.kubernetes.io/zone", Losses: []review.Loss{
			{Domain: "a", Nodes: 2, Lost: 5, NotBack: 1, Down: 1, BrokenBudgets: 1}, {Domain: "b", Nodes: 2, Lost: 4, NotBack: 2}, {Domain: "c", Nodes: 1, Lost: 2},
		}}},
		Risks: []review.Risk{
			{Check: "hard-rule-unmet", Severity: lint.Error, Object: "shop/deployment/web", Message: "its rule cannot be met", Fix: "run 3 replicas"},
			{Check: "one-replica", Severity: lint.Warning, Object: "shop/deployment/api", Message: "it has one replica", Fix: "run 2 replicas"},
			{Check: "one-replica", Severity: lint.Warning, Object: "shop/deployment/db", Message: "it has one replica", Fix: "run 2 replicas"},
		},
		Workloads: []review.Workload{{Workload: "shop/deployment/api", Running: 1}, {Workload: "shop/deployment/web", Running: 9, Pending: 1}},
	}
}

// reviewed returns the report on the review after an edit.
func reviewed(t *testing.T, edit func(*review.Review)) *Report {
	t.Helper()
	f := found()
	edit(f)
	return New(reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply"), f, "v0.1.0")
}

func TestFormats(t *testing.T) {
	r := reviewed(t, func(f *review.Review) {
		f.Groups[0].Nodes, f.Pending, f.Running, f.Levels[0].Losses[1].NotBack = 5, 0, 12, 3
		f.Risks = append(f.Risks[:2], review.Risk{Check: "budget-missing", Severity: lint.Note, Object: "shop/deployment/db", Message: "it has none", Fix: "add one"})
		f.Workloads[1].Running, f.Cost = 10, new(1.0)
	})
	r.CompareWith("last.json", reviewed(t, func(*review.Review) {}))
	reporttest.Formats(t, Formats, r, "since", "review-report", Kind)
	want := []Change{
		{Pods, "running", 11, 12}, {Pods, "pending", 1, 0}, {Nodes, "general", 4, 5}, {Cost, "", 0.8, 1}, {NotBack, "zone b", 2, 3},
		{Risk, "one-replica shop/deployment/db", 1, 0}, {Risk, "budget-missing shop/deployment/db", 0, 1}, {Workload, "shop/deployment/web", 9, 10},
	}
	if diff := cmp.Diff(want, r.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// The first line has the worst loss, the Pending pods, the findings of lint and the cost of the nodes.
func TestAnswer(t *testing.T) {
	for want, edit := range map[string]func(*review.Review){
		"After the loss of zone b 2 of 4 lost pods do not come back, the most of 3 zones; 1 of 12 pods is Pending now; " +
			"lint finds 1 error and 2 warnings; the nodes cost 0.80 an hour, without 1 node of unknown price.": func(*review.Review) {},
		"Every lost pod comes back after the loss of any of 2 zones; 0 of 11 pods are Pending now; lint finds 0 errors and 0 warnings.": func(f *review.Review) {
			f.Levels[0].Losses, f.Pending, f.Risks, f.Cost = []review.Loss{{Domain: "a"}, {Domain: "b"}}, 0, nil, nil
		},
		"No pod of shop/deployment/web has a node: there is nothing of it that a failure could take; 3 of 3 pods are Pending now; lint finds 1 error and 0 warnings.": func(f *review.Review) {
			f.Running, f.Pending, f.NotRunning, f.Risks, f.Cost = 0, 3, []string{"shop/deployment/web"}, f.Risks[:1], nil
		},
		"Every lost pod comes back after the loss of any of 1 zone; no pod of shop/deployment/web has a node: there is nothing of it that a failure could take; 1 of 12 pods is Pending now; lint finds 0 errors and 0 warnings.": func(f *review.Review) {
			f.Levels[0].TopologyKey, f.Levels[0].Losses, f.NotRunning, f.Risks, f.Cost = "topology.kubernetes.io/zone=c", f.Levels[0].Losses[2:], []string{"shop/deployment/web"}, nil, nil
		},
		"After the loss of zone b 2 of 4 lost pods do not come back; 1 of 12 pods is Pending now; lint finds 0 errors and 1 warning.": func(f *review.Review) {
			f.Levels[0].TopologyKey, f.Levels[0].Losses, f.Risks, f.Cost = "topology.kubernetes.io/zone=b", f.Levels[0].Losses[1:2], f.Risks[1:2], nil
		},
		"No level has several domains that could fail; 1 of 12 pods is Pending now; lint finds 0 errors and 1 warning.": func(f *review.Review) {
			f.Levels[0].Losses, f.Risks, f.Cost = f.Levels[0].Losses[:1], f.Risks[1:2], nil
		},
	} {
		if got := reviewed(t, edit).answer().Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSinceThen(t *testing.T) {
	r := reviewed(t, func(*review.Review) {})
	r.CompareWith("last.json", reviewed(t, func(*review.Review) {}))
	if got := r.changesSentence(); got != "Nothing has changed since last.json." {
		t.Error(got)
	}
	r.CompareWith("last.json", reviewed(t, func(f *review.Review) { f.Groups[0].Nodes, f.Risks, f.Levels[0].Losses[1].NotBack = 7, f.Risks[:1], 0 }))
	if got, want := r.changesSentence(), "Since last.json: 3 nodes fewer; 2 risks new; 2 not back after the loss of zone b, before 0."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Hostile names in a dump do no harm.
func TestHostile(t *testing.T) {
	const h = reporttest.Hostile + "\a\u202e"
	r := reviewed(t, func(f *review.Review) {
		f.Groups[0].Group, f.Levels[0].Losses[0].Domain, f.Risks[0].Object, f.Risks[0].Fix, f.Workloads[0].Workload = h, h, h, h, h
	})
	r.CompareWith(h, reviewed(t, func(*review.Review) {}))
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
