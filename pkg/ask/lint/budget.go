package lint

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
	nodeutil "k8s.io/component-helpers/node/util"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// budgets returns the PodDisruptionBudgets that cover the subject's pods.
func (s *subject) budgets() []*policyv1.PodDisruptionBudget { return s.budgetsCovering(s.pod) }

// budgetLimit returns the budget's field that sets the number of allowed evictions, and its value.
func budgetLimit(pdb *policyv1.PodDisruptionBudget) (field, value string) {
	if pdb.Spec.MaxUnavailable != nil {
		return "maxUnavailable", pdb.Spec.MaxUnavailable.String()
	}
	return "minAvailable", pdb.Spec.MinAvailable.String()
}

// budgetsOverlap finds pods that several budgets select. The eviction subresource refuses to evict them, even if the budgets allow it: see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/storage/eviction.go.
func budgetsOverlap(_ *inspection, s *subject) []Finding {
	pods := s.pods()
	if len(pods) == 0 {
		pods = []*v1.Pod{s.pod} // the pod that the template creates
	}
	var names []string
	guarded := 0
	for _, pod := range pods {
		budgets := s.budgetsCovering(pod)
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
	f := Finding{Field: s.labelsField(), Brief: "drains never end, several budgets select its pods", Fix: "keep one of the budgets for these pods: delete the " + words.Pick(len(names)-1, "other, or narrow its selector", "others, or narrow their selectors"),
		Message: fmt.Sprintf("the budgets %s select the same pods (%d of %d): the API server refuses every eviction of them", words.And(names), guarded, len(pods))}
	if s.owner.Kind == "DaemonSet" { // drains do not evict the pods of a DaemonSet
		f.Severity = Note
		return []Finding{f}
	}
	f.Message += ", so that a drain of their nodes never ends"
	return []Finding{f}
}

// budgetForbidsEviction finds budgets that allow no eviction although every pod runs that can run, and budgets that the disruption controller
// cannot compute, which also allow none.
func budgetForbidsEviction(l *inspection, s *subject) []Finding {
	if !s.nodesKept || s.owner.Kind == "DaemonSet" { // drains do not evict the pods of a DaemonSet
		return nil
	}
	var found []Finding
	for _, b := range s.budgetsOfAny() {
		status := &b.Status
		field, value := budgetLimit(b)
		f := Finding{Object: objectOf(cluster.RefTo(b)), ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec." + field, Brief: "drains never end, its budget allows 0 evictions"}
		switch why := s.uncomputedReason(b); {
		case b.Spec.MaxUnavailable == nil && b.Spec.MinAvailable == nil:
			f.Field, f.Fix = "spec", "set one of them, such as minAvailable: 1 for two pods"
			f.Message = "the budget has neither minAvailable nor maxUnavailable, and so allows no eviction: a drain of the nodes of its pods never ends"
		case why != "":
			f.Message = fmt.Sprintf("%s %s cannot be computed, since %s: the budget allows no eviction, so that a drain of their nodes never ends", field, value, why)
			f.Fix = s.countableFix(b)
		case s.replicas == 0 || status.ExpectedPods == 0 || status.CurrentHealthy == 0 || status.DisruptionsAllowed > 0:
			continue
		case int(status.CurrentHealthy)+l.countRecovering(s, b) > int(status.DesiredHealthy):
			continue // the budget allows an eviction after the recovering pods are ready
		case !slices.Contains(s.budgets(), b):
			continue // an operator can give the role that the budget selects to another pod
		default:
			f.Message = fmt.Sprintf("with %s %s and %s the budget allows no eviction, so that a drain of their nodes never ends", field, value, s.describeHealthyPods(b))
			f.Fix = s.allowEvictionFix(b)
		}
		if status.ExpectedPods == 1 {
			f.Severity = Warning // often meant: whoever drains the node deletes the only pod by hand
		}
		found = append(found, f)
	}
	return found
}

// coveredPods returns the pods that the budget covers and that have not ended.
func (s *subject) coveredPods(b *policyv1.PodDisruptionBudget) []*v1.Pod {
	return list.Where(s.step.State.Pods, func(pod *v1.Pod) bool { return !cluster.IsTerminal(pod) && slices.Contains(s.budgetsCovering(pod), b) })
}

// countRecovering counts the pods that may become healthy: pods that wait for a node, pods that start on a working node, and pods that are not
// created yet. A Terminating pod never becomes healthy, nor does a pod on a node that is gone or not ready, as the disruption controller
// counts:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/disruption/disruption.go, countHealthyPods.
func (l *inspection) countRecovering(s *subject, b *policyv1.PodDisruptionBudget) int {
	guarded, wanted := s.coveredPods(b), 0
	for _, covered := range l.coveredSubjects(s.step, b) {
		wanted += covered.replicas
	}
	n := max(0, max(wanted, int(b.Status.ExpectedPods))-len(guarded))
	for _, pod := range guarded {
		if pod.DeletionTimestamp == nil && !podutil.IsPodReady(pod) && !s.onDownNode(pod) {
			n++
		}
	}
	return n
}

// onDownNode reports whether the pod's node is gone or not ready. A node without a Ready condition, such as a handwritten node, is ready.
func (s *subject) onDownNode(pod *v1.Pod) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	on := s.step.State.Node(pod.Spec.NodeName)
	if on == nil {
		return true
	}
	_, ready := nodeutil.GetNodeCondition(&on.Status, v1.NodeReady)
	return ready != nil && ready.Status != v1.ConditionTrue
}

// describeHealthyPods returns "3 pods", or "3 healthy pods (1 Terminating, 1 on nodes that are not ready)" if the budget covers other pods.
func (s *subject) describeHealthyPods(b *policyv1.PodDisruptionBudget) string {
	healthy, terminating, down := int(b.Status.CurrentHealthy), 0, 0
	for _, pod := range s.coveredPods(b) {
		switch {
		case pod.DeletionTimestamp != nil:
			terminating++
		case !podutil.IsPodReady(pod) && s.onDownNode(pod):
			down++
		}
	}
	var others []string
	if terminating > 0 {
		others = append(others, fmt.Sprintf("%d Terminating", terminating))
	}
	if down > 0 {
		others = append(others, fmt.Sprintf("%d on nodes that are not ready", down))
	}
	if len(others) == 0 {
		return words.Count(healthy, "pod")
	}
	return fmt.Sprintf("%s (%s)", words.Count(healthy, "healthy pod"), strings.Join(others, ", "))
}

// budgetsOfAny returns the budgets that cover the pod of the template. If the owner's template is unknown, it also returns the budgets that
// cover any of the owner's running pods.
func (s *subject) budgetsOfAny() []*policyv1.PodDisruptionBudget {
	all := slices.Clone(s.budgets())
	if _, unknown := s.object.(*cluster.UnknownOwner); unknown {
		for _, pod := range s.pods() {
			all = append(all, s.budgetsCovering(pod)...)
		}
	}
	return list.Distinct(all)
}

// uncomputedReason says why the disruption controller cannot compute how many pods there should be, or "" if it can.
func (s *subject) uncomputedReason(b *policyv1.PodDisruptionBudget) string {
	condition := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	_, bare := s.object.(*v1.Pod)
	switch {
	case condition == nil || b.Status.DisruptionsAllowed > 0:
		return ""
	case s.isOwnerAbsent() && condition.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("the input lacks %s, whose scale it needs, if its kind has one", s.owner)
	case condition.Reason == policyv1.SyncFailedReason:
		return condition.Message
	case bare && b.Status.ExpectedPods == 0 && b.Status.CurrentHealthy > 0:
		return "the pods have no controller whose replicas could be counted"
	}
	return ""
}

// isOwnerAbsent reports whether the input has the subject's owner only by its pods.
func (s *subject) isOwnerAbsent() bool { return s.step.State.Find(s.owner) == nil }

// countableFix returns the fix of a budget that the disruption controller cannot compute, because it does not find the replicas of all pods.
func (s *subject) countableFix(b *policyv1.PodDisruptionBudget) string {
	owner, pods, scaled := s.step.State.Owners(), 0, false
	var unscaled []string
	for _, pod := range s.coveredPods(b) {
		pods++
		of := s.step.State.Find(owner(pod))
		unknown, made := of.(*cluster.UnknownOwner)
		if _, counts := cluster.Replicas(of); counts && (!made || !unknown.Spec.Unscaled) {
			scaled = true
		} else {
			unscaled = append(unscaled, owner(pod).String())
		}
	}
	slices.Sort(unscaled)
	switch {
	case scaled && len(unscaled) > 0:
		return "let its selector leave out the pods of " + words.Few(slices.Compact(unscaled))
	case pods < 2:
		return "delete the budget, or run a second pod and set minAvailable: 1"
	}
	field, value := budgetLimit(b)
	return fmt.Sprintf("set minAvailable: %d in place of %s: %s, since a number needs no replicas to count from", pods-1, field, value)
}

// allowEvictionFix returns the fix of a budget that needs every pod, which allows one eviction at a time.
func (s *subject) allowEvictionFix(b *policyv1.PodDisruptionBudget) string {
	field, _ := budgetLimit(b)
	fix := "set maxUnavailable: 1"
	if owner, is := s.object.(*cluster.UnknownOwner); is && owner.Spec.Unscaled { // maxUnavailable cannot be computed for such an owner
		fix = fmt.Sprintf("set minAvailable: %d", b.Status.CurrentHealthy-1)
	} else if field == "minAvailable" {
		fix += " in its place"
	}
	if replicas := replicasAllowingEviction(b); b.Status.CurrentHealthy == 1 && replicas > 0 {
		fix = fmt.Sprintf("run %d replicas, or %s", replicas, fix)
	}
	return fix
}

// replicasAllowingEviction returns the smallest number of replicas, at least 2, of which the budget lets one be evicted; 0 if there is none.
// It computes as the disruption controller does:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/disruption/disruption.go, getExpectedPodCount.
func replicasAllowingEviction(b *policyv1.PodDisruptionBudget) int {
	const most = 100 // 99% needs that many
	for replicas := 2; replicas <= most+1; replicas++ {
		var allowed int
		switch {
		case b.Spec.MaxUnavailable != nil:
			allowed, _ = intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, replicas, true)
		case b.Spec.MinAvailable != nil:
			least, _ := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, replicas, true)
			allowed = replicas - least
		}
		if allowed > 0 {
			return replicas
		}
	}
	return 0
}

// budgetBrokenByZone finds budgets that the loss of a zone breaks.
func budgetBrokenByZone(l *inspection, s *subject) ([]Finding, error) {
	return l.brokenBudgets(s, topology.ZoneKey(s.step.State.Nodes))
}

// budgetBrokenByNode finds budgets that the loss of a node breaks where there is one zone or none, although there are nodes enough.
func budgetBrokenByNode(l *inspection, s *subject) ([]Finding, error) {
	if countDomains(s.step.State.Nodes, topology.ZoneKey(s.step.State.Nodes)) > 1 {
		return nil, nil // budgetBrokenByZone reports it
	}
	return l.brokenBudgets(s, v1.LabelHostname)
}

// brokenBudgets finds budgets that the loss of one domain of the key breaks, and reports each for the first subject that it covers. A budget
// can cover several workloads, such as a StatefulSet for each zone.
func (l *inspection) brokenBudgets(s *subject, key string) ([]Finding, error) {
	budgets := slices.DeleteFunc(s.budgets(), func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.DisruptionsAllowed == 0 || b.Status.CurrentHealthy < 2 || s.replicas == 0 || l.coveredSubjects(s.step, b)[0] != s
	})
	if !s.nodesKept || len(budgets) == 0 || countDomains(s.step.State.Nodes, key) < 2 {
		return nil, nil
	}
	analysis, err := l.domainLosses(s.step, key)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, b := range budgets {
		for _, failure := range analysis.Levels[0].Failures {
			var owners []string
			lost := 0
			for _, loss := range failure.Workloads {
				if loss.Ref.Namespace == b.Namespace && slices.Contains(loss.BrokenBudgets, b.Name) {
					owners, lost = append(owners, loss.Ref.String()), lost+loss.Lost
				}
			}
			if lost == 0 {
				continue
			}
			domains := l.coveredDomains(s.step, b, key)
			allowed := int(b.Status.CurrentHealthy - b.Status.DesiredHealthy)
			if key == v1.LabelHostname && ceilingOf(int(b.Status.CurrentHealthy), domains) > allowed {
				break // no placement on these nodes is better
			}
			of := "of " + owners[0]
			if len(l.coveredSubjects(s.step, b)) > 1 {
				of = fmt.Sprintf("that the budget covers (%s)", words.Few(owners))
			}
			field, value := budgetLimit(b)
			noun := cause.DomainNoun(key)
			found = append(found, Finding{Object: objectOf(cluster.RefTo(b)), ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec." + field,
				Message: fmt.Sprintf("%s %s holds %d of the %d pods %s, and without them the budget (%s %s) is broken: no drain goes on until they are back",
					noun, failure.Domains[0], lost, b.Status.CurrentHealthy, of, field, value),
				Brief: fmt.Sprintf("%s %s holds %d of its %d pods, and their loss breaks its budget (%s %s)", noun, failure.Domains[0], lost, b.Status.CurrentHealthy, field, value),
				Fix:   l.brokenBudgetFix(s.step, b, key, lost)})
			break
		}
	}
	return found, nil
}

// coveredSubjects returns the subjects of the step whose pods the budget covers, without Jobs.
func (l *inspection) coveredSubjects(step *simulation.Step, b *policyv1.PodDisruptionBudget) []*subject {
	if l.covered == nil {
		l.covered = map[coverage][]*subject{}
		for _, s := range l.subjects {
			for _, b := range s.budgets() {
				if s.replicas > 0 {
					l.covered[coverage{s.step, b}] = append(l.covered[coverage{s.step, b}], s)
				}
			}
		}
	}
	return l.covered[coverage{step, b}]
}

// coverage is a budget after a step.
type coverage struct {
	step   *simulation.Step
	budget *policyv1.PodDisruptionBudget
}

// coveredDomains returns the number of the key's domains that take a pod which the budget covers.
func (l *inspection) coveredDomains(step *simulation.Step, b *policyv1.PodDisruptionBudget, key string) int {
	var nodes []*v1.Node
	for _, s := range l.coveredSubjects(step, b) {
		nodes = append(nodes, l.nodesFor(s)...)
	}
	return countDomains(list.Distinct(nodes), key)
}

// brokenBudgetFix returns the changes of which each alone lets the budget survive the loss of a domain, in which it may lose pods now.
func (l *inspection) brokenBudgetFix(step *simulation.Step, b *policyv1.PodDisruptionBudget, key string, lost int) string {
	noun := cause.DomainNoun(key)
	domains, pods, allowed := l.coveredDomains(step, b, key), int(b.Status.CurrentHealthy), int(b.Status.CurrentHealthy-b.Status.DesiredHealthy)
	var fixes []string
	if needed := ceilingOf(pods, allowed); needed <= domains {
		fixes = append(fixes, fmt.Sprintf("spread the pods evenly over the %ss", noun))
	} else {
		fixes = append(fixes, fmt.Sprintf("spread the pods evenly over %d %ss", needed, noun))
	}
	if least := b.Spec.MinAvailable; least != nil && least.Type == intstr.Int && domains > 1 && len(l.coveredSubjects(step, b)) == 1 {
		replicas := pods + 1
		for replicas-ceilingOf(replicas, domains) < least.IntValue() {
			replicas++
		}
		fixes = append(fixes, fmt.Sprintf("run %d replicas, evenly over the %ss", replicas, noun))
	}
	allow := fmt.Sprintf("let the budget allow %d to be missing, by maxUnavailable: %d", lost, lost)
	if field, _ := budgetLimit(b); field == "minAvailable" {
		allow = fmt.Sprintf("let the budget allow %d to be missing, by minAvailable: %d", lost, pods-lost)
	}
	if lost < pods {
		fixes = append(fixes, allow)
	}
	return strings.Join(fixes, ", or ")
}

// ceilingOf returns a divided by b, rounded up.
func ceilingOf(a, b int) int { return (a + b - 1) / max(1, b) }
