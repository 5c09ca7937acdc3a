package controller

import (
	"fmt"
	"maps"
	"time"

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

// syncBudgets updates the status of every PodDisruptionBudget, which preemption and eviction read, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/disruption/disruption.go does.
func (p *pass) syncBudgets() error {
	if len(p.PodDisruptionBudgets) == 0 {
		return nil
	}
	pods, err := p.guardedPods()
	if err != nil {
		return err
	}
	before := p.knownScales
	scales := p.controllerScales()
	for i, pdb := range p.PodDisruptionBudgets {
		if scales == before && !p.due.budgets[i] && len(pdb.Status.DisruptedPods) == 0 {
			continue
		}
		guarded := pods.Lookup(i)
		about, seen := subject{inSync, pdb.UID}, []any{pdb, guarded, scales}
		// The time matters only if the condition changes, so it is not among the things seen, or until an evicted pod is deleted.
		if len(pdb.Status.DisruptedPods) > 0 {
			seen = append(seen, p.Now)
		}
		_ = p.syncUnlessSettled(about, seen, func() error {
			p.syncBudget(pdb, guarded.Pods(), *scales)
			return nil
		})
		if p.isSettled(about, seen) {
			delete(p.due.budgets, i)
		} else {
			markDue(&p.due.budgets, i)
		}
	}
	return nil
}

// syncBudget updates the status of one budget; upstream's trySync and updatePdbStatus.
func (p *pass) syncBudget(pdb *policyv1.PodDisruptionBudget, guarded []*v1.Pod, scales map[types.UID]controllerScale) {
	var err error
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: pdb.Generation, Conditions: pdb.Status.Conditions, DisruptedPods: disruptedPods(pdb, guarded, p.Now.Time)}
	// Like upstream, a budget that cannot be computed allows nothing.
	status.ExpectedPods, status.DesiredHealthy, err = expectedPods(pdb, guarded, scales)
	for _, pod := range guarded {
		granted, disrupted := status.DisruptedPods[pod.Name]
		if disrupted && granted.Add(deletionTimeout).After(p.Now.Time) {
			continue
		}
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
		condition.Reason, condition.Message, condition.ObservedGeneration = policyv1.SyncFailedReason, err.Error(), status.ObservedGeneration
	case status.ExpectedPods > 0 && allowed > 0:
		status.DisruptionsAllowed = allowed
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	updated := *pdb
	updated.Status = *status.DeepCopy()
	meta.SetStatusCondition(&updated.Status.Conditions, condition)
	if !apiequality.Semantic.DeepEqual(updated.Status, pdb.Status) {
		p.putObject(&updated)
	}
}

// deletionTimeout is how long the controller expects that a pod is deleted whose eviction the API server has granted; upstream's DeletionTimeout.
const deletionTimeout = 2 * time.Minute

// disruptedPods returns the pods whose eviction the API server has granted, and whose deletion the controller still expects; upstream's
// buildDisruptedPodMap.
func disruptedPods(pdb *policyv1.PodDisruptionBudget, guarded []*v1.Pod, now time.Time) map[string]metav1.Time {
	var expected map[string]metav1.Time
	for _, pod := range guarded {
		at, granted := pdb.Status.DisruptedPods[pod.Name]
		if !granted || pod.DeletionTimestamp != nil || at.Add(deletionTimeout).Before(now) {
			continue
		}
		if expected == nil {
			expected = map[string]metav1.Time{}
		}
		expected[pod.Name] = at
	}
	return expected
}

// budgetPods has the pods that each budget guards, by the budget's position in the list.
type budgetPods struct {
	budgets []*policyv1.PodDisruptionBudget
	pods    *cluster.Groups[int]
}

// guardedPods returns the pods that each budget guards, by the budget's position. It marks budgets as due that have changed, or whose pods
// have.
func (p *pass) guardedPods() (*cluster.Groups[int], error) {
	same := p.guards.pods != nil
	cluster.VisitChanges(p.guards.budgets, p.PodDisruptionBudgets, func(was, is *policyv1.PodDisruptionBudget, position int) {
		if is != nil {
			markDue(&p.due.budgets, position)
		}
		same = same && was != nil && is != nil && was.Namespace == is.Namespace && was.Spec.Selector == is.Spec.Selector
	})
	p.guards.budgets = p.PodDisruptionBudgets
	if !same {
		p.guards.pods = nil
		var selectors cluster.Selectors
		for i, pdb := range p.PodDisruptionBudgets {
			if err := selectors.Add(pdb.Namespace, pdb.Spec.Selector); err != nil {
				return nil, fmt.Errorf("%s: spec.selector: %w", cluster.RefTo(pdb).Describe(), err)
			}
			markDue(&p.due.budgets, i)
		}
		p.guards.pods = cluster.NewGroups(selectors.Matching)
	}
	for _, position := range p.guards.pods.Update(p.Pods) {
		markDue(&p.due.budgets, position)
	}
	return p.guards.pods, nil
}

// expectedPods is upstream's getExpectedPodCount.
func expectedPods(pdb *policyv1.PodDisruptionBudget, pods []*v1.Pod, scales map[types.UID]controllerScale) (expected, desired int32, err error) {
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
func expectedScale(pods []*v1.Pod, scales map[types.UID]controllerScale) (int32, error) {
	total, counted := int32(0), map[types.UID]bool{}
	for _, pod := range pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			continue
		}
		of, ok := scales[ref.UID]
		switch kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind); {
		case of.unscaled, kind == jobKind, kind == daemonSetKind:
			resource, _ := meta.UnsafeGuessKindToResource(kind)
			return 0, fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())
		case !ok:
			return 0, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		if !counted[of.controller] {
			counted[of.controller] = true
			total += of.replicas
		}
	}
	return total, nil
}

// controllerScale is the number of replicas that a pod's controller, or the Deployment above it, asks for.
type controllerScale struct {
	controller types.UID
	replicas   int32
	unscaled   bool // the controller's kind has no scale subresource
}

// controllerScales returns the scale of each controller that has one, by the UID that pods refer to. It returns the same pointer as the last time if
// all scales are equal. Jobs and DaemonSets have no scale, so percentages and maxUnavailable do not work for their pods.
func (p *pass) controllerScales() *map[types.UID]controllerScale {
	p.due.followWorkloads(p.State)
	if p.knownScales != nil && p.scaledAt == p.due.scaleChanges {
		return p.knownScales
	}
	p.scaledAt = p.due.scaleChanges
	scales := map[types.UID]controllerScale{}
	for obj := range p.Scaled() {
		replicas, _ := cluster.Replicas(obj)
		scales[obj.GetUID()] = controllerScale{controller: obj.GetUID(), replicas: replicas}
	}
	for _, rs := range p.ReplicaSets {
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil && ref.Kind == "Deployment" {
			if of, found := scales[ref.UID]; found {
				scales[rs.UID] = of
			}
		}
	}
	for _, owner := range p.UnknownOwners {
		scales[owner.UID] = controllerScale{owner.UID, *owner.Spec.Replicas, owner.Spec.Unscaled}
	}
	if p.knownScales == nil || !maps.Equal(*p.knownScales, scales) {
		p.knownScales = &scales
	}
	return p.knownScales
}
