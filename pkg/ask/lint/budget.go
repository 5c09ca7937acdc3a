package lint

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/words"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
)

// budget is a PodDisruptionBudget that covers a subject's pods.
type budget struct {
	*policyv1.PodDisruptionBudget
	owner   cluster.Ref
	matches labels.Selector
}

func (s *subject) budgets() []budget {
	var all []budget
	for _, pdb := range s.step.State.PodDisruptionBudgets {
		matches, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err == nil && pdb.Namespace == s.owner.Namespace && matches.Matches(s.labels()) {
			all = append(all, budget{pdb, budgetOwner(pdb), matches})
		}
	}
	return all
}

// budgetOwner returns the name of a budget as in a scenario's sources.
func budgetOwner(pdb *policyv1.PodDisruptionBudget) cluster.Ref {
	return cluster.Ref{Kind: "PodDisruptionBudget", Namespace: pdb.Namespace, Name: pdb.Name}
}

// limit returns the budget's field that sets how many evictions it allows, and its value.
func (b *budget) limit() (field, value string) {
	if b.Spec.MaxUnavailable != nil {
		return "maxUnavailable", b.Spec.MaxUnavailable.String()
	}
	return "minAvailable", b.Spec.MinAvailable.String()
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
		field, value := b.limit()
		f := Finding{Object: b.owner, ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec." + field, Fix: "set maxUnavailable: 1"}
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
func budgetBroken(_ *look, s *subject) ([]Finding, error) {
	budgets := slices.DeleteFunc(s.budgets(), func(b budget) bool { return b.Status.DisruptionsAllowed == 0 })
	if !s.calm || s.replicas < 2 || len(budgets) == 0 || domainsOf(s.step.State.Nodes, v1.LabelTopologyZone) < 2 {
		return nil, nil
	}
	analysis, err := blast.Lost(s.step.State, blast.Options{Levels: []string{v1.LabelTopologyZone}, Simultaneous: 1})
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, b := range budgets {
		for _, failure := range analysis.Levels[0].Failures {
			i := slices.IndexFunc(failure.Workloads, func(loss blast.Loss) bool { return loss.Workload == s.owner })
			if i < 0 || !slices.Contains(failure.Workloads[i].BrokenBudgets, b.Name) {
				continue
			}
			loss := failure.Workloads[i]
			field, value := b.limit()
			found = append(found, Finding{Object: b.owner, ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec." + field,
				Message: fmt.Sprintf("zone %s holds %d of the %d pods of %s, and without them the budget (%s %s) is broken: no drain goes on until they are back",
					failure.Domains[0], loss.Lost, loss.Replicas, s.owner, field, value),
				Fix: fmt.Sprintf("spread %s over more zones, run more replicas, or let the budget allow %d to be missing", s.owner, loss.Lost)})
			break
		}
	}
	return found, nil
}
