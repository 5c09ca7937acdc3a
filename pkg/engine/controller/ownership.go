package controller

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// owners finds the pods and the ControllerRevisions of a controller by its UID, and those that have none; each list is in
// order of arrival.
type owners struct {
	pods    map[types.UID][]*v1.Pod
	orphans *lookup
	// revisions holds the orphans under "".
	revisions map[types.UID][]*appsv1.ControllerRevision
}

func ownership(s *cluster.State) owners {
	o := owners{pods: map[types.UID][]*v1.Pod{}, revisions: map[types.UID][]*appsv1.ControllerRevision{}}
	for _, revision := range s.ControllerRevisions {
		var owner types.UID
		if ref := metav1.GetControllerOfNoCopy(revision); ref != nil {
			owner = ref.UID
		}
		o.revisions[owner] = append(o.revisions[owner], revision)
	}
	var orphans []*v1.Pod
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			o.pods[ref.UID] = append(o.pods[ref.UID], pod)
		} else {
			orphans = append(orphans, pod)
		}
	}
	var selectors []scopedSelector
	if len(orphans) > 0 {
		for _, rs := range s.ReplicaSets { // those that Deployments are about to make are too few to matter
			selectors = append(selectors, scopedSelector{rs.Namespace, rs.Spec.Selector})
		}
		for _, set := range s.StatefulSets {
			selectors = append(selectors, scopedSelector{set.Namespace, set.Spec.Selector})
		}
		for _, ds := range s.DaemonSets {
			selectors = append(selectors, scopedSelector{ds.Namespace, ds.Spec.Selector})
		}
	}
	o.orphans = newLookup(orphans, selectors)
	return o
}

// claim returns the pods that the controller owns, in order of arrival, after it has released those that its selector no
// longer matches and adopted the orphans that it does, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/controller_ref_manager.go does. Pods that are not
// wanted (nil: all are) are neither adopted, nor released, nor returned.
func (p *pass) claim(owner cluster.Object, kind schema.GroupVersionKind, selector *metav1.LabelSelector, wanted func(*v1.Pod) bool) ([]*v1.Pod, error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	var pods, kept []*v1.Pod
	for _, pod := range p.owned.pods[owner.GetUID()] {
		switch {
		case wanted != nil && !wanted(pod):
			kept = append(kept, pod)
		case matching.Matches(labels.Set(pod.Labels)):
			kept = append(kept, pod)
			pods = append(pods, pod)
		default:
			released := *pod
			released.OwnerReferences = slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(r metav1.OwnerReference) bool {
				return r.UID == owner.GetUID()
			})
			p.put(&released)
		}
	}
	for _, pod := range p.owned.orphans.find(owner.GetNamespace(), selector, matching) {
		if pod.DeletionTimestamp != nil || wanted != nil && !wanted(pod) {
			continue
		}
		adopted := *pod
		adopted.OwnerReferences = withController(pod.OwnerReferences, owner, kind)
		p.put(&adopted)
		p.owned.orphans.taken[pod.UID] = true
		kept = append(kept, &adopted)
		pods = append(pods, &adopted)
	}
	p.owned.pods[owner.GetUID()] = kept
	return pods, nil
}

// withController returns the references with one more, to the controller that adopts an orphan.
func withController(refs []metav1.OwnerReference, controller metav1.Object, kind schema.GroupVersionKind) []metav1.OwnerReference {
	return append(slices.Clone(refs), *metav1.NewControllerRef(controller, kind))
}

// lookup finds the pods that a selector matches without trying each selector on each pod.
type lookup struct {
	byLabel     map[label][]*v1.Pod
	byNamespace map[string][]*v1.Pod
	taken       map[types.UID]bool
}

type label struct{ namespace, key, value string }

type scopedSelector struct {
	namespace string
	selector  *metav1.LabelSelector
}

// newLookup indexes the pods for the given selectors. Others are answered too, by trying each pod of the namespace.
func newLookup(pods []*v1.Pod, selectors []scopedSelector) *lookup {
	l := &lookup{byLabel: map[label][]*v1.Pod{}, byNamespace: map[string][]*v1.Pod{}, taken: map[types.UID]bool{}}
	for _, s := range selectors {
		if key, value, ok := firstLabel(s.selector); ok {
			l.byLabel[label{s.namespace, key, value}] = nil
		}
	}
	for _, pod := range pods {
		l.byNamespace[pod.Namespace] = append(l.byNamespace[pod.Namespace], pod)
		if len(l.byLabel) == 0 {
			continue
		}
		for key, value := range pod.Labels {
			k := label{pod.Namespace, key, value}
			if _, wanted := l.byLabel[k]; wanted {
				l.byLabel[k] = append(l.byLabel[k], pod)
			}
		}
	}
	return l
}

func (l *lookup) find(namespace string, selector *metav1.LabelSelector, matching labels.Selector) []*v1.Pod {
	candidates := l.byNamespace[namespace]
	if key, value, ok := firstLabel(selector); ok {
		if indexed, known := l.byLabel[label{namespace, key, value}]; known {
			candidates = indexed
		}
	}
	var pods []*v1.Pod
	for _, pod := range candidates {
		if !l.taken[pod.UID] && matching.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func firstLabel(selector *metav1.LabelSelector) (key, value string, ok bool) {
	if selector == nil || len(selector.MatchLabels) == 0 {
		return "", "", false
	}
	key = slices.Min(slices.Collect(maps.Keys(selector.MatchLabels)))
	return key, selector.MatchLabels[key], true
}
