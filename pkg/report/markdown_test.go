package report

import (
	"fmt"
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

func hostileBlast() *BlastReport {
	const h = reporttest.Hostile
	radius := Radius{Share: 1, Namespace: h, Workload: h, Lost: 1, Replicas: 1, Domains: []string{h}}
	return &BlastReport{Head: Head{Scenario: h}, Mode: "unreachable", Simultaneous: 1, Recover: true, Steps: []BlastStep{{Name: h, Action: h, Levels: []BlastLevel{{
		TopologyKey: h, Domains: 1, Radius: radius, Failures: []Failure{{
			Domains: []string{h}, Nodes: []string{h}, Pods: 1, BrokenBudgets: []string{h},
			Workloads: []Loss{{Kind: h, Namespace: h, Name: h, Replicas: 1, Lost: 1, QuorumLost: true, Gone: true, BrokenBudgets: []string{h}}},
			Recovery: &Recovery{After: radius, Stranded: []StrandedPod{{Namespace: h, Name: h, Workload: h, Message: h}},
				NotReplaced: []UnreplacedPod{{Namespace: h, Name: h, Why: h}}},
		}},
	}}}}}
}

func hostileDrain() *DrainReport {
	const h = reporttest.Hostile
	node := DrainedNode{Node: h, Evicted: []DrainedPod{{h, h, h}}, Blocked: []BlockedPod{{h, h, h, h}}, Refused: []BlockedPod{{h, h, h, h}},
		Placed: []RecoveredPod{{Namespace: h, Name: h, Workload: h, Node: h}}, Pending: []StrandedPod{{Namespace: h, Name: h, Message: h}}}
	return &DrainReport{Head: Head{Scenario: h}, Nodes: []DrainedNode{node, node}, Order: []DrainedNode{node}}
}

func TestMarkdownHostile(t *testing.T) {
	for name, page := range map[string][]byte{
		"report": reportMarkdown(hostileReport()), "blast": blastMarkdown(hostileBlast()), "drain": drainMarkdown(hostileDrain()),
		"diff": diffMarkdown(NewDiff(hostileReport(), changed(hostileReport()), reporttest.Hostile)), "blast diff": diffMarkdown(NewBlastDiff(&BlastReport{Steps: []BlastStep{{Name: reporttest.Hostile, Levels: []BlastLevel{{TopologyKey: reporttest.Hostile}}}}}, hostileBlast(), reporttest.Hostile)),
	} {
		t.Run(name, func(t *testing.T) { reporttest.Harmless(t, string(page)) })
	}
}

// What variants say of themselves comes from a file, too.
func TestCompareMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile + "\a\u202e"
	page := string(compareMarkdown(&CompareReport{Head: Head{Scenario: h}, Variants: []CompareVariant{{Name: "baseline"}, {Name: h, Description: h}}}))
	if shown := reporttest.Rendering(t, page); strings.Contains(shown, "<img") || strings.Contains(shown, "<a ") || strings.ContainsAny(page, "\x1b\a\u202e") {
		t.Errorf("markup or control characters in\n%s", page)
	}
}

// What a cell holds is what a reader sees of it, whatever stands in the text.
func TestMarkdownShowsTheText(t *testing.T) {
	tag := regexp.MustCompile(`<[^>]*>`)
	for _, text := range []string{"a|b", `a\|b`, `\`, "`", "a`b|c", `x\`, "<none>", "&amp;", "1. a_b_c * d", "~/k8s/x.yaml:3", "{key: value}", "a://b"} {
		for name, markup := range map[string]string{"prose": prose(text), "code": code(text)} {
			table := &markdown{}
			table.block("%s%s%s", line([]string{"a", "b"}), line([]string{"---", "---"}), strings.TrimSuffix(line([]string{markup, "end"}), "\n"))
			shown := reporttest.Rendering(t, table.out.String())
			cells := regexp.MustCompile(`(?s)<td>(.*?)</td>`).FindAllStringSubmatch(shown, -1)
			if len(cells) != 2 {
				t.Errorf("%s of %q: %d cells in\n%s", name, text, len(cells), shown)
				continue
			}
			if got := unescaped(tag.ReplaceAllString(cells[0][1], "")); got != text {
				t.Errorf("%s of %q shows %q", name, text, got)
			}
			if got := strings.TrimSpace(unescaped(tag.ReplaceAllString(reporttest.Rendering(t, "Text "+markup), ""))); got != "Text "+text {
				t.Errorf("%s of %q outside of a table shows %q", name, text, got)
			}
		}
	}
}

func unescaped(html string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&amp;", "&").Replace(html)
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

func TestBlastVerdict(t *testing.T) {
	stays := zones()
	stays.Steps[0].Levels[0].Failures = stays.Steps[0].Levels[0].Failures[:1]
	two := zones()
	two.Simultaneous, two.Recover = 2, false
	for i := range two.Steps[0].Levels[0].Failures {
		two.Steps[0].Levels[0].Failures[i].Recovery = nil
	}
	for want, r := range map[string]*BlastReport{
		"No failure was looked at": {},
		"Failure of one zone takes up to 100% of a workload; up to 2 pods stranded":                                    zones(),
		"Failure of one zone takes up to 100% of a workload; no pod stranded":                                          stays,
		"Failure of 2 zones together takes up to 100% of a workload":                                                   two,
		"Failure of one region takes up to 70% of a workload, of one zone 50%, of one node 50%; up to 2 pods stranded": storedBlast(t),
	} {
		if got := r.verdict(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestDrainMarkdown(t *testing.T) {
	reporttest.Golden(t, "rendered/drain.markdown", string(drainMarkdown(aDrain())))
}

func TestShortened(t *testing.T) {
	if got := shortened(strings.Repeat("é", maxWords)); got != strings.Repeat("é", maxWords) {
		t.Error("what fits is shortened")
	}
	if got, want := shortened(strings.Repeat("é", maxWords+1)), fmt.Sprintf("%s…", strings.Repeat("é", maxWords-1)); got != want {
		t.Errorf("got %s", got)
	}
}
