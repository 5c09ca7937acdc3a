package cluster

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ref names an object, as what a pod belongs to: the outermost controller that is known, or the pod itself, of kind Pod.
type Ref struct{ Kind, Namespace, Name string }

// String returns the owner as kubectl names it: deployment/web.
func (o Ref) String() string { return strings.ToLower(o.Kind) + "/" + o.Name }

// Compare orders owners by namespace, kind and name.
func (o Ref) Compare(other Ref) int {
	return cmp.Or(cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.Name, other.Name))
}

// Owners returns a function that tells the owner of each pod of the state: the Deployment rather than its ReplicaSet, the
// CronJob rather than its Job.
func (s *State) Owners() func(*v1.Pod) Ref {
	above := map[types.UID]metav1.OwnerReference{}
	for _, set := range s.ReplicaSets {
		if ref := metav1.GetControllerOfNoCopy(set); ref != nil {
			above[set.UID] = *ref
		}
	}
	for _, job := range s.Jobs {
		if ref := metav1.GetControllerOfNoCopy(job); ref != nil {
			above[job.UID] = *ref
		}
	}
	return func(pod *v1.Pod) Ref {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			return Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
		}
		if outer, found := above[ref.UID]; found {
			ref = &outer
		}
		return Ref{Kind: ref.Kind, Namespace: pod.Namespace, Name: ref.Name}
	}
}
