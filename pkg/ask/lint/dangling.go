package lint

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// The objects of these checks belong to no workload, so the checks report them for the first subject of each step.

// scalableKinds are the kinds that a HorizontalPodAutoscaler can scale and that a state holds.
var scalableKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}

// autoscalerTargetMissing finds HorizontalPodAutoscalers whose target does not exist. A target of another kind may be a custom resource, and
// is none of the check's business.
func autoscalerTargetMissing(l *inspection, s *subject) []Finding {
	if !l.isFirstOfStep(s) {
		return nil
	}
	var found []Finding
	for _, hpa := range s.step.State.HorizontalPodAutoscalers {
		target := cluster.ScaleTarget(hpa)
		if !slices.Contains(scalableKinds, target.Kind) || s.step.State.Find(target) != nil {
			continue
		}
		f := Finding{Object: objectOf(cluster.RefTo(hpa)), ExpandedFrom: hpa.Annotations[operator.OwnerAnnotation], Field: "spec.scaleTargetRef",
			Message: fmt.Sprintf("there is no %s to scale, so that the autoscaler does nothing", target), Fix: "name a workload that exists, or delete the autoscaler"}
		var same []string
		for _, o := range l.subjects {
			if o.step == s.step && o.owner.Kind == target.Kind && o.owner.Namespace == hpa.Namespace {
				same = append(same, o.owner.Name)
			}
		}
		if len(same) > 0 {
			f.Message += manifest.DidYouMean(target.Name, same)
		}
		found = append(found, f)
	}
	return found
}

// serviceSelectsNothing finds Services whose selector matches no pod and no template.
func serviceSelectsNothing(l *inspection, s *subject) []Finding {
	if !l.isFirstOfStep(s) {
		return nil
	}
	var found []Finding
	for _, service := range s.step.State.Services {
		if len(service.Spec.Selector) == 0 || service.Spec.Type == v1.ServiceTypeExternalName {
			continue
		}
		if f, nothing := l.findUnselecting(s, service, &metav1.LabelSelector{MatchLabels: service.Spec.Selector}, "the Service leads nowhere"); nothing {
			found = append(found, f)
		}
	}
	return found
}

// budgetSelectsNothing finds PodDisruptionBudgets whose selector matches no pod and no template.
func budgetSelectsNothing(l *inspection, s *subject) []Finding {
	if !l.isFirstOfStep(s) {
		return nil
	}
	var found []Finding
	for _, budget := range s.step.State.PodDisruptionBudgets {
		if f, nothing := l.findUnselecting(s, budget, budget.Spec.Selector, "the budget protects nothing"); nothing {
			found = append(found, f)
		}
	}
	return found
}

// findUnselecting returns a finding with this effect if the object's selector matches no pod and no template of the step. It is a note if the selector asks
// for labels of a workload and for others that its template lacks, since something may label the pods when they run.
func (l *inspection) findUnselecting(s *subject, object cluster.Object, selector *metav1.LabelSelector, effect string) (Finding, bool) {
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || selector == nil {
		return Finding{}, false
	}
	namespace := object.GetNamespace()
	if slices.ContainsFunc(s.step.State.Pods, func(pod *v1.Pod) bool {
		return pod.Namespace == namespace && matches.Matches(labels.Set(pod.Labels))
	}) {
		return Finding{}, false
	}
	f := Finding{Object: objectOf(cluster.RefTo(object)), ExpandedFrom: object.GetAnnotations()[operator.OwnerAnnotation], Field: "spec.selector",
		Message: fmt.Sprintf("no pod has the labels %s", matches)}
	if len(selector.MatchExpressions) == 0 {
		f.Message = fmt.Sprintf("no pod has the labels %s", labels.FormatLabels(selector.MatchLabels))
	}
	values := map[string][]string{} // by label, those of the workloads
	var near *subject
	most := -1
	for _, o := range l.subjects {
		if o.step != s.step || o.owner.Namespace != namespace {
			continue
		}
		if matches.Matches(o.labels()) {
			return Finding{}, false // it has no pod now
		}
		for key, value := range o.labels() {
			values[key] = append(values[key], value)
		}
		agree, lack, differ := compareSelector(selector.MatchLabels, o.labels())
		if agree > 0 && lack > 0 && differ == 0 && len(selector.MatchExpressions) == 0 {
			f.Severity = Note
		}
		if agree > most {
			near, most = o, agree
		} else if agree == most {
			near = nil // several workloads come equally near
		}
	}
	f.Fix = "select labels that the pods have which are meant, or delete it"
	if near != nil {
		own := labels.FormatLabels(near.identityLabels())
		f.Fix = fmt.Sprintf("select %s if the pods of %s are meant, or delete it", own, near.owner)
	}
	if f.Severity == Note {
		f.Message += " unless something labels them when they run"
	}
	f.Message += ", so that " + effect
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if value := selector.MatchLabels[key]; near == nil && !slices.Contains(values[key], value) {
			f.Message += manifest.DidYouMean(value, values[key])
		}
	}
	return f, true
}

// compareSelector counts the labels of a selector that the pods have, that they lack, and that they have with another value.
func compareSelector(wanted map[string]string, own labels.Set) (agree, lack, differ int) {
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		switch value, has := own[key]; {
		case !has:
			lack++
		case value == wanted[key]:
			agree++
		default:
			differ++
		}
	}
	return agree, lack, differ
}
