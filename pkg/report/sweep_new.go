package report

import (
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/scenario"
)

// NewSweep puts what the points of a sweep come to into the model; from is the place of the first, and shard nil for all of them. The
// key is that of the sweep, and the version Faultline's own.
func NewSweep(base *whatif.Base, s *scenario.Scenario, from int, found []whatif.Found, shard *SweepShard, key string, opts whatif.Options, version string) *SweepReport {
	r := &SweepReport{
		Head: newHead(base.Result, SweepKind, version), Key: key, Step: opts.Step, Workloads: workloadNames(opts.Metric),
		Parameters: s.Parameters, Total: len(s.Points), Shard: shard, Baseline: base.Found,
	}
	if r.Step == "" {
		r.Step = base.Result.Steps[len(base.Result.Steps)-1].Name
	}
	for i := range found {
		point := SweepPoint{Index: from + i, Values: map[string]scenario.Scalar{}, Found: found[i]}
		for j, value := range s.Points[from+i].Values {
			point.Values[s.Parameters[j]] = value
		}
		r.Points = append(r.Points, point)
	}
	r.front()
	return r
}

// front tells of each point whether it is on the Pareto front.
func (r *SweepReport) front() {
	goals := make([]map[string]float64, len(r.Points))
	for i := range r.Points {
		goals[i] = r.Points[i].Goals()
	}
	for i, front := range metric.Front(goals) {
		r.Points[i].Front = front
	}
}
