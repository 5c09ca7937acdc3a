package run

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// Findings returns the expectations that were not met, the workloads with Pending pods, the refused objects and the stuck rollouts, step by
// step.
func (r *Report) Findings() []expect.Finding {
	var found []expect.Finding
	for i := range r.Steps {
		found = append(found, r.Steps[i].findings()...)
	}
	return found
}

func (s *Step) findings() []expect.Finding {
	facts := expect.Facts{Step: s.Name, Unmet: expect.Unmet(s.Expectations), Source: func(of cluster.Ref) *manifest.Place {
		if w := s.findWorkload(of); w != nil {
			return w.Source
		}
		return nil
	}}
	for _, pods := range list.GroupBy(s.pendingPods(), Pod.Owner) {
		waiting := expect.Pods{Workload: pods[0].Owner(), Messages: list.Map(pods, Pod.Why)}
		if w := s.findWorkload(waiting.Workload); w != nil {
			waiting.Desired = w.Desired
		}
		facts.Pending = append(facts.Pending, waiting)
	}
	facts.Refused, facts.Stuck = list.Map(s.Refused, func(r Refused) cluster.Refusal { return r.Refusal }), s.Rollouts
	return facts.Findings()
}

// findWorkload returns the workload of this name, or nil if the step has none.
func (s *Step) findWorkload(of cluster.Ref) *Workload {
	i := slices.IndexFunc(s.Workloads, func(w Workload) bool { return w.Ref.Workload() == of.Workload() })
	if i < 0 {
		return nil
	}
	return &s.Workloads[i]
}
