package lint

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling/v1"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// daemonSetLowPriority finds DaemonSets whose pods find no room because pods of the same or a higher priority fill their nodes: now or, since pods
// that wait come first, after a restart. The check reports only DaemonSets for which a run with a higher priority class shows that it
// helps.
func daemonSetLowPriority(l *inspection, s *subject) ([]Finding, error) {
	daemons, is := s.object.(*appsv1.DaemonSet)
	if !is || !s.nodesKept {
		return nil, nil
	}
	priority := int32(0)
	if pod, err := s.createdPod(); err == nil && pod.Spec.Priority != nil {
		priority = *pod.Spec.Priority
	}
	step, when := s.step, ""
	starved := s.countStarved(step)
	if starved == 0 && daemons.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && s.othersWouldFill(priority) {
		var err error
		if step, err = l.runToLastStep(l.deriveRestart(s)); err != nil {
			return nil, err
		}
		starved, when = s.countStarved(step), "after kubectl rollout restart "
	}
	if starved == 0 {
		return nil, nil
	}
	for _, class := range s.higherClasses(priority, step) {
		r := remedy{fmt.Sprintf("set priorityClassName: %s, with which its pods preempt others", class.Name), addOperation(jsonPointer(s.field("priorityClassName")), class.Name)}
		after, err := l.runRestartAfter(s, r)
		if err != nil {
			return nil, err
		}
		if after == nil || s.countStarved(after) >= starved {
			continue
		}
		return []Finding{{Field: s.field("priorityClassName"), Fix: r.instruction,
			Message: fmt.Sprintf("%s%d of its pods %s Pending on full nodes: the pods that fill these, or wait for room, have its priority (%d) or a higher one",
				when, starved, words.Pick(starved, "is", "are"), priority)}}, nil
	}
	return nil, nil
}

// countStarved returns how many of the subject's pods are Pending in the step for lack of room.
func (s *subject) countStarved(step *simulation.Step) int {
	owner := step.State.Owners()
	return list.Count(step.Pending, func(p placement.Pending) bool { return owner(p.Pod) == s.owner && lacksRoom(p) })
}

func lacksRoom(p placement.Pending) bool {
	return slices.ContainsFunc(p.Reasons, func(r placement.Reason) bool { return r.Plugin == "NodeResourcesFit" })
}

// othersWouldFill reports whether other pods of at least this priority wait for room, so that they fill the room that a pod of the subject gives up.
func (s *subject) othersWouldFill(priority int32) bool {
	owner := s.step.State.Owners()
	return slices.ContainsFunc(s.step.Pending, func(p placement.Pending) bool {
		return owner(p.Pod) != s.owner && lacksRoom(p) && priorityOf(p.Pod) >= priority
	})
}

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// higherClasses returns the priority classes to try: the lowest class of the cluster above the given priority, and system-node-critical,
// which every cluster has.
func (s *subject) higherClasses(priority int32, step *simulation.Step) []*schedulingv1.PriorityClass {
	classes := list.Where(step.State.PriorityClasses, func(class *schedulingv1.PriorityClass) bool {
		return class.Value > priority && (class.PreemptionPolicy == nil || *class.PreemptionPolicy != v1.PreemptNever)
	})
	classes = slices.SortedStableFunc(slices.Values(classes), func(a, b *schedulingv1.PriorityClass) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	classes = classes[:min(1, len(classes))]
	for _, class := range schedulingapi.SystemPriorityClasses() {
		if class.Name == scheduling.SystemNodeCritical && class.Value > priority && !slices.ContainsFunc(classes, func(c *schedulingv1.PriorityClass) bool { return c.Name == class.Name }) {
			classes = append(classes, class)
		}
	}
	return classes
}
