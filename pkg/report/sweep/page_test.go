package sweep

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/scenario"
)

// sweptOver returns a sweep over one parameter, in which point i has i%3 Pending pods.
func sweptOver(parameter string, values ...string) *Report {
	r := &Report{Head: report.Head{Scenario: "shop"}, Step: "apply", Parameters: []string{parameter}, Total: len(values)}
	for i, value := range values {
		r.Points = append(r.Points, Point{
			Index: i, Front: i%3 == 0, Values: map[string]scenario.Scalar{parameter: {Value: value}},
			Found: whatif.Found{Metrics: metric.Metrics{Pods: 10, Pending: i % 3, Levels: []metric.LevelMetrics{{TopologyKey: doc.Zone, Domains: 3, Radius: 1 / float64(1+i%3)}}}},
		})
	}
	return r
}

// The page contains its picture, runs no script, and shows hostile names as text.
func TestSweepPage(t *testing.T) {
	many := make([]string, maxRows+1)
	for i := range many {
		many[i] = fmt.Sprint("v", i)
	}
	for name, test := range map[string]struct {
		report *Report
		rows   int
	}{
		"nothing": {sweptOver("a"), 0}, "two": {sweptOver("rule", "soft", "hard"), 2}, "most": {sweptOver("image", many[1:]...), maxRows},
		"too many": {sweptOver("image", many...), maxPoints}, "hostile": {sweptOver("a<b>&\"\x1b[31m", "<script>", "\x00", "\u202e", "&amp;"), 4},
	} {
		var out strings.Builder
		if err := Formats.Write(&out, test.report, "html", report.Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := out.String()
		if !strings.Contains(html.UnescapeString(got), `<img src="data:image/svg+xml;base64,`) || strings.Contains(got, "<script") || strings.Contains(got, "script-src") || strings.Contains(got, "\x1b") {
			t.Errorf("%s: no picture, or a script, or control characters", name)
		}
		if rows := strings.Count(got, "<tr>") - 2; rows != test.rows { // titles, and the scenario without changes
			t.Errorf("%s: %d rows, want %d", name, rows, test.rows)
		}
		if name == "hostile" && !strings.Contains(got, "&lt;script&gt;") {
			t.Error("a name is not shown")
		}
	}
}
