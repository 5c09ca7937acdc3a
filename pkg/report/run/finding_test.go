package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// sourced returns a report of one step whose expectations and workloads are in files: two pods of web wait for the same reason and one for
// another, a pod without an owner waits without a message, and the rollout of web is stuck.
func sourced() *Report {
	wait := func(name, workload, message string) Pod {
		return Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: name, Workload: workload}, Ready: "0/1", Status: "Pending", Wait: placement.Wait{Message: message}}
	}
	return &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Version: "v0.1.0", Scenario: "shop", Ties: "upstream",
			Cluster: report.Cluster{Nodes: 1, Levels: []report.Level{{TopologyKey: doc.Zone, Domains: 1}}}},
		Nodes: []report.Node{{Name: "n1", Topology: map[string]string{doc.Zone: "a"}}},
		Steps: []Step{{
			Name: "new-image", Action: "set image", Summary: Summary{Pods: 5, Running: 1, Pending: 4}, TopologyKeys: []string{doc.Zone},
			Workloads: []Workload{
				{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Desired: 3, Running: 1, Pending: 3, Source: &manifest.Place{File: "k8s/web app.yaml", Line: 7},
					Domains: []Distribution{{TopologyKey: doc.Zone, Counts: []Count{{"a", 1}}}}},
				{Ref: cluster.Ref{Kind: "Pod", Namespace: "shop", Name: "bare"}, Desired: 1, Pending: 1, Source: &manifest.Place{File: "-", Line: 1}},
			},
			Pods: []Pod{
				{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-1", Workload: "deployment/web"}, Ready: "1/1", Status: "Running", Node: "n1"},
				wait("web-2", "deployment/web", "no room"), wait("web-3", "deployment/web", "no room"), wait("web-4", "deployment/web", "no zone"),
				wait("bare", "", ""),
			},
			Rollouts: []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Desired: 3, Updated: 1, Old: 2, Ready: 1, Waiting: "pod web-2 is Pending"}},
			Why:      []string{"deployment/web: no node has room."},
			Expectations: []expect.Judged{
				{Want: "0 pods Pending", Got: "4 pods Pending", Source: &manifest.Place{File: "scenario.yaml", Line: 12}},
				{Want: "1 pod in each zone", Got: "1 pod in zone a", Met: true, Source: &manifest.Place{File: "scenario.yaml", Line: 13}},
				{Want: "rollouts end", Got: "deployment/web"},
			},
		}},
	}
}

func TestWorkload(t *testing.T) {
	s := &Step{Workloads: []Workload{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}}}}
	for of, want := range map[cluster.Ref]bool{
		{Kind: "deployment", Namespace: "shop", Name: "web"}: true, {Kind: "StatefulSet", Namespace: "shop", Name: "web"}: false,
		{Kind: "Deployment", Namespace: "other", Name: "web"}: false, {Kind: "Deployment", Namespace: "shop", Name: "api"}: false,
	} {
		if got := s.findWorkload(of) != nil; got != want {
			t.Errorf("%v: found %t, want %t", of, got, want)
		}
	}
}

func TestFindings(t *testing.T) {
	web := &manifest.Place{File: "k8s/web app.yaml", Line: 7}
	want := []expect.Finding{
		{ID: expect.NotMet, Level: expect.Error, Message: "want 0 pods Pending, got 4 pods Pending", Source: &manifest.Place{File: "scenario.yaml", Line: 12}, Step: "new-image"},
		{ID: expect.NotMet, Level: expect.Error, Message: "want rollouts end, got deployment/web", Step: "new-image"},
		{ID: expect.PodsPending, Level: expect.Warning, Message: "3 of 3 pods of deployment/web Pending: no room (and 1 other message)", Source: web,
			Step: "new-image", Namespace: "shop", Workload: "deployment/web"},
		{ID: expect.PodsPending, Level: expect.Warning, Message: "pod/bare Pending: kube-scheduler gave no message", Source: &manifest.Place{File: "-", Line: 1},
			Step: "new-image", Namespace: "shop", Workload: "pod/bare"},
		{ID: expect.RolloutStuck, Level: expect.Error, Message: "the rollout of deployment/web is stuck at 1 of 3 updated: pod web-2 is Pending", Source: web,
			Step: "new-image", Namespace: "shop", Workload: "deployment/web"},
	}
	if diff := cmp.Diff(want, sourced().Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
