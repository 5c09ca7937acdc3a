package controller

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
)

// budgets brings the status of every PodDisruptionBudget up to date, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/disruption/disruption.go does: preemption and
// eviction read it.
func (p *pass) budgets() error {
	if len(p.PodDisruptionBudgets) == 0 {
		return nil
	}
	pods, err := p.guarded()
	if err != nil {
		return err
	}
	before := p.scaled.scales
	scales := p.scales()
	for i, pdb := range p.PodDisruptionBudgets {
		if scales == before && !p.due.budgets[i] {
			continue
		}
		guarded := pods.Of(i)
		about, seen := subject{inSync, pdb.UID}, []any{pdb, guarded, scales}
		// The time counts only where the condition changes.
		_ = p.unlessSettled(about, seen, func() error {
			p.budget(pdb, guarded.Pods(), *scales)
			return nil
		})
		if p.settled(about, seen) {
			delete(p.due.budgets, i)
		} else {
			mark(&p.due.budgets, i)
		}
	}
	return nil
}

func (p *pass) budget(pdb *policyv1.PodDisruptionBudget, guarded []*v1.Pod, scales map[types.UID]scale) {
	var err error
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: pdb.Generation, Conditions: pdb.Status.Conditions}
	// Like upstream, a budget that cannot be computed allows nothing.
	status.ExpectedPods, status.DesiredHealthy, err = expectedPods(pdb, guarded, scales)
	for _, pod := range guarded {
		if pod.DeletionTimestamp == nil && podutil.IsPodReady(pod) {
			status.CurrentHealthy++
		}
	}
	condition := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, ObservedGeneration: pdb.Generation, LastTransitionTime: p.Now,
		Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
	}
	switch allowed := status.CurrentHealthy - status.DesiredHealthy; {
	case err != nil:
		status = *pdb.Status.DeepCopy()
		status.DisruptionsAllowed = 0
		condition.Reason, condition.Message = policyv1.SyncFailedReason, err.Error()
	case status.ExpectedPods > 0 && allowed > 0:
		status.DisruptionsAllowed = allowed
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	updated := *pdb
	updated.Status = *status.DeepCopy()
	meta.SetStatusCondition(&updated.Status.Conditions, condition)
	if !apiequality.Semantic.DeepEqual(updated.Status, pdb.Status) {
		p.put(&updated)
	}
}

// guards are the pods that each budget guards, by its position.
type guards struct{ pods *cluster.Groups[int] }

// guarded returns the pods that each budget guards, by its position, and marks the budgets that have changed, or whose pods have.
func (p *pass) guarded() (*cluster.Groups[int], error) {
	same := func(was, is *policyv1.PodDisruptionBudget) bool {
		return was.Namespace == is.Namespace && was.Spec.Selector == is.Spec.Selector
	}
	cluster.Changes(p.due.seen.budgets, p.PodDisruptionBudgets, func(_, is *policyv1.PodDisruptionBudget, position int) {
		if is != nil {
			mark(&p.due.budgets, position)
		}
	})
	if changed(&p.due.seen.budgets, p.PodDisruptionBudgets, same) || p.guards.pods == nil {
		p.guards.pods = nil
		var selectors cluster.Selectors
		for i, pdb := range p.PodDisruptionBudgets {
			if err := selectors.Add(pdb.Namespace, pdb.Spec.Selector); err != nil {
				return nil, fmt.Errorf("%s: spec.selector: %w", cluster.RefTo(pdb).Describe(), err)
			}
			mark(&p.due.budgets, i)
		}
		p.guards.pods = cluster.NewGroups(selectors.Matching)
	}
	for _, position := range p.guards.pods.Follow(p.Pods) {
		mark(&p.due.budgets, position)
	}
	return p.guards.pods, nil
}

// expectedPods is upstream's getExpectedPodCount.
func expectedPods(pdb *policyv1.PodDisruptionBudget, pods []*v1.Pod, scales map[types.UID]scale) (expected, desired int32, err error) {
	switch limit := pdb.Spec.MaxUnavailable; {
	case limit != nil:
		if expected, err = expectedScale(pods, scales); err != nil {
			return 0, 0, err
		}
		unavailable, err := intstr.GetScaledValueFromIntOrPercent(limit, int(expected), true)
		return expected, max(0, expected-int32(unavailable)), err
	case pdb.Spec.MinAvailable == nil:
		return 0, 0, nil
	case pdb.Spec.MinAvailable.Type == intstr.Int:
		return int32(len(pods)), pdb.Spec.MinAvailable.IntVal, nil
	default:
		if expected, err = expectedScale(pods, scales); err != nil {
			return 0, 0, err
		}
		available, err := intstr.GetScaledValueFromIntOrPercent(pdb.Spec.MinAvailable, int(expected), true)
		return expected, int32(available), err
	}
}

// expectedScale is upstream's getExpectedScale: the sum of the scales of the pods' controllers. Pods without one do not count.
func expectedScale(pods []*v1.Pod, scales map[types.UID]scale) (int32, error) {
	total, counted := int32(0), map[types.UID]bool{}
	for _, pod := range pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			continue
		}
		of, ok := scales[ref.UID]
		switch {
		case !ok:
			return 0, fmt.Errorf("found no controllers for pod %q", pod.Name)
		case of.unscaled:
			resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
			return 0, fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())
		}
		if !counted[of.controller] {
			counted[of.controller] = true
			total += of.replicas
		}
	}
	return total, nil
}

// scale is what a pod's controller, or the Deployment above it, asks for.
type scale struct {
	controller types.UID
	replicas   int32
	unscaled   bool // its kind has no scale subresource
}

// scaled are the scales of controllers, and what they were read from.
type scaled struct {
	scales *map[types.UID]scale

	deployments []*appsv1.Deployment
	sets        []*appsv1.ReplicaSet
	controllers []*v1.ReplicationController
	statefuls   []*appsv1.StatefulSet
	unknown     []*cluster.UnknownOwner
}

// scales returns the scale of each controller that has one, by the UID that pods refer to: the very same ones as the last time, if they are
// equal. Jobs and DaemonSets have none upstream either, so that percentages and maxUnavailable do not work with them.
func (p *pass) scales() *map[types.UID]scale {
	s := &p.scaled
	deployments := changed(&s.deployments, p.Deployments, func(was, is *appsv1.Deployment) bool {
		return was.UID == is.UID && *was.Spec.Replicas == *is.Spec.Replicas
	})
	sets := changed(&s.sets, p.ReplicaSets, func(was, is *appsv1.ReplicaSet) bool {
		return was.UID == is.UID && *was.Spec.Replicas == *is.Spec.Replicas && sameOwner(was, is)
	})
	controllers := changed(&s.controllers, p.ReplicationControllers, func(was, is *v1.ReplicationController) bool {
		return was.UID == is.UID && *was.Spec.Replicas == *is.Spec.Replicas
	})
	statefuls := changed(&s.statefuls, p.StatefulSets, func(was, is *appsv1.StatefulSet) bool {
		return was.UID == is.UID && *was.Spec.Replicas == *is.Spec.Replicas
	})
	unknown := changed(&s.unknown, p.UnknownOwners, func(was, is *cluster.UnknownOwner) bool {
		return was.UID == is.UID && *was.Spec.Replicas == *is.Spec.Replicas && was.Spec.Unscaled == is.Spec.Unscaled
	})
	if !deployments && !sets && !controllers && !statefuls && !unknown && s.scales != nil {
		return s.scales
	}
	desired := map[types.UID]int32{}
	for _, d := range p.Deployments {
		desired[d.UID] = *d.Spec.Replicas
	}
	scales := map[types.UID]scale{}
	for _, rs := range p.ReplicaSets {
		scales[rs.UID] = scale{controller: rs.UID, replicas: *rs.Spec.Replicas}
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
			if replicas, found := desired[ref.UID]; found {
				scales[rs.UID] = scale{controller: ref.UID, replicas: replicas}
			}
		}
	}
	for _, rc := range p.ReplicationControllers {
		scales[rc.UID] = scale{controller: rc.UID, replicas: *rc.Spec.Replicas}
	}
	for _, set := range p.StatefulSets {
		scales[set.UID] = scale{controller: set.UID, replicas: *set.Spec.Replicas}
	}
	for _, owner := range p.UnknownOwners {
		scales[owner.UID] = scale{owner.UID, *owner.Spec.Replicas, owner.Spec.Unscaled}
	}
	if s.scales == nil || !maps.Equal(*s.scales, scales) {
		s.scales = &scales
	}
	return s.scales
}
