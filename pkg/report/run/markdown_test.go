package run

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

func hostileReport() *Report {
	const h = reporttest.Hostile
	return &Report{
		Head: report.Head{Scenario: h, Version: h, Ties: "random", Cluster: report.Cluster{Levels: []report.Level{{TopologyKey: h, Domains: 2}}}},
		Steps: []Step{{
			Name: h, Action: h, TopologyKeys: []string{h}, Why: []string{h}, Notes: []string{h},
			Pods:         []Pod{{Namespace: h, Name: h, Workload: h, Message: h}, {Namespace: h, Name: h + "2", Workload: h, Node: "n", Status: "Running"}},
			Workloads:    []Workload{{Kind: "Deployment", Namespace: h, Name: h, Domains: []Distribution{{TopologyKey: h, Counts: []Count{{h, 1}}}}}},
			Preempted:    []Preemption{{Victim: h, For: h, Node: h}},
			Bindings:     []Binding{{Kind: h, Namespace: h, Name: h, Policy: h, Reason: h, Message: h, Clusters: []Share{{Cluster: h, Assigned: 1, Message: h}}, Leaving: []string{h}}},
			Rollouts:     []Rollout{{Kind: "Deployment", Namespace: h, Name: h, Waiting: h}},
			Expectations: []Expectation{{Want: h, Got: h, Source: &report.Source{File: h, Line: 1}}},
		}},
	}
}

func TestMarkdownHostile(t *testing.T) {
	reporttest.Harmless(t, string(markdownPage(hostileReport())))
}

// However much there is to say, it fits a comment, and what is left out is counted.
func TestMarkdownIsBounded(t *testing.T) {
	huge := hostileReport()
	huge.Steps[0].Why = []string{strings.Repeat("long ", 100_000)}
	for len(huge.Steps) < 2000 {
		huge.Steps = append(huge.Steps, huge.Steps[0])
	}
	reporttest.Bounded(t, markdownPage(huge), "expectations", "steps", "groups")
	reporttest.Bounded(t, markdownPage(large()))
}

func TestReportVerdict(t *testing.T) {
	pod := func(name, node, status string) Pod { return Pod{Name: name, Node: node, Status: status} }
	waits := Step{Summary: Summary{Pending: 1}, Pods: []Pod{pod("a", "", "Pending"), pod("b", "n", "Running")}}
	met, unmet := Expectation{Met: true}, Expectation{}
	for want, steps := range map[string][]Step{
		"No steps":               {},
		"1 step: every pod runs": {{Pods: []Pod{pod("a", "n", "Running")}}},
		"2 steps: every pod runs; 1 of 1 expectation met": {{}, {Expectations: []Expectation{met}}},
		// The same pod waits in both.
		"2 of 3 steps: 1 pod Pending":                              {waits, waits, {}},
		"1 of 1 step: every pod runs; 1 of 2 expectations not met": {{Expectations: []Expectation{met, unmet}}},
		"1 of 1 step: 1 pod Pending; 1 of 1 expectation met":       {{Summary: waits.Summary, Pods: waits.Pods, Expectations: []Expectation{met}}},
		"1 of 1 step: 1 workload not scheduled by Karmada":         {{Bindings: []Binding{{Reason: "NoClusterFit"}, {Reason: "Success"}}}},
		"1 of 1 step: 1 cluster given more than it can run": {{Bindings: []Binding{
			{Reason: "Success", Clusters: []Share{{Cluster: "m1", Assigned: 3, Running: 1, Pending: 2}, {Cluster: "m2", Assigned: 1, Running: 1}}},
			{Reason: "Success", Clusters: []Share{{Cluster: "m1", Assigned: 1, Pending: 1}}}}}},
		"1 of 2 steps: 1 pod not ready, 1 rollout stuck; 1 of 1 expectation met": {{Summary: Summary{NotReady: 1}, Pods: []Pod{pod("a", "n", "NotReady")}, Rollouts: make([]Rollout, 1), Expectations: []Expectation{met}}, {}},
	} {
		if got := (&Report{Steps: steps}).verdict(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
