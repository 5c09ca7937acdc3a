package verify

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// aVerification has a placement of every kind, and texts from elsewhere.
func aVerification(name string) *Report {
	least := 90.0
	r := &Report{
		Head:       report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream", Cluster: report.Cluster{Nodes: 3}, Ignored: []report.Ignored{{APIVersion: "v1", Kind: "Secret", Name: name, Source: name}}},
		Placements: 52, Only: 2, Choices: 50, Explained: 8, Tied: 3, Reordered: 1, Agreement: 16, Interval: &Interval{Low: 8.3, High: 28.5}, MinAgreement: &least,
		With: []string{"events", "audit log"},
		Assumed: []Assumed{
			{Namespace: "shop", Workload: name, Pods: 12, Endless: 3, CPU: "250m", Memory: "1Gi", Until: "2025-03-01T10:00:00Z"},
			{Namespace: "shop", Workload: "cart", Pods: 1, Endless: 1, CPU: "1", Memory: "1Gi"}, {Namespace: "shop", Workload: "known", Pods: 2, Endless: 2, Until: "2025-03-01T10:00:00Z"},
		},
		Pending: []Pending{
			{Namespace: "shop", Name: name, Message: "m", Recorded: "m"}, {Namespace: "shop", Name: "other", Message: "replay", Recorded: name},
			{Namespace: "shop", Name: "silent", Message: "m"}, {Namespace: "shop", Name: "fits", Node: name}, {Namespace: "shop", Name: "preempts", Node: "n1", Preempts: true},
		},
		Skipped: []Skipped{{Why: "they are " + name, Count: 1, Pods: []string{"shop/" + name}}},
	}
	for i := range 41 {
		r.Divergences = append(r.Divergences, Divergence{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), At: "2025-03-01T10:00:00Z", Node: name, Best: "n2",
			Rank: 2, Behind: 67, Ahead: []Points{{"PodTopologySpread", 68}, {"NodeResourcesFit", -1}}, Class: "deleted pods", Words: "others could have been there"})
	}
	r.Divergences = append(r.Divergences, Divergence{Namespace: "shop", Name: name, Node: "n3", Refused: "NodeResourcesFit: " + name, Class: "unexplained", Words: "nothing explains it"})
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
	if quiet := verifyIn(t, r, "text", report.Options{Quiet: true}); strings.Count(quiet, "\n") != 4 {
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
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	if err := Formats.Write(new(bytes.Buffer), r, "wide", report.Options{}); err == nil || err.Error() != `unknown output format "wide"; use one of text, json, yaml, markdown, html` {
		t.Errorf("wide: %v", err)
	}
}

// What comes from elsewhere drives no terminal and makes no markup.
func TestVerifyHostile(t *testing.T) {
	const hostile = "\x1b[31m<b>@you</b>|`x`\n# h"
	for _, format := range []string{"text", "json", "yaml", "markdown"} {
		out := verifyIn(t, aVerification(hostile), format, report.Options{})
		if strings.ContainsRune(out, '\x1b') || strings.Contains(out, "\n# h") {
			t.Errorf("%s lets control characters through:\n%s", format, out)
		}
		if format == "markdown" && strings.Contains(reporttest.Rendering(t, out), "<b>") {
			t.Errorf("markdown lets an element through:\n%s", out)
		}
	}
}

// The first line can be quoted: from what, which share of how many choices, and how sure that is.
func TestVerifyVerdict(t *testing.T) {
	for want, r := range map[string]*Report{
		"With its events, 99.0% of 842 choices are explained (95% interval 98.1% to 99.5%).":      {With: []string{"events"}, Choices: 842, Explained: 834, Agreement: 99.0499, Interval: &Interval{Low: 98.13, High: 99.52}},
		"From the dump alone, 100% of 1 choice is explained (95% interval 20.7% to 100%).":        {Choices: 1, Explained: 1, Agreement: 100, Interval: &Interval{Low: 20.7, High: 100}},
		"From the dump alone, 99.9% of 9999 choices are explained (95% interval 99.9% to 99.9%).": {Choices: 9999, Explained: 9998, Agreement: 99.99, Interval: &Interval{Low: 99.94, High: 99.998}},
		"From the dump alone, there is nothing to explain: none of 3 pods had a choice.":          {Placements: 3, Only: 3},
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
		if got := (&Report{Explained: c.explained, Choices: c.choices, MinAgreement: &c.least}).Met(); got != c.want {
			t.Errorf("%d of %d at %g%%: %t", c.explained, c.choices, c.least, got)
		}
	}
	if !(&Report{Placements: 1}).Met() {
		t.Error("nothing is asked for, and not met")
	}
}
