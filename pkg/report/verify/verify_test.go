package verify

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// aVerification returns a report with a placement of every kind, and hostile texts.
func aVerification(name string) *Report {
	least := 90.0
	r := &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream", Cluster: report.Cluster{Nodes: 3}, Ignored: []report.Ignored{{APIVersion: "v1", Kind: "Secret", Name: name, Source: name}}},
		Count: verify.Count{Placements: 52, Only: 2, Choices: 50, Explained: 8, Proved: 6, ByAssumption: 2, NotUsable: 4, Open: 41, Contradictions: 1, Tied: 3, Reordered: 1,
			Agreement: 88.9, Interval: &verify.Interval{Low: 56.5, High: 98.0}},
		MinAgreement: &least,
		With:         []string{"events", "audit log"},
		Assumed: []verify.Assumed{
			{Namespace: "shop", Workload: name, Pods: 12, Endless: 3, CPU: "250m", Memory: "1Gi", Until: "2025-03-01T10:00:00Z"},
			{Namespace: "shop", Workload: "cart", Pods: 1, Endless: 1, CPU: "1", Memory: "1Gi"}, {Namespace: "shop", Workload: "known", Pods: 2, Endless: 2, Until: "2025-03-01T10:00:00Z"},
		},
		Pending: []verify.Pending{
			{PodRef: cluster.PodRef{Namespace: "shop", Name: name}, Message: "m", Recorded: "m"}, {PodRef: cluster.PodRef{Namespace: "shop", Name: "other"}, Message: "replay", Recorded: name},
			{PodRef: cluster.PodRef{Namespace: "shop", Name: "silent"}, Message: "m"}, {PodRef: cluster.PodRef{Namespace: "shop", Name: "fits"}, Node: name}, {PodRef: cluster.PodRef{Namespace: "shop", Name: "preempts"}, Node: "n1", Preempts: true},
		},
		Skipped: []verify.Skipped{{Why: "they are " + name, Count: 1, Pods: []string{"shop/" + name}}},
	}
	for i := range 41 {
		r.Divergences = append(r.Divergences, verify.Divergence{PodRef: cluster.PodRef{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}, At: "2025-03-01T10:00:00Z", Node: name, Best: "n2",
			Rank: 2, Behind: 67, Ahead: []verify.Points{{Plugin: "PodTopologySpread", Points: 68}, {Plugin: "NodeResourcesFit", Points: -1}}, Class: "deleted pods", Words: "others could have been there"})
	}
	r.Divergences = append(r.Divergences, verify.Divergence{PodRef: cluster.PodRef{Namespace: "shop", Name: name}, Node: "n3", Refused: "NodeResourcesFit: " + name, Contradiction: true, Class: "unexplained", Words: "nothing explains it"})
	return r
}

func verifyIn(t *testing.T, r *Report, format string, opts report.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Formats.Write(&out, r, format, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteVerify(t *testing.T) {
	r := aVerification("n1")
	reporttest.Golden(t, "mixed.text", verifyIn(t, r, "text", report.Options{}))
	reporttest.Golden(t, "mixed.markdown", verifyIn(t, r, "markdown", report.Options{}))
	if all := verifyIn(t, r, "text", report.Options{All: true}); !strings.Contains(all, "web-40") || strings.Contains(all, "use --all") {
		t.Errorf("--all does not list every pod:\n%s", all)
	}
	if quiet := verifyIn(t, r, "text", report.Options{Quiet: true}); strings.Count(quiet, "\n") != 5 {
		t.Errorf("-q is more than the verdict:\n%s", quiet)
	}
	schema := reporttest.Schema(t, "verify-report")
	for name, r := range map[string]*Report{"mixed": r, "least": {Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream"}}} {
		if err := reporttest.Validate(t, schema, verifyIn(t, r, "json", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Scheduler.Profiles, r.Cluster.Levels = []string{}, []report.Level{} // as they are written
	for _, format := range []string{"json", "yaml"} {
		again, err := report.Decode[Report]("r", []byte(verifyIn(t, r, format, report.Options{})), Kind)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmpopts.IgnoreUnexported(verify.Divergence{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	if err := Formats.Write(new(bytes.Buffer), r, "wide", report.Options{}); err == nil || err.Error() != `unknown output format "wide"; use one of text, json, yaml, markdown, html, svg, png` {
		t.Errorf("wide: %v", err)
	}
}

// Hostile texts neither control a terminal nor make markup.
func TestVerifyHostile(t *testing.T) {
	const hostile = "\x1b[31m<b>@you</b>|`x`\n# h"
	for _, format := range []string{"text", "json", "yaml", "markdown"} {
		out := verifyIn(t, aVerification(hostile), format, report.Options{})
		if strings.ContainsRune(out, '\x1b') || strings.Contains(out, "\n# h") {
			t.Errorf("%s lets control characters through:\n%s", format, out)
		}
		if format == "markdown" && strings.Contains(reporttest.RenderMarkdown(t, out), "<b>") {
			t.Errorf("markdown lets an element through:\n%s", out)
		}
	}
}

// The first line can be quoted: it has the sources, the contradictions, the proved choices and the open ones.
func TestVerifyVerdict(t *testing.T) {
	for want, r := range map[string]*Report{
		"With its events, 2 contradictions among 842 choices, 820 proved, 14 explained with what is assumed, 6 need more history.": {
			With: []string{"events"}, Count: verify.Count{Choices: 842, Explained: 834, Proved: 820, ByAssumption: 14, Open: 6, Contradictions: 2}},
		"From the dump alone, 0 contradictions among 1 choice, 1 proved.":                           {Count: verify.Count{Choices: 1, Explained: 1, Proved: 1}},
		"From the dump alone, 0 contradictions among 185 choices, 115 proved, 70 need its history.": {Count: verify.Count{Choices: 185, Explained: 115, Proved: 115, Open: 70}},
		"From the dump alone, 1 contradiction among 2 choices, 0 proved, 1 needs its history.":      {Count: verify.Count{Choices: 2, Open: 1, Contradictions: 1}},
		"From the dump alone, there is nothing to explain: none of 3 pods had a choice.":            {Count: verify.Count{Placements: 3, Only: 3}},
	} {
		if got := r.verdict()[0].Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestVerifyMet(t *testing.T) {
	for _, c := range []struct {
		explained, choices int
		least              float64
		want               bool
	}{{19, 20, 95, true}, {18, 20, 95, false}, {20, 20, 100, true}, {9999, 10000, 100, false}, {0, 1, 0, true}, {0, 0, 95, true}} {
		if got := (&Report{Count: verify.Count{Explained: c.explained, Contradictions: c.choices - c.explained, Choices: c.choices + 5, Open: 5}, MinAgreement: &c.least}).Met(); got != c.want {
			t.Errorf("%d of %d at %g%%: %t", c.explained, c.choices, c.least, got)
		}
	}
	if !(&Report{Count: verify.Count{Placements: 1}}).Met() {
		t.Error("nothing is asked for, and not met")
	}
}

func TestBars(t *testing.T) {
	want := []doc.BarRow{
		{Name: "contradiction", Values: []int{1, 0, 0, 0}, Note: "2.0%"}, {Name: "proved", Values: []int{0, 6, 0, 0}, Note: "12.0%; 3 among equal nodes"},
		{Name: "explained with what is assumed", Values: []int{0, 0, 2, 0}, Note: "4.0%"}, {Name: "needs history", Values: []int{0, 0, 0, 41}, Note: "82.0%"},
	}
	if diff := cmp.Diff(want, bars(aVerification("x")).Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
