package explain

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// explainReports reads the stored reports on a placed pod and on a Pending one.
func explainReports(t *testing.T) map[string]*Report {
	t.Helper()
	reports := map[string]*Report{}
	for _, name := range []string{"placed", "pending"} {
		file := "testdata/" + name + ".json"
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := report.Decode[Report](file, data, Kind)
		if err != nil {
			t.Fatal(err)
		}
		reports[name] = r
	}
	return reports
}

func TestWriteExplain(t *testing.T) {
	schema := reporttest.Schema(t, "explain-report")
	for name, r := range explainReports(t) {
		written := func(format string, opts report.Options) string {
			var out bytes.Buffer
			if err := Formats.Write(&out, r, format, opts); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		reporttest.Golden(t, ""+name+".text", written("text", report.Options{}))
		reporttest.Golden(t, ""+name+".story", written("text", report.Options{Story: true}))
		reporttest.Golden(t, ""+name+".patch", written("patch", report.Options{}))
		if err := reporttest.Validate(t, schema, written("json", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, format := range []string{"json", "yaml"} {
			again, err := report.Decode[Report](name, []byte(written(format, report.Options{})), Kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, again); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s", name, format, diff)
			}
		}
	}
	if err := Formats.Write(new(bytes.Buffer), &Report{}, "wide", report.Options{}); err == nil {
		t.Error("wide is no format, and there is no error")
	}
}

// The story follows from the cycle.
func TestStory(t *testing.T) {
	score := func(plugin string, raw, normalised, weight int64, parts ...placement.Part) placement.PluginScore {
		return placement.PluginScore{Plugin: plugin, Raw: raw, Normalised: normalised, Weight: weight, Weighted: normalised * weight, Parts: parts}
	}
	for name, c := range map[string]struct {
		e    Explanation
		want []string
	}{
		"held back": {Explanation{Wait: placement.Wait{Message: "waiting for scheduling gates: [g]"}}, []string{
			"The pod was held back before the scheduler looked at any node: waiting for scheduling gates: [g]",
		}},
		"alone": {Explanation{Node: "a", Cycle: &placement.Cycle{Searched: 1, Candidates: []placement.Candidate{{Node: "a", Chosen: true}}}}, []string{
			"Filter: the scheduler looks at 1 node, and no plugin refuses one.",
			"A single node is left, a, so there is nothing to score, and the pod goes there.",
		}},
		"tie above": {Explanation{Node: "a", Decision: &placement.Decision{Scored: 3, Ties: 2, Margin: 20, RunnerUp: "c", Deciders: []string{"Fit"}}, Cycle: &placement.Cycle{Searched: 3, Scored: 3, Candidates: []placement.Candidate{
			{Node: "a", Chosen: true, Rank: 1, Total: 120, Scores: []placement.PluginScore{score("Fit", 50, 50, 2), score("Taints", 0, 20, 1)}},
			{Node: "b", Rank: 1, Total: 120, Scores: []placement.PluginScore{score("Fit", 50, 50, 2), score("Taints", 0, 20, 1)}},
			{Node: "c", Rank: 3, Total: 100, Scores: []placement.PluginScore{score("Fit", 40, 40, 2), score("Taints", 0, 20, 1)}},
		}}}, []string{
			"Filter: the scheduler looks at 3 nodes, and no plugin refuses one.",
			"Score: each of 2 plugins gives every one of the 3 nodes points, which are brought to a scale from 0 to 100 and multiplied by the plugin's weight.",
			"Taints has the same points for all of them, and so decides nothing.",
			"Fit (weight 2) likes a and b best, with 100 points, and c least, with 80.",
			"The sum for a is 120. Fit decided alone that a is one of 2 equal nodes, and chance which of them: a is 20 points ahead of c.",
		}},
	} {
		c.e.Verdict = c.e.verdict()
		if diff := cmp.Diff(c.want, c.e.story()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
