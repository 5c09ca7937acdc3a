package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// sourced is a report of one step whose expectations and workloads stand in files: two pods of web wait for the same reason and one
// for another, one bare pod waits without a message, and the rollout of web is stuck.
func sourced() *Report {
	wait := func(name, workload, message string) Pod {
		return Pod{Namespace: "shop", Name: name, Workload: workload, Ready: "0/1", Status: "Pending", Message: message}
	}
	return &Report{
		Head: Head{APIVersion: APIVersion, Kind: Kind, Version: "v0.1.0", Scenario: "shop", Ties: "upstream",
			Cluster: Cluster{Nodes: 1, Levels: []Level{{TopologyKey: zone, Domains: 1}}}},
		Nodes: []Node{{Name: "n1", Topology: map[string]string{zone: "a"}}},
		Steps: []Step{{
			Name: "new-image", Action: "set image", Summary: Summary{Pods: 5, Running: 1, Pending: 4}, TopologyKeys: []string{zone},
			Workloads: []Workload{
				{Kind: "Deployment", Namespace: "shop", Name: "web", Desired: 3, Running: 1, Pending: 3, Source: &Source{File: "k8s/web app.yaml", Line: 7},
					Domains: []Distribution{{TopologyKey: zone, Counts: []Count{{"a", 1}}}}},
				{Kind: "Pod", Namespace: "shop", Name: "bare", Desired: 1, Pending: 1, Source: &Source{File: "-", Line: 1}},
			},
			Pods: []Pod{
				{Namespace: "shop", Name: "web-1", Workload: "deployment/web", Ready: "1/1", Status: "Running", Node: "n1"},
				wait("web-2", "deployment/web", "no room"), wait("web-3", "deployment/web", "no room"), wait("web-4", "deployment/web", "no zone"),
				wait("bare", "", ""),
			},
			Rollouts: []Rollout{{Kind: "Deployment", Namespace: "shop", Name: "web", Desired: 3, Updated: 1, Old: 2, Ready: 1, Waiting: "pod web-2 is Pending"}},
			Why:      []string{"deployment/web: no node has room."},
			Expectations: []Expectation{
				{Want: "0 pods Pending", Got: "4 pods Pending", Source: &Source{File: "scenario.yaml", Line: 12}},
				{Want: "1 pod in each zone", Got: "1 pod in zone a", Met: true, Source: &Source{File: "scenario.yaml", Line: 13}},
				{Want: "rollouts end", Got: "deployment/web"},
			},
		}},
	}
}

func TestFindings(t *testing.T) {
	web := &manifest.Source{File: "k8s/web app.yaml", Line: 7}
	want := []expect.Finding{
		{ID: expect.NotMet, Level: expect.Error, Message: "want 0 pods Pending, got 4 pods Pending", Source: &manifest.Source{File: "scenario.yaml", Line: 12}, Step: "new-image"},
		{ID: expect.NotMet, Level: expect.Error, Message: "want rollouts end, got deployment/web", Step: "new-image"},
		{ID: expect.PodsPending, Level: expect.Warning, Message: "3 of 3 pods of deployment/web Pending: no room (and 1 other message)", Source: web,
			Step: "new-image", Namespace: "shop", Workload: "deployment/web"},
		{ID: expect.PodsPending, Level: expect.Warning, Message: "pod/bare Pending: kube-scheduler gave no message", Source: &manifest.Source{File: "-", Line: 1},
			Step: "new-image", Namespace: "shop", Workload: "pod/bare"},
		{ID: expect.RolloutStuck, Level: expect.Error, Message: "the rollout of deployment/web is stuck at 1 of 3 updated: pod web-2 is Pending", Source: web,
			Step: "new-image", Namespace: "shop", Workload: "deployment/web"},
	}
	if diff := cmp.Diff(want, sourced().Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// zones is a report on the zones a, b and c. db has 2, 1 and 2 pods there and a quorum of 4; solo is in a alone; web has 1, 2 and 1, of
// which its budget spares one. After the failure of b, the two pods of web are stranded; after that of c, told of b, too.
func zones() *BlastReport {
	db := Loss{Kind: "StatefulSet", Namespace: "data", Name: "db", Replicas: 5, Quorum: 4, Source: &Source{File: "db.yaml", Line: 3}}
	web := Loss{Kind: "Deployment", Namespace: "shop", Name: "web", Replicas: 4}
	take := func(l Loss, lost int) Loss {
		l.Lost, l.Gone = lost, lost == l.Replicas
		l.QuorumLost = l.Quorum > l.Replicas-lost
		if l.Name == "web" && lost > 1 {
			l.BrokenBudgets = []string{"shop/web"}
		}
		return l
	}
	solo := Loss{Kind: "Deployment", Namespace: "shop", Name: "solo", Replicas: 1}
	stranded := StrandedPod{Namespace: "shop", Name: "web-x", Workload: "deployment/web", Message: "0/3 nodes are available: 3 Insufficient cpu."}
	failure := func(domain string, pods int, losses ...Loss) Failure {
		return Failure{Domains: []string{domain}, Nodes: []string{"node-" + domain}, Pods: pods, CPU: 1. / 3, Memory: 1. / 3, Workloads: losses}
	}
	a, b, c := failure("a", 4, take(solo, 1), take(db, 2), take(web, 1)), failure("b", 3, take(web, 2), take(db, 1)), failure("c", 3, take(db, 2), take(web, 1))
	a.Recovery = &Recovery{Lost: 4, Recovered: []RecoveredPod{{Namespace: "shop", Name: "solo-2", Workload: "deployment/solo", Node: "node-b"}},
		NotReplaced: []UnreplacedPod{{Namespace: "data", Name: "db-0", Why: "it may still run"}, {Namespace: "data", Name: "db-1", Why: "it may still run"}}, After: Radius{Share: 1}}
	b.BrokenBudgets = []string{"shop/web"}
	b.Recovery = &Recovery{Lost: 3, Stranded: []StrandedPod{stranded, stranded}, After: Radius{Share: 0.5}}
	c.LikeDomains = []string{"b"}
	return &BlastReport{
		Head: Head{APIVersion: APIVersion, Kind: BlastKind, Version: "v0.1.0", Scenario: "zones", Ties: "upstream", Cluster: Cluster{Nodes: 3}},
		Mode: "unreachable", Simultaneous: 1, Recover: true,
		Steps: []BlastStep{{Name: "all", Action: "apply -f all.yaml", Running: 10, Levels: []BlastLevel{{
			TopologyKey: zone, Domains: 3, Radius: Radius{Share: 1, Namespace: "shop", Workload: "deployment/solo", Lost: 1, Replicas: 1, Domains: []string{"a"}},
			Failures: []Failure{a, b, c},
		}}}},
	}
}

func TestBlastFindings(t *testing.T) {
	want := []expect.Finding{
		{ID: expect.WorkloadGone, Level: expect.Warning, Message: "the failure of zone a takes 1 of 1 running pod of deployment/solo", Step: "all", Namespace: "shop", Workload: "deployment/solo"},
		{ID: expect.QuorumLost, Level: expect.Error, Message: "the failure of zone a takes 2 of 5 running pods of statefulset/db, whose quorum is 4 (likewise 1 other failure)",
			Source: &manifest.Source{File: "db.yaml", Line: 3}, Step: "all", Namespace: "data", Workload: "statefulset/db"},
		{ID: expect.BudgetBroken, Level: expect.Warning, Message: "the failure of zone b takes 2 of 4 running pods of deployment/web, which breaks PodDisruptionBudget shop/web",
			Step: "all", Namespace: "shop", Workload: "deployment/web"},
		{ID: expect.PodsStranded, Level: expect.Warning,
			Message: "the failure of zone b leaves 2 pods of deployment/web stranded: 0/3 nodes are available: 3 Insufficient cpu. (likewise 1 other failure)",
			Step:    "all", Namespace: "shop", Workload: "deployment/web"},
	}
	if diff := cmp.Diff(want, zones().Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Several domains that fail together are named together, and a level without a word of its own by its key.
func TestFailed(t *testing.T) {
	for want, level := range map[string]BlastLevel{
		"zones a + b together": {TopologyKey: zone, Failures: []Failure{{Domains: []string{"a", "b"}}}},
		"node n1":              {TopologyKey: hostname, Failures: []Failure{{Domains: []string{"n1"}}}},
		"rack r1":              {TopologyKey: "example.com/rack", Failures: []Failure{{Domains: []string{"r1"}}}},
	} {
		s := &BlastStep{Levels: []BlastLevel{level}}
		if got := s.failed(0, &level.Failures[0]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// rendered are the reports of which every page and picture has a golden file.
func rendered(t *testing.T) (map[string]*Report, map[string]*BlastReport) {
	t.Helper()
	reports := map[string]*Report{"sourced": sourced(), "mixed": fixtures(t)["mixed"], "walkthrough": storedReport(t)}
	return reports, map[string]*BlastReport{"zones": zones(), "walkthrough-blast": storedBlast(t)}
}

func TestRenderedGolden(t *testing.T) {
	reports, blasts := rendered(t)
	for _, format := range []string{"markdown", "csv", "junit", "sarif", "svg"} {
		for name, r := range reports {
			t.Run(name+"."+format, func(t *testing.T) {
				golden(t, "rendered/"+name+"."+format, write(t, r, format, Options{}))
			})
		}
		for name, r := range blasts {
			t.Run(name+"."+format, func(t *testing.T) {
				golden(t, "rendered/"+name+"."+format, writeBlast(t, r, format, Options{}))
			})
		}
	}
}

// Nothing to tell is told in every format.
func TestRenderedNothing(t *testing.T) {
	for _, r := range []*Report{{}, {Steps: []Step{{}}}, {Steps: []Step{{Name: "empty", Pods: []Pod{{Name: "a"}}}}}} {
		for _, format := range Formats() {
			if out := write(t, r, format, Options{}); out == "" && format != "name" {
				t.Errorf("%s is empty", format)
			}
		}
	}
	for _, r := range []*BlastReport{{}, {Steps: []BlastStep{{}}}, {Steps: []BlastStep{{Levels: []BlastLevel{{}}}}}, {Steps: []BlastStep{{Levels: []BlastLevel{{Failures: []Failure{{}}}}}}}} {
		for _, format := range BlastFormats() {
			if out := writeBlast(t, r, format, Options{}); out == "" {
				t.Errorf("%s is empty", format)
			}
		}
	}
}

func TestGrouped(t *testing.T) {
	got := grouped([]int{1, 12, 3, 15, 11}, func(n int) int { return n / 10 })
	if diff := cmp.Diff([][]int{{1, 3}, {12, 15, 11}}, got); diff != "" {
		t.Error(fmt.Sprint("(-want +got):\n", diff))
	}
}
