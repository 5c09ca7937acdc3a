package lint

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// budgets returns the PodDisruptionBudgets that cover the subject's pods.
func (s *subject) budgets() []*policyv1.PodDisruptionBudget { return s.guards(s.pod) }

// limit returns the budget's field that sets how many evictions it allows, and its value.
func limit(pdb *policyv1.PodDisruptionBudget) (field, value string) {
	if pdb.Spec.MaxUnavailable != nil {
		return "maxUnavailable", pdb.Spec.MaxUnavailable.String()
	}
	return "minAvailable", pdb.Spec.MinAvailable.String()
}

// budgetsOverlap finds pods that several budgets select. The eviction subresource refuses to evict them, whatever the budgets allow: see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/storage/eviction.go.
func budgetsOverlap(_ *look, s *subject) []Finding {
	pods := s.pods()
	if len(pods) == 0 {
		pods = []*v1.Pod{s.pod} // as its template will make them
	}
	var names []string
	guarded := 0
	for _, pod := range pods {
		budgets := s.guards(pod)
		if len(budgets) < 2 {
			continue
		}
		guarded++
		for _, b := range budgets {
			if !slices.Contains(names, b.Name) {
				names = append(names, b.Name)
			}
		}
	}
	if guarded == 0 {
		return nil
	}
	f := Finding{Field: s.labelsField(), Fix: "keep one of the budgets for these pods: delete the " + words.Pick(len(names)-1, "other, or narrow its selector", "others, or narrow their selectors"),
		Message: fmt.Sprintf("the budgets %s select the same pods (%d of %d): the API server refuses every eviction of them", words.And(names), guarded, len(pods))}
	if s.owner.Kind == "DaemonSet" { // whose pods drains leave alone
		f.Severity = Note
		return []Finding{f}
	}
	f.Message += ", so that a drain of their nodes never ends"
	return []Finding{f}
}

// budgetForbids finds budgets that allow no eviction although every pod runs.
func budgetForbids(_ *look, s *subject) []Finding {
	if !s.calm || s.replicas == 0 {
		return nil
	}
	var found []Finding
	for _, b := range s.budgets() {
		status := &b.Status
		if status.ExpectedPods == 0 || status.CurrentHealthy < status.ExpectedPods || status.DisruptionsAllowed > 0 {
			continue
		}
		field, value := limit(b)
		f := Finding{Object: objectOf(cluster.RefTo(b)), ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec." + field, Fix: "set maxUnavailable: 1"}
		f.Message = fmt.Sprintf("with %s %s and %s the budget allows no eviction, so that a drain of their nodes never ends", field, value, words.Count(int(status.ExpectedPods), "pod"))
		if field == "minAvailable" {
			f.Fix += " in its place"
		}
		if status.ExpectedPods == 1 {
			f.Fix = "run a second replica, or " + f.Fix
		}
		found = append(found, f)
	}
	return found
}

// budgetBroken finds budgets that lose too many pods with a zone.
func budgetBroken(l *look, s *subject) ([]Finding, error) {
	budgets := slices.DeleteFunc(s.budgets(), func(b *policyv1.PodDisruptionBudget) bool { return b.Status.DisruptionsAllowed == 0 })
	if !s.calm || s.replicas < 2 || len(budgets) == 0 || domainsOf(s.step.State.Nodes, topology.ZoneKey(s.step.State.Nodes)) < 2 {
		return nil, nil
	}
	analysis, err := l.zoneLosses(s.step)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, b := range budgets {
		for _, failure := range analysis.Levels[0].Failures {
			i := slices.IndexFunc(failure.Workloads, func(loss blast.Loss) bool { return loss.Ref == s.owner })
			if i < 0 || !slices.Contains(failure.Workloads[i].BrokenBudgets, b.Name) {
				continue
			}
			loss := failure.Workloads[i]
			field, value := limit(b)
			found = append(found, Finding{Object: objectOf(cluster.RefTo(b)), ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec." + field,
				Message: fmt.Sprintf("zone %s holds %d of the %d pods of %s, and without them the budget (%s %s) is broken: no drain goes on until they are back",
					failure.Domains[0], loss.Lost, loss.Replicas, s.owner, field, value),
				Fix: fmt.Sprintf("spread %s over more zones, run more replicas, or let the budget allow %d to be missing", s.owner, loss.Lost)})
			break
		}
	}
	return found, nil
}
