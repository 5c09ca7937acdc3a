package run

import (
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
)

// Findings are the expectations that were not met, the workloads with Pending pods, what was refused and the rollouts that are
// stuck, step by step.
func (r *Report) Findings() []expect.Finding {
	var found []expect.Finding
	for i := range r.Steps {
		found = append(found, r.Steps[i].findings()...)
	}
	return found
}

func (s *Step) findings() []expect.Finding {
	facts := expect.Facts{Step: s.Name, Source: func(of cluster.Ref) *manifest.Source {
		if w := s.workload(of); w != nil {
			return w.Source.InManifest()
		}
		return nil
	}}
	for _, e := range Unmet(s.Expectations) {
		facts.Unmet = append(facts.Unmet, expect.Judged{Want: e.Want, Got: e.Got, Source: e.Source.InManifest()})
	}
	for _, pods := range report.Group(s.pendingPods(), Pod.workload) {
		waiting := expect.Pods{Workload: pods[0].workload(), Messages: report.Each(pods, Pod.Why)}
		if w := s.workload(waiting.Workload); w != nil {
			waiting.Desired = w.Desired
		}
		facts.Pending = append(facts.Pending, waiting)
	}
	facts.Refused, facts.Stuck = s.Refused, s.Rollouts
	return facts.Findings()
}

// workload is the pod's, or the pod itself.
func (p Pod) workload() cluster.Ref {
	return cluster.PodRef{Namespace: p.Namespace, Name: p.Name, Workload: p.Workload}.Owner()
}

// workload is nil if the step has none of that name.
func (s *Step) workload(of cluster.Ref) *Workload {
	i := slices.IndexFunc(s.Workloads, func(w Workload) bool {
		return strings.EqualFold(w.Kind, of.Kind) && w.Namespace == of.Namespace && w.Name == of.Name
	})
	if i < 0 {
		return nil
	}
	return &s.Workloads[i]
}
