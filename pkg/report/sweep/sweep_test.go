package sweep

import (
	"encoding/json"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// swept returns a sweep of 30 points over the replicas: point i has radius 1/i and, from 25 on, one more Pending pod than the point before.
func swept(t *testing.T) *Report {
	t.Helper()
	base := &whatif.Base{Result: reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply"), Found: found(3, 0)}
	s := &scenario.Scenario{Parameters: []string{"replicas"}}
	var all []*whatif.Found
	for i := 1; i <= 30; i++ {
		s.Points = append(s.Points, scenario.Point{Values: []scenario.Scalar{{Value: json.Number(strconv.Itoa(i))}}})
		point := found(i, max(0, i-24))
		all = append(all, &point)
	}
	return New(base, s, 0, all, nil, "key", whatif.Options{}, "v0.1.0")
}

func found(replicas, pending int) whatif.Found {
	return whatif.Found{Metrics: metric.Metrics{Pods: replicas, Pending: pending, Levels: []metric.LevelMetrics{
		{TopologyKey: v1.LabelTopologyZone, Domains: 2, Skew: replicas % 2, Radius: 1 / float64(replicas), RadiusOf: "deployment/web", RadiusIn: "a"},
	}}}
}

// By hand: 24 points leave no pod Pending, and the last of these has the smallest radius. Each further point has a smaller radius and one
// more Pending pod, so that 7 points are not beaten.
func TestFormats(t *testing.T) {
	r := swept(t)
	reporttest.Formats(t, Formats, r, "replicas", "sweep-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"24 of 30 points leave no pod Pending; 7 are not beaten by another in Pending pods and blast radius.",
		"Sweep over replicas, after step apply. An asterisk marks what is not beaten.",
		"      as it is   3      0         0       1           33%",
		"*     24         24     0         0       0           4%",
		"*     30         30     6         0       0           3%",
		"… and 23 more points; see --all, or -o csv",
	)
}

func TestAbout(t *testing.T) {
	r := swept(t)
	r.Points, r.Shard, r.Workloads = r.Points[:3], &Shard{Index: 1, Count: 10}, []string{"deployment/web"}
	want := "Sweep over replicas, after step apply; shard 1 of 10, with 3 of 30 points; skew and blast radius of deployment/web. An asterisk marks what is not beaten."
	if got := r.describeSweep(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// At points 2 and 3 of 3 an autoscaler holds back 4 of 6 and 7 of 9 replicas. At point 1 it allows more than were asked for, and holds back
// none.
func TestHeldBack(t *testing.T) {
	r := &Report{}
	for i, wanted := range []int32{1, 6, 9} {
		r.Points = append(r.Points, Point{Index: i, Found: whatif.Found{Held: []world.Held{{Replicas: 2, Wanted: wanted}}}})
	}
	const want = "2 of 3 points: HorizontalPodAutoscalers allow fewer replicas; at point 2 2 of 6 (1 workload)."
	if got := r.describeHeld(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (&Report{Points: r.Points[:1]}).describeHeld(); got != "" {
		t.Errorf("got %s, want nothing", got)
	}
}
