package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// Findings are the expectations that were not met, the workloads with Pending pods and the rollouts that are stuck, step by step.
func (r *Report) Findings() []report.Finding {
	var found []report.Finding
	for i := range r.Steps {
		found = append(found, r.Steps[i].findings()...)
	}
	return found
}

func (s *Step) findings() []report.Finding {
	var found []report.Finding
	for _, e := range Unmet(s.Expectations) {
		found = append(found, report.NewFinding(report.ExpectationNotMet, s.Name, report.Owner{}, e.Source, "%s", e.Failure()))
	}
	for _, pods := range report.Group(s.pendingPods(), func(p Pod) report.Owner { return report.OwnerOf(p.Namespace, p.Workload, p.Name) }) {
		of := report.OwnerOf(pods[0].Namespace, pods[0].Workload, pods[0].Name)
		w := s.workload(of)
		subject := fmt.Sprintf("%s of %s", words.Count(len(pods), "pod"), of.Workload)
		switch {
		case pods[0].Workload == "":
			subject = of.Workload
		case w != nil && w.Desired >= len(pods):
			subject = fmt.Sprintf("%d of %s of %s", len(pods), words.Count(w.Desired, "pod"), of.Workload)
		}
		message := cmp.Or(pods[0].Message, text.Silent)
		if more := len(report.Group(pods, func(p Pod) string { return p.Message })) - 1; more > 0 {
			message += fmt.Sprintf(" (and %s)", words.Count(more, "other message"))
		}
		found = append(found, report.NewFinding(report.RulePending, s.Name, of, w.source(), "%s Pending: %s", subject, message))
	}
	for _, rollout := range s.Rollouts {
		of := report.Owner{Namespace: rollout.Namespace, Workload: strings.ToLower(rollout.Kind) + "/" + rollout.Name}
		found = append(found, report.NewFinding(report.RuleRollout, s.Name, of, s.workload(of).source(),
			"the rollout of %s is stuck at %d of %d updated: %s", of.Workload, rollout.Updated, rollout.Desired, rollout.Waiting))
	}
	return found
}

// workload is nil if the step has none of that name.
func (s *Step) workload(of report.Owner) *Workload {
	i := slices.IndexFunc(s.Workloads, func(w Workload) bool { return report.Owner{Namespace: w.Namespace, Workload: w.Title()} == of })
	if i < 0 {
		return nil
	}
	return &s.Workloads[i]
}

func (w *Workload) source() *report.Source {
	if w == nil {
		return nil
	}
	return w.Source
}
