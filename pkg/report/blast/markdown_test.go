package blast

import (
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

func hostileBlast() *Report {
	const h = reporttest.Hostile
	radius := Radius{Share: 1, Namespace: h, Workload: h, Lost: 1, Replicas: 1, Domains: []string{h}}
	return &Report{Head: report.Head{Scenario: h}, Mode: "unreachable", Simultaneous: 1, Recover: true, Steps: []Step{{Name: h, Action: h, Levels: []Level{{
		TopologyKey: h, Domains: 1, Radius: radius, Failures: []Failure{{
			Domains: []string{h}, Nodes: []string{h}, Pods: 1, BrokenBudgets: []string{h},
			Workloads: []Loss{{Kind: h, Namespace: h, Name: h, Replicas: 1, Lost: 1, QuorumLost: true, Gone: true, BrokenBudgets: []string{h}}},
			Recovery: &Recovery{After: radius, Stranded: []report.StrandedPod{{Namespace: h, Name: h, Workload: h, Message: h}},
				NotReplaced: []UnreplacedPod{{Namespace: h, Name: h, Why: h}}},
		}},
	}}}}}
}

func TestBlastVerdict(t *testing.T) {
	stays := zones()
	stays.Steps[0].Levels[0].Failures = stays.Steps[0].Levels[0].Failures[:1]
	two := zones()
	two.Simultaneous, two.Recover = 2, false
	for i := range two.Steps[0].Levels[0].Failures {
		two.Steps[0].Levels[0].Failures[i].Recovery = nil
	}
	for want, r := range map[string]*Report{
		"No failures": {},
		"Failure of one zone takes up to 100% of a workload; up to 2 pods stranded":                                    zones(),
		"Failure of one zone takes up to 100% of a workload; no pod stranded":                                          stays,
		"Failure of 2 zones together takes up to 100% of a workload":                                                   two,
		"Failure of one region takes up to 67% of a workload, of one zone 50%, of one node 50%; up to 2 pods stranded": storedBlast(t),
	} {
		if got := r.verdict(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestBlastMarkdownHostile(t *testing.T) {
	reporttest.Harmless(t, string(markdownPage(hostileBlast())))
}

// However much there is to say, it fits a comment, and what is left out is counted.
func TestBlastMarkdownIsBounded(t *testing.T) {
	wide := hostileBlast()
	for len(wide.Steps) < 500 {
		wide.Steps = append(wide.Steps, wide.Steps[0])
	}
	reporttest.Bounded(t, markdownPage(wide), "rows", "steps", "lines")
	reporttest.Bounded(t, markdownPage(many(5000)))
}
