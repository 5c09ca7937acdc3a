package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
)

// found returns a version with that many Pending pods of 6, that skew and radius over 3 zones, and the pods that the loss of zones a and b
// strands.
func found(pending, skew int, radius float64, stranded ...int) *whatif.Found {
	zones := metric.LevelMetrics{TopologyKey: v1.LabelTopologyZone, Domains: 3, Skew: skew, SkewOf: "deployment/web", Radius: radius, RadiusOf: "deployment/web", RadiusIn: "a"}
	for i, n := range stranded {
		zones.Failures = append(zones.Failures, metric.FailureMetrics{Domain: string(rune('a' + i)), Lost: 3, Stranded: n, Unreplaced: i})
	}
	return &whatif.Found{Moved: skew, Metrics: metric.Metrics{Pods: 6, Pending: pending, Levels: []metric.LevelMetrics{zones}}}
}

// compared compares the scenario without changes with a variant that is better in everything, one that is better in one thing and worse in
// another, and one that is worse.
func compared(t *testing.T) *Report {
	t.Helper()
	priced := found(0, 2, 0.25, 1, 0)
	cost := 1.25
	priced.Cost, priced.Unpriced = &cost, 1
	hard := found(3, 0, 1./6, 0, 0)
	hard.NewlyPending, hard.Cause = 2, "cpu"
	base := &whatif.Base{Found: *found(1, 1, 0.5, 2, 0), Result: reporttest.Result(t, reporttest.Nodes("a-1", "b-1", "c-1"), "apply", "later")}
	variants := []scenario.LoadedVariant{{Name: "soft", Description: "with soft rules"}, {Name: "hard"}, {Name: "none"}}
	return New(base, variants, []*whatif.Found{priced, hard, found(1, 3, 0.5, 2, 1)}, whatif.Options{Step: "apply"}, "v0.1.0")
}

func TestFormats(t *testing.T) {
	r := compared(t)
	reporttest.Formats(t, Formats, r, "variants", "compare-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"soft comes first: 0 pods Pending (now 1), the loss of a zone takes at most 25% of a workload (now 50%) and leaves 1 lost pod without a node (now 2); "+
			"1 of 3 leaves pods newly Pending: hard 2 (cpu).",
		"soft and hard are not beaten: no other is better in one thing and as good in the rest.",
		"  baseline   6      1         1       1           50%           ≥2              <none>",
		"* soft       6      0         2       2           25%           ≥1              1.25 and 1 node without a price",
		"soft       zone    a 1 of 3, b 1 of 3 (1 not replaced)",
		"Variants: soft: with soft rules",
	)
}

// An interrupted comparison compares the variants that it has finished.
func TestPartial(t *testing.T) {
	base := &whatif.Base{Found: *found(1, 1, 0.5), Result: reporttest.Result(t, reporttest.Nodes("a-1"), "apply")}
	variants := []scenario.LoadedVariant{{Name: "soft"}, {Name: "hard"}, {Name: "none"}}
	r := New(base, variants, []*whatif.Found{nil, found(0, 0, 0.25), nil}, whatif.Options{}, "v0.1.0")
	partial := "interrupted after 2 of 4 variants; the others are not compared"
	for format, want := range map[string]string{
		"text":     "Partial: " + partial + "\n\nhard: 0 pods Pending (now 1); the loss of a zone takes at most 25% of a workload (now 50%).",
		"markdown": "Partial: " + partial + "\n\n**hard: 0 pods Pending (now 1); the loss of a zone takes at most 25% of a workload (now 50%).**",
		"json":     `"partial": "` + partial + `"`,
		"svg":      "(partial)",
	} {
		if out := reporttest.Write(t, Formats, r, format, report.Options{}); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", format, want, out)
		}
	}
}

// By hand: soft has the fewest Pending pods, hard the smallest radius and strands the fewest; the others are beaten by soft.
func TestFront(t *testing.T) {
	var front []string
	for _, v := range compared(t).Variants {
		if v.Front {
			front = append(front, v.Name)
		}
	}
	if diff := cmp.Diff([]string{"soft", "hard"}, front); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The report leaves out what is unknown: levels that a variant lacks, failures that strand no pod, descriptions. It counts a failure for
// which there is no room.
func TestSparse(t *testing.T) {
	level := func(key string, radius float64, domains string) *whatif.Found {
		of := metric.LevelMetrics{TopologyKey: key, Domains: max(2, len(domains)), Skew: 2, Radius: radius}
		for _, domain := range domains {
			of.Failures = append(of.Failures, metric.FailureMetrics{Domain: string(domain), Lost: 3, Stranded: 1})
		}
		return &whatif.Found{Metrics: metric.Metrics{Levels: []metric.LevelMetrics{of}}}
	}
	base := &whatif.Base{Found: *level("rack", 0.5, ""), Result: reporttest.Result(t, nil, "first", "last")}
	same := level("hall", 0.5, "ab")
	same.Levels[0].Failures[0].Stranded, same.Levels[0].Failures[1].Stranded = 0, 0
	variants := []scenario.LoadedVariant{{Name: "six"}, {Name: "seven"}, {Name: "same"}}
	r := New(base, variants, []*whatif.Found{level("zone", 0.25, "abcdef"), level("zone", 0.25, "abcdefg"), same}, whatif.Options{}, "v0.1.0")
	r.Workloads = []string{"deployment/web", "deployment/api"}
	out := reporttest.Write(t, Formats, r, "text", report.Options{})
	six := "zone a 1 of 3, b 1 of 3, c 1 of 3, d 1 of 3, e 1 of 3, f 1 of 3"
	reporttest.CheckLines(t, out,
		"4 variants after step last, the best first; skew and blast radius of deployment/web and deployment/api. An asterisk marks those that are not beaten.",
		"VARIANT PODS PENDING MOVED SKEW/RACK RADIUS/RACK SKEW/ZONE RADIUS/ZONE SKEW/HALL RADIUS/HALL NOT BACK/ZONE NOT BACK/HALL",
		"* baseline 0 0 0 2 50% <none> <none> <none> <none> <none> <none>",
		"* six 0 0 0 <none> <none> 2 25% <none> <none> 1 <none>",
		"six "+six, "seven "+six+", and 1 more")
	if strings.Contains(out, "Variants:") || len(r.failures()) != 3 {
		t.Errorf("two variants strand pods, and none has a description; got\n%s", out)
	}
	if svg := reporttest.Write(t, Formats, r, "svg", report.Options{}); !strings.Contains(svg, "blast radius of deployment/web and deployment/api") {
		t.Error("the picture does not name the workloads")
	}
	r.Variants = r.Variants[3:]
	if out := reporttest.Write(t, Formats, r, "text", report.Options{}); strings.Contains(out, failuresTitle) {
		t.Errorf("no failure strands pods; got\n%s", out)
	}
}

func TestFrontInWords(t *testing.T) {
	for want, front := range map[string][]bool{
		"None beats another: each is better in one thing and worse in another, or they are alike.": {true, true},
		"a beats every other, or is as good in everything.":                                        {true, false, false},
		"a and c are not beaten: no other is better in one thing and as good in the rest.":         {true, false, true},
	} {
		r := &Report{}
		for i, unbeaten := range front {
			r.Variants = append(r.Variants, Variant{Name: string(rune('a' + i)), Front: unbeaten})
		}
		if got := r.frontSentence(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// stuck returns a version whose rollout gets stuck.
func stuck(pending int) *whatif.Found {
	f := found(pending, 0, 0.5)
	f.StuckRollouts = []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Name: "web", Namespace: "default"}, Desired: 3, Waiting: "no room."}}
	return f
}

// The first line is about the best variant, or says that none is better than the present.
func TestAnswer(t *testing.T) {
	newly := found(1, 1, 0.5)
	newly.NewlyPending, newly.Cause = 1, "cpu"
	alone := found(0, 1, 0.5, 4)
	alone.Levels[0].Domains = 1 // no domain is left to which lost pods could come back
	for want, variants := range map[string][]*whatif.Found{
		"a: no figure changes.":                           {found(1, 1, 0.5)},
		"a: 1 pod newly Pending (cpu), 1 in all (now 1).": {newly},
		"a: 0 pods Pending (now 1).":                      {alone},
		"a does not come about: the rollout of deployment/web gets stuck, at 0 of 3 updated: no room.":                                      {stuck(0)},
		"No variant comes about: each rollout gets stuck. The first: the rollout of deployment/web gets stuck, at 0 of 3 updated: no room.": {stuck(0), stuck(1)},
		"No variant changes a figure: 1 pod is Pending.":                                                                                    {found(1, 1, 0.5), found(1, 1, 0.5)},
		"No variant is better than now; 1 of 2 leaves pods newly Pending: b 1 (cpu).":                                                       {found(2, 1, 0.5), newly},
		"No variant is better than now in everything.":                                                                                      {found(2, 1, 0.25), found(1, 1, 0.5)},
		"b is best: the loss of a zone takes at most 25% of a workload (now 50%); 1 of 2 does not come about, its rollout gets stuck: a.":   {stuck(1), found(1, 1, 0.25)},
	} {
		base := &whatif.Base{Found: *found(1, 1, 0.5, 0), Result: reporttest.Result(t, reporttest.Nodes("a-1"), "apply")}
		var names []scenario.LoadedVariant
		for i := range variants {
			names = append(names, scenario.LoadedVariant{Name: string(rune('a' + i))})
		}
		if got := New(base, names, variants, whatif.Options{}, "v0.1.0").answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The descriptions of variants come from a file, too.
func TestMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile + "\a\u202e"
	r := &Report{Head: report.Head{Scenario: h}, Variants: []Variant{{Name: "baseline"}, {Name: h, Description: h}}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
