package metric_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/metric"
)

func TestFront(t *testing.T) {
	point := func(pending, radius float64) map[string]float64 {
		return map[string]float64{"pending": pending, "radius zone": radius}
	}
	goals := []map[string]float64{
		point(0, 0.5), point(1, 0.33), // neither beats the other
		point(1, 0.5),             // beaten by both
		point(0, 0.5),             // as good as the first
		point(2, 0.33),            // beaten by the second
		{"pending": 1, "cost": 1}, // in their common goal the first is better
	}
	if diff := cmp.Diff([]bool{true, true, false, true, false, false}, metric.Front(goals)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	m := metric.Metrics{Pending: 2, Cost: new(1.5), Levels: []metric.LevelMetrics{
		{TopologyKey: "region", Domains: 1, Radius: 1, Failures: []metric.FailureMetrics{{Stranded: 7}}}, // all there is
		{TopologyKey: "zone", Domains: 2, Radius: 0.5, Failures: []metric.FailureMetrics{{Stranded: 1}, {Stranded: 1, Unreplaced: 2}}},
		{TopologyKey: "node", Domains: 4, Radius: 0.25},
	}}
	want := map[string]float64{"pending": 2, "radius region": 1, "radius zone": 0.5, "not back zone": 3, "radius node": 0.25, "cost": 1.5}
	if diff := cmp.Diff(want, m.Goals()); diff != "" {
		t.Errorf("goals (-want +got)\n%s", diff)
	}
	// A cost that covers only some of the nodes cannot be compared.
	m.Unpriced = 1
	if _, found := m.Goals()["cost"]; found {
		t.Error("a cost that leaves nodes out is a goal")
	}
}
