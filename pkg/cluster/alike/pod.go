package alike

import (
	"fmt"
	"iter"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// PodClasses sorts pods into classes of the same look: what the scheduler sees of a pod, without its name, node and status. The zero value is
// empty.
type PodClasses struct {
	classes    map[string]string // by what a class looks like: its short name
	byTemplate map[template]string
}

// template is the key of a known class: pods of one template share its containers.
type template struct {
	container *v1.Container
	owner     string
	revision  string
}

// IdentityLabels lists the labels that distinguish the pods of a StatefulSet.
var IdentityLabels = []string{appsv1.PodIndexLabel, appsv1.StatefulSetPodNameLabel}

// Class returns the short name of the pod's class. A pod without a controller is the only one of its class.
func (p *PodClasses) Class(pod *v1.Pod) string {
	owner, ordinal := "", false
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		owner, ordinal = string(ref.UID), ref.Kind == "StatefulSet"
	}
	id := template{owner: owner, revision: pod.Labels[appsv1.ControllerRevisionHashLabelKey]}
	if len(pod.Spec.Containers) > 0 {
		id.container = &pod.Spec.Containers[0]
	}
	if class, found := p.byTemplate[id]; found && owner != "" {
		return class
	}
	kept := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Labels: cluster.OwnLabels(pod)}, Spec: pod.Spec}
	kept.Spec.NodeName = ""
	if ordinal {
		kept.Labels, kept.Spec.Hostname = maps.Clone(kept.Labels), ""
		for _, identity := range IdentityLabels {
			delete(kept.Labels, identity)
		}
	}
	if owner == "" {
		kept.Name = pod.Name
	}
	look := owner + EncodeJSON(&kept)
	if p.classes == nil {
		p.classes = map[string]string{}
	}
	class, found := p.classes[look]
	if !found {
		class = fmt.Sprintf("class %d", len(p.classes))
		p.classes[look] = class
	}
	if p.byTemplate == nil {
		p.byTemplate = map[template]string{}
	}
	p.byTemplate[id] = class
	return class
}

// Looks returns the looks of the classes, in no particular order.
func (p *PodClasses) Looks() iter.Seq[string] { return maps.Keys(p.classes) }

// Release drops the references to the pods seen so far. Classes keep their names.
func (p *PodClasses) Release() { p.byTemplate = nil }

// CanPreempt reports whether a pod of one of the objects could preempt another pod.
func CanPreempt(objs []cluster.Object) bool {
	for _, obj := range objs {
		if class, ok := obj.(*schedulingv1.PriorityClass); ok && class.GlobalDefault {
			return true
		}
		if spec, _ := cluster.PodSpec(obj); spec != nil && (spec.PriorityClassName != "" || spec.Priority != nil && *spec.Priority != 0) {
			return true
		}
	}
	return false
}
