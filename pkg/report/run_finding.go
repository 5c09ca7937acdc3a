package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Findings are the expectations that were not met, the workloads with Pending pods and the rollouts that are stuck, step by step.
func (r *Report) Findings() []Finding {
	var found []Finding
	for i := range r.Steps {
		found = append(found, r.Steps[i].findings()...)
	}
	return found
}

func (s *Step) findings() []Finding {
	var found []Finding
	for _, e := range failures(s.Expectations) {
		found = append(found, newFinding(ExpectationNotMet, s.Name, owner{}, e.Source, "%s", e.failure()))
	}
	for _, pods := range grouped(s.pendingPods(), func(p Pod) owner { return ownerOf(p.Namespace, p.Workload, p.Name) }) {
		of := ownerOf(pods[0].Namespace, pods[0].Workload, pods[0].Name)
		w := s.workload(of)
		subject := fmt.Sprintf("%s of %s", count(len(pods), "pod"), of.workload)
		switch {
		case pods[0].Workload == "":
			subject = of.workload
		case w != nil && w.Desired >= len(pods):
			subject = fmt.Sprintf("%d of %s of %s", len(pods), count(w.Desired, "pod"), of.workload)
		}
		message := cmp.Or(pods[0].Message, silent)
		if more := len(grouped(pods, func(p Pod) string { return p.Message })) - 1; more > 0 {
			message += fmt.Sprintf(" (and %s)", count(more, "other message"))
		}
		found = append(found, newFinding(rulePending, s.Name, of, w.source(), "%s Pending: %s", subject, message))
	}
	for _, rollout := range s.Rollouts {
		of := owner{namespace: rollout.Namespace, workload: strings.ToLower(rollout.Kind) + "/" + rollout.Name}
		found = append(found, newFinding(ruleRollout, s.Name, of, s.workload(of).source(),
			"the rollout of %s is stuck at %d of %d updated: %s", of.workload, rollout.Updated, rollout.Desired, rollout.Waiting))
	}
	return found
}

// workload is nil if the step has none of that name.
func (s *Step) workload(of owner) *Workload {
	i := slices.IndexFunc(s.Workloads, func(w Workload) bool { return owner{namespace: w.Namespace, workload: w.title()} == of })
	if i < 0 {
		return nil
	}
	return &s.Workloads[i]
}

func (w *Workload) source() *Source {
	if w == nil {
		return nil
	}
	return w.Source
}
