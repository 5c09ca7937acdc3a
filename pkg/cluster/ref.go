package cluster

import (
	"cmp"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ref names an object of a kind that a State holds. Name is empty if only the kind and the namespace matter.
type Ref struct {
	// Kind is the kind of the object. The kind of a workload is that of the outermost owner of its pods, or Pod for a pod without an owner.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// RefTo returns the object's kind, namespace and name.
func RefTo(obj Object) Ref { return Ref{KindOf(obj), obj.GetNamespace(), obj.GetName()} }

// ScaleTarget returns the name of the object whose replicas the autoscaler sets.
func ScaleTarget(hpa *autoscalingv2.HorizontalPodAutoscaler) Ref {
	return Ref{Kind: hpa.Spec.ScaleTargetRef.Kind, Namespace: hpa.Namespace, Name: hpa.Spec.ScaleTargetRef.Name}
}

// Find returns the first of the objects with the name, or nil if there is none.
func Find(objects []Object, name Ref) Object {
	for _, obj := range objects {
		if RefTo(obj) == name {
			return obj
		}
	}
	return nil
}

// String returns the name as kubectl writes it: deployment/web.
func (r Ref) String() string { return strings.ToLower(r.Kind) + "/" + r.Name }

// Qualified returns the name as kubectl writes it, with the namespace as a prefix unless it is the default namespace: prod/deployment/web.
func (r Ref) Qualified() string { return Qualify(r.Namespace, r.String()) }

// Qualify puts the namespace before the name unless it is the default namespace.
func Qualify(namespace, name string) string {
	if namespace == "" || namespace == v1.NamespaceDefault {
		return name
	}
	return namespace + "/" + name
}

// KubectlArgument returns the name as an argument of a command, with the flag for its namespace unless it is the default namespace: deployment/web
// -n prod.
func KubectlArgument(namespace, name string) string {
	if namespace == "" || namespace == v1.NamespaceDefault {
		return name
	}
	return name + " -n " + namespace
}

// Describe returns the name as errors write it: Deployment default/web, Node n1.
func (r Ref) Describe() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Compare orders objects by namespace, kind and name.
func (r Ref) Compare(other Ref) int {
	return cmp.Or(cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.Name, other.Name))
}

// PodRef names a pod and its workload in an answer.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without an owner.
	Workload string `json:"workload,omitempty"`
}

// NewPodRef names the pod and its owner, which State.Owners finds.
func NewPodRef(pod *v1.Pod, owner Ref) PodRef {
	ref := PodRef{Namespace: pod.Namespace, Name: pod.Name}
	if owner.Kind != "Pod" {
		ref.Workload = owner.String()
	}
	return ref
}

// Owner returns the workload, with its kind in lower case. A pod without an owner is its own workload.
func (p PodRef) Owner() Ref {
	kind, name, found := strings.Cut(p.Workload, "/")
	if !found {
		kind, name = "pod", p.Name
	}
	return Ref{Kind: kind, Namespace: p.Namespace, Name: name}
}

// Key returns the pod's namespace and name.
func (p PodRef) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// OfWorkload reports whether the pod belongs to the workload.
func (p PodRef) OfWorkload(workload Ref) bool {
	owner := p.Owner()
	return owner.Namespace == workload.Namespace && owner.String() == workload.String()
}

// WorkloadRef names a workload in an answer.
type WorkloadRef struct {
	Namespace string `json:"namespace"`
	// Workload is kind/name in lower case, or pod/name for a pod without an owner.
	Workload string `json:"workload"`
}

// Workload names the workload.
func (r Ref) Workload() WorkloadRef { return WorkloadRef{Namespace: r.Namespace, Workload: r.String()} }

// Qualified returns the name with the namespace as a prefix unless it is the default namespace.
func (w WorkloadRef) Qualified() string { return Qualify(w.Namespace, w.Workload) }

// Compare orders workloads by namespace and name.
func (w WorkloadRef) Compare(other WorkloadRef) int {
	return cmp.Or(cmp.Compare(w.Namespace, other.Namespace), cmp.Compare(w.Workload, other.Workload))
}

// Owners returns a function that finds the owner of a pod of the state: the Deployment or Rollout rather than its ReplicaSet, the
// DeploymentConfig rather than its ReplicationController, the CronJob rather than its Job, and the pod itself, as kind Pod, if nothing
// controls it.
func (s *State) Owners() func(*v1.Pod) Ref {
	above := make(map[types.UID]*metav1.OwnerReference, len(s.ReplicaSets)+len(s.ReplicationControllers)+len(s.Jobs))
	for _, set := range s.ReplicaSets {
		if ref := metav1.GetControllerOfNoCopy(set); ref != nil {
			above[set.UID] = ref
		}
	}
	for _, rc := range s.ReplicationControllers {
		if ref := metav1.GetControllerOfNoCopy(rc); ref != nil {
			above[rc.UID] = ref
		}
	}
	for _, job := range s.Jobs {
		if ref := metav1.GetControllerOfNoCopy(job); ref != nil {
			above[job.UID] = ref
		}
	}
	return func(pod *v1.Pod) Ref {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			return Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
		}
		if outer, found := above[ref.UID]; found {
			ref = outer
		}
		return Ref{Kind: ref.Kind, Namespace: pod.Namespace, Name: ref.Name}
	}
}
