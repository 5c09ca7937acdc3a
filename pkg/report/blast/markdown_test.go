package blast

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

func hostileBlast() *Report {
	const h = reporttest.Hostile
	radius := blast.Radius{Share: 1, Namespace: h, Workload: h, Lost: 1, Replicas: 1, Domains: []string{h}}
	return &Report{Head: report.Head{Scenario: h}, Mode: "unreachable", Simultaneous: 1, Recover: true, Steps: []Step{{Name: h, Action: h, Analysis: blast.Analysis{Levels: []blast.Level{{
		TopologyKey: h, Domains: 1, Radius: radius, Failures: []blast.Failure{{
			Domains: []string{h}, Nodes: []string{h}, Pods: 1, BrokenBudgets: []string{h},
			Workloads: []blast.Loss{{Ref: cluster.Ref{Kind: h, Namespace: h, Name: h}, Replicas: 1, Lost: 1, QuorumLost: true, Gone: true, BrokenBudgets: []string{h}}},
			Recovery: &blast.Recovery{After: radius, Stranded: []placement.StrandedPod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Wait: placement.Wait{Message: h}}},
				NotReplaced: []blast.UnreplacedPod{{PodRef: cluster.PodRef{Namespace: h, Name: h}, Why: h}}},
		}},
	}}}}}}
}

func TestBlastVerdict(t *testing.T) {
	stays := zones()
	stays.Steps[0].Levels[0].Failures = stays.Steps[0].Levels[0].Failures[:1]
	two := zones()
	two.Simultaneous, two.Recover = 2, false
	for i := range two.Steps[0].Levels[0].Failures {
		two.Steps[0].Levels[0].Failures[i].Recovery = nil
	}
	even := zones()
	even.Steps[0].Levels[0].Failures = even.Steps[0].Levels[0].Failures[2:]
	even.Steps[0].Levels[0].Failures[0] = blast.Failure{Domains: []string{"c"}, Pods: 1, Workloads: []blast.Loss{{Replicas: 4, Lost: 1, Even: 2}}, Recovery: &blast.Recovery{Lost: 1}}
	lost := zones()
	lost.Steps[0].Levels[0].Failures = []blast.Failure{{Domains: []string{"c"}, Pods: 3, Workloads: []blast.Loss{{Replicas: 4, Lost: 1, Even: 2}}, Recovery: &blast.Recovery{Lost: 3, NotReplaced: make([]blast.UnreplacedPod, 3)}}}
	steps := zones()
	steps.Steps = append(steps.Steps, stays.Steps[0])
	for want, r := range map[string]*Report{
		"No failures": {},
		"Zone b is the worst: 1 budget broken, 2 of 3 lost pods do not come back.":                                                          zones(),
		"Zone a is the worst: 1 of 3 workloads down for 5 min 50 s (it has one replica), 1 quorum lost, 2 of 4 lost pods do not come back.": stays,
		"Zone b is the worst: 1 budget broken.":                                                                                                            two,
		"After step all, zone b is the worst: 1 budget broken, 2 of 3 lost pods do not come back.":                                                         steps,
		"No failure takes a workload down, breaks a budget or loses a quorum, and every lost pod comes back; zone c is the worst, with 25% of a workload.": even,
		"Zone c is the worst: 3 of 3 lost pods do not come back.":                                                                                          lost,
	} {
		if got := r.verdict().Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// If another failure takes more of something than the worst one, it is named, too; so is the selection of workloads.
func TestBlastConclusion(t *testing.T) {
	r := zones()
	level := &r.Steps[0].Levels[0]
	level.Failures[0].Workloads[1].Lost = 5
	level.Failures[1].Recovery.Stranded, level.Failures[0].Recovery.Stranded = nil, level.Failures[1].Recovery.Stranded
	r.Filter = &blast.Filter{Workloads: []string{"deployment/web", "sts/db"}, Namespace: "shop", Selector: "app=web", MinReplicas: 2}
	want := []string{
		"More workloads are down with zone a: 2 of 3.",
		"More pods do not come back with zone a: 4 of 4.",
		"shop/deployment/solo has one replica: any failure of its domain takes it whole.",
		"Only workloads named deployment/web or sts/db, in namespace shop, with labels app=web and with at least 2 replicas; what fails is the same.",
	}
	if diff := cmp.Diff(want, r.conclusion(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBlastMarkdownHostile(t *testing.T) {
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, hostileBlast(), "markdown", report.Options{}))
}

// Even the largest report fits a comment, and counts what is left out.
func TestBlastMarkdownIsBounded(t *testing.T) {
	wide := hostileBlast()
	for len(wide.Steps) < 500 {
		wide.Steps = append(wide.Steps, wide.Steps[0])
	}
	reporttest.CheckBounded(t, reporttest.Write(t, Formats, wide, "markdown", report.Options{}), "rows", "sections")
	reporttest.CheckBounded(t, reporttest.Write(t, Formats, many(5000), "markdown", report.Options{}))
}
