package blast

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// zones is a report on the zones a, b and c. db has 2, 1 and 2 pods there and a quorum of 4; solo is in a alone; web has 1, 2 and 1, of
// which its budget spares one. After the failure of b, the two pods of web are stranded; after that of c, those of b, too.
func zones() *Report {
	db := blast.Loss{Ref: cluster.Ref{Kind: "StatefulSet", Namespace: "data", Name: "db"}, Replicas: 5, Even: 2, Quorum: 4, Source: &manifest.Place{File: "db.yaml", Line: 3}}
	web := blast.Loss{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 4, Even: 2}
	take := func(l blast.Loss, lost int) blast.Loss {
		l.Lost, l.Gone = lost, lost == l.Replicas
		l.QuorumLost = l.Quorum > l.Replicas-lost
		if l.Name == "web" && lost > 1 {
			l.BrokenBudgets = []string{"shop/web"}
		}
		return l
	}
	solo := blast.Loss{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "solo"}, Replicas: 1, Even: 1}
	stranded := placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-x", Workload: "deployment/web"}, Wait: placement.Wait{Message: "0/3 nodes are available: 3 Insufficient cpu."}}
	failure := func(domain string, pods int, losses ...blast.Loss) blast.Failure {
		return blast.Failure{Domains: []string{domain}, Nodes: []string{"node-" + domain}, Pods: pods, CPU: 1. / 3, Memory: 1. / 3, Workloads: losses}
	}
	a, b, c := failure("a", 4, take(solo, 1), take(db, 2), take(web, 1)), failure("b", 3, take(web, 2), take(db, 1)), failure("c", 3, take(db, 2), take(web, 1))
	a.Recovery = &blast.Recovery{Lost: 4, Recovered: []placement.RecoveredPod{{PodRef: cluster.PodRef{Namespace: "shop", Name: "solo-2", Workload: "deployment/solo"}, Node: "node-b"}},
		NotReplaced: []blast.UnreplacedPod{{PodRef: cluster.PodRef{Namespace: "data", Name: "db-0", Workload: "statefulset/db"}, Why: "it may still run"},
			{PodRef: cluster.PodRef{Namespace: "data", Name: "db-1", Workload: "statefulset/db"}, Why: "it may still run"}}, After: blast.Radius{Share: 1},
		Outages: []blast.Outage{{WorkloadRef: cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/solo"}, Replicas: 1, Seconds: ptr.To(350.)}}}
	b.BrokenBudgets = []string{"shop/web"}
	b.Recovery = &blast.Recovery{Lost: 3, Stranded: []placement.StrandedPod{stranded, stranded}, After: blast.Radius{Share: 0.5}}
	c.LikeDomains = []string{"b"}
	return &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Version: "v0.1.0", Scenario: "zones", Ties: "upstream", Cluster: report.Cluster{Nodes: 3}},
		Mode: "unreachable", Simultaneous: 1, Recover: true,
		Steps: []Step{{Name: "all", Action: "apply -f all.yaml", Running: 10, Analysis: blast.Analysis{Workloads: 3, OneReplica: []string{"shop/deployment/solo"}, Levels: []blast.Level{{
			TopologyKey: doc.Zone, Domains: 3, Radius: blast.Radius{Share: 1, Namespace: "shop", Workload: "deployment/solo", Lost: 1, Replicas: 1, Domains: []string{"a"}},
			Replicated: blast.Radius{Share: 0.5, Namespace: "shop", Workload: "deployment/web", Lost: 2, Replicas: 4, Domains: []string{"b"}},
			Failures:   []blast.Failure{a, b, c},
		}}}}},
	}
}

func TestBlastFindings(t *testing.T) {
	want := []expect.Finding{
		{ID: expect.OneReplica, Level: expect.Note, Message: "deployment/solo has one replica, and the failure of zone a takes it", Step: "all", Namespace: "shop", Workload: "deployment/solo"},
		{ID: expect.QuorumLost, Level: expect.Error, Message: "the failure of zone a takes 2 of 5 running pods of statefulset/db, whose quorum is 4 (likewise 1 other failure)",
			Source: &manifest.Place{File: "db.yaml", Line: 3}, Step: "all", Namespace: "data", Workload: "statefulset/db"},
		{ID: expect.PodsStranded, Level: expect.Warning, Message: "the failure of zone a takes 2 pods of statefulset/db that do not come back: it may still run",
			Source: &manifest.Place{File: "db.yaml", Line: 3}, Step: "all", Namespace: "data", Workload: "statefulset/db"},
		{ID: expect.BudgetBroken, Level: expect.Warning, Message: "the failure of zone b takes 2 of 4 running pods of deployment/web, which breaks PodDisruptionBudget shop/web",
			Step: "all", Namespace: "shop", Workload: "deployment/web"},
		{ID: expect.PodsStranded, Level: expect.Warning,
			Message: "the failure of zone b takes 2 pods of deployment/web that do not come back: 0/3 nodes are available: 3 Insufficient cpu. (likewise 1 other failure)",
			Step:    "all", Namespace: "shop", Workload: "deployment/web"},
	}
	if diff := cmp.Diff(want, zones().Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The worst failure is named, not the first.
func TestBlastFindingsNameTheWorst(t *testing.T) {
	r := zones()
	for i, lost := range []int{1, 3, 2} {
		f := &r.Steps[0].Levels[0].Failures[i]
		f.Recovery, f.LikeDomains = nil, nil
		f.Workloads = []blast.Loss{{Ref: cluster.Ref{Kind: "StatefulSet", Name: "db"}, Replicas: 6, Lost: lost, Quorum: 6, QuorumLost: true}}
	}
	got := r.Findings()
	want := "the failure of zone b takes 3 of 6 running pods of statefulset/db, whose quorum is 6 (likewise 2 other failures)"
	if len(got) != 1 || got[0].Message != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// Domains that fail together are named together, and a level without a noun is named by its key.
func TestFailed(t *testing.T) {
	for want, level := range map[string]blast.Level{
		"zones a + b together": {TopologyKey: doc.Zone, Failures: []blast.Failure{{Domains: []string{"a", "b"}}}},
		"node n1":              {TopologyKey: doc.Hostname, Failures: []blast.Failure{{Domains: []string{"n1"}}}},
		"rack r1":              {TopologyKey: "example.com/rack", Failures: []blast.Failure{{Domains: []string{"r1"}}}},
	} {
		s := &Step{Analysis: blast.Analysis{Levels: []blast.Level{level}}}
		if got := s.failureName(0, &level.Failures[0]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
