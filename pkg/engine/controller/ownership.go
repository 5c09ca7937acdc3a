package controller

import (
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
	orphans []*v1.Pod
	// adoptable holds the orphans that the selector of a ReplicaSet, StatefulSet or DaemonSet matches; adopted are those of them
	// that one has taken.
	adoptable map[types.UID][]*v1.Pod
	adopted   map[types.UID]bool
	// revisions holds the orphans under "".
	revisions map[types.UID][]*appsv1.ControllerRevision
}

func ownership(s *cluster.State) owners {
	o := owners{
		pods: map[types.UID][]*v1.Pod{}, adoptable: map[types.UID][]*v1.Pod{}, adopted: map[types.UID]bool{},
		revisions: map[types.UID][]*appsv1.ControllerRevision{},
	}
	for _, revision := range s.ControllerRevisions {
		var owner types.UID
		if ref := metav1.GetControllerOfNoCopy(revision); ref != nil {
			owner = ref.UID
		}
		o.revisions[owner] = append(o.revisions[owner], revision)
	}
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			o.pods[ref.UID] = append(o.pods[ref.UID], pod)
		} else {
			o.orphans = append(o.orphans, pod)
		}
	}
	if len(o.orphans) > 0 {
		o.findAdoptable(s)
	}
	return o
}

// findAdoptable finds which orphans the controllers of the state may adopt. Those of the ReplicaSets that Deployments are about to
// make are searched for one by one: they are few.
func (o *owners) findAdoptable(s *cluster.State) {
	var selectors cluster.Selectors
	var uids []types.UID
	add := func(controller metav1.Object, selector *metav1.LabelSelector) {
		if selectors.Add(controller.GetNamespace(), selector) == nil { // claim returns the error
			uids = append(uids, controller.GetUID())
			o.adoptable[controller.GetUID()] = nil
		}
	}
	for _, rs := range s.ReplicaSets {
		add(rs, rs.Spec.Selector)
	}
	for _, set := range s.StatefulSets {
		add(set, set.Spec.Selector)
	}
	for _, ds := range s.DaemonSets {
		add(ds, ds.Spec.Selector)
	}
	for _, pod := range o.orphans {
		for _, i := range selectors.Matching(pod) {
			o.adoptable[uids[i]] = append(o.adoptable[uids[i]], pod)
		}
	}
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
	candidates, found := p.owned.adoptable[owner.GetUID()]
	if !found {
		candidates = p.owned.orphans
	}
	for _, pod := range candidates {
		if pod.Namespace != owner.GetNamespace() || !matching.Matches(labels.Set(pod.Labels)) || p.owned.adopted[pod.UID] {
			continue
		}
		if pod.DeletionTimestamp != nil || wanted != nil && !wanted(pod) {
			continue
		}
		adopted := *pod
		adopted.OwnerReferences = withController(pod.OwnerReferences, owner, kind)
		p.put(&adopted)
		p.owned.adopted[pod.UID] = true
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
