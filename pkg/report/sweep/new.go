package sweep

import (
	"fmt"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/figures"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// New returns the report on points of a sweep. from is the index of the first one. A nil in found is a point that was not finished. shard
// is nil for the whole sweep, key is the sweep's key, and version is Faultline's version.
func New(base *whatif.Base, s *scenario.Scenario, from int, found []*whatif.Found, shard *Shard, key string, opts whatif.Options, version string) *Report {
	r := &Report{
		Head: report.NewHead(base.Result, Kind, version), Key: key, Step: opts.Step, Workloads: figures.WorkloadNames(opts.Metric),
		Parameters: s.Parameters, Total: len(s.Points), Shard: shard, Baseline: base.Found,
	}
	if r.Step == "" {
		r.Step = base.Result.Last().Name
	}
	for i := range found {
		if found[i] == nil {
			continue
		}
		point := Point{Index: from + i, Values: map[string]scenario.Scalar{}, Found: *found[i]}
		for j, value := range s.Points[from+i].Values {
			point.Values[s.Parameters[j]] = value
		}
		r.Points = append(r.Points, point)
	}
	if len(r.Points) < len(found) {
		r.Partial = fmt.Sprintf("interrupted after %d of %s; the others are not compared", len(r.Points), words.Count(len(found), "point"))
	}
	r.Notes = append(r.Notes, figures.HowChanged(s.Points[from:from+len(found)], func(p scenario.Point) *scenario.Scenario { return p.Scenario })...)
	r.markFront()
	return r
}

// markFront marks the points on the Pareto front.
func (r *Report) markFront() {
	goals := make([]map[string]float64, len(r.Points))
	for i := range r.Points {
		goals[i] = r.Points[i].Goals()
	}
	for i, front := range metric.Front(goals) {
		r.Points[i].Front = front
	}
}
