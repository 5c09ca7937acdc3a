package run

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/world"
)

func hostileReport() *Report {
	const h = reporttest.Hostile
	return &Report{
		Head: report.Head{Scenario: h, Version: h, Ties: "random", Cluster: report.Cluster{Levels: []report.Level{{TopologyKey: h, Domains: 2}}}},
		Steps: []Step{{
			Name: h, Action: h, TopologyKeys: []string{h}, Why: []string{h}, Notes: []string{h},
			Pods:         []Pod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Ready: h, Status: h, Wait: placement.Wait{Message: h}}, {PodRef: cluster.PodRef{Namespace: h, Name: h + "2", Workload: h}, Node: "n", Status: "Running"}},
			Workloads:    []Workload{{Ref: cluster.Ref{Kind: "Deployment", Namespace: h, Name: h}, Domains: []Distribution{{TopologyKey: h, Counts: []Count{{h, 1}}}}}},
			Preempted:    []Preemption{{Victim: h, For: h, Node: h}},
			Bindings:     []Binding{{Kind: h, Namespace: h, Name: h, Policy: h, Reason: h, Message: h, Clusters: []world.Share{{Cluster: h, Assigned: 1, Message: h}}, Leaving: []string{h}}},
			Rollouts:     []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Namespace: h, Name: h}, Waiting: h}},
			Drains:       []Drain{{Node: h, Stays: []world.BlockedPod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Reason: h}}}},
			Expectations: []expect.Judged{{Want: h, Got: h, Source: &manifest.Place{File: h, Line: 1}}},
		}},
	}
}

func TestMarkdownHostile(t *testing.T) {
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, hostileReport(), "markdown", report.Options{}))
}

// Even the largest report fits a comment, and counts what is left out.
func TestMarkdownIsBounded(t *testing.T) {
	huge := hostileReport()
	huge.Steps[0].Why = []string{strings.Repeat("long ", 100_000)}
	for len(huge.Steps) < 2000 {
		huge.Steps = append(huge.Steps, huge.Steps[0])
	}
	reporttest.CheckBounded(t, reporttest.Write(t, Formats, huge, "markdown", report.Options{}), "steps", "sections")
	reporttest.CheckBounded(t, reporttest.Write(t, Formats, large(), "markdown", report.Options{}))
}
