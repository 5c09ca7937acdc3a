package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

func hostileReport() *Report {
	const h = reporttest.Hostile
	return &Report{
		Head: Head{Scenario: h, Version: h, Ties: "random", Cluster: Cluster{Levels: []Level{{TopologyKey: h, Domains: 2}}}},
		Steps: []Step{{
			Name: h, Action: h, TopologyKeys: []string{h}, Why: []string{h}, Notes: []string{h},
			Pods:         []Pod{{Namespace: h, Name: h, Workload: h, Message: h}, {Namespace: h, Name: h + "2", Workload: h, Node: "n", Status: "Running"}},
			Workloads:    []Workload{{Kind: "Deployment", Namespace: h, Name: h, Domains: []Distribution{{TopologyKey: h, Counts: []Count{{h, 1}}}}}},
			Preempted:    []Preemption{{Victim: h, For: h, Node: h}},
			Rollouts:     []Rollout{{Kind: "Deployment", Namespace: h, Name: h, Waiting: h}},
			Expectations: []Expectation{{Want: h, Got: h, Source: &Source{File: h, Line: 1}}},
		}},
	}
}

// changed is the report with other pods, numbers and a name for everything that Markdown tells of.
func changed(r *Report) *Report {
	r.Version, r.Scenario = r.Version+"2", r.Scenario+"2"
	s := &r.Steps[0]
	s.Pods[0].Message, s.Pods[1].Node = s.Pods[0].Message+"2", s.Pods[1].Node+reporttest.Hostile
	s.Pods = append(s.Pods, Pod{Namespace: reporttest.Hostile, Name: reporttest.Hostile + "3", Workload: reporttest.Hostile, Message: reporttest.Hostile})
	s.Summary.Pending, s.Summary.NotReady = 7, 8
	s.Workloads[0].Domains[0].Counts[0].Pods = 9
	s.Rollouts[0].Name += "2"
	s.Expectations[0].Want += "2"
	r.Steps = append(r.Steps, Step{Name: reporttest.Hostile + "2"})
	return r
}

func TestMarkdownHostile(t *testing.T) {
	for name, page := range map[string][]byte{
		"report": reportMarkdown(hostileReport()), "blast": blastMarkdown(hostileBlast()), "drain": drainMarkdown(hostileDrain()),
		"diff": diffMarkdown(NewDiff(hostileReport(), changed(hostileReport()), reporttest.Hostile)), "blast diff": diffMarkdown(NewBlastDiff(&BlastReport{Steps: []BlastStep{{Name: reporttest.Hostile, Levels: []BlastLevel{{TopologyKey: reporttest.Hostile}}}}}, hostileBlast(), reporttest.Hostile)),
	} {
		t.Run(name, func(t *testing.T) { reporttest.Harmless(t, string(page)) })
	}
}

// However much there is to tell, it fits a comment, and what is left out is counted.
func TestMarkdownIsBounded(t *testing.T) {
	const most = 65_536
	huge := hostileReport()
	huge.Steps[0].Why = []string{strings.Repeat("long ", 100_000)}
	for len(huge.Steps) < 2000 {
		huge.Steps = append(huge.Steps, huge.Steps[0])
	}
	wide := hostileBlast()
	for len(wide.Steps) < 500 {
		wide.Steps = append(wide.Steps, wide.Steps[0])
	}
	drain := hostileDrain()
	for len(drain.Nodes[0].Evicted) < 5000 {
		drain.Nodes[0].Evicted = append(drain.Nodes[0].Evicted, drain.Nodes[0].Evicted[0])
	}
	for len(drain.Nodes) < 500 {
		drain.Nodes = append(drain.Nodes, drain.Nodes[0])
	}
	for name, test := range map[string]struct {
		page []byte
		more []string
	}{
		"report": {reportMarkdown(huge), []string{"more expectations", "more steps", "more groups"}},
		"large":  {reportMarkdown(large()), nil},
		"blast":  {blastMarkdown(wide), []string{"more rows", "more steps", "more lines"}},
		"many":   {blastMarkdown(many(5000)), nil},
		"drain":  {drainMarkdown(drain), []string{"more nodes", "more lines"}},
	} {
		if len(test.page) > most {
			t.Errorf("%s: %d bytes", name, len(test.page))
		}
		for _, more := range test.more {
			if !regexp.MustCompile(`\nand \d+ ` + more).Match(test.page) {
				t.Errorf("%s: nothing says that there are %s", name, more)
			}
		}
	}
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
		"2 of 3 steps: 1 pod Pending":                                            {waits, waits, {}},
		"1 of 1 step: every pod runs; 1 of 2 expectations not met":               {{Expectations: []Expectation{met, unmet}}},
		"1 of 1 step: 1 pod Pending; 1 of 1 expectation met":                     {{Summary: waits.Summary, Pods: waits.Pods, Expectations: []Expectation{met}}},
		"1 of 2 steps: 1 pod not ready, 1 rollout stuck; 1 of 1 expectation met": {{Summary: Summary{NotReady: 1}, Pods: []Pod{pod("a", "n", "NotReady")}, Rollouts: make([]Rollout, 1), Expectations: []Expectation{met}}, {}},
	} {
		if got := (&Report{Steps: steps}).verdict(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
