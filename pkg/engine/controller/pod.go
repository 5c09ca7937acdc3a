package controller

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// newPrototype returns a pod of the template with its owner, admitted, that lacks only a name. The pods made from it share everything but
// their names and UIDs, since a pod in a state is never changed.
func (p *pass) newPrototype(template *v1.PodTemplateSpec, owner cluster.Object, kind schema.GroupVersionKind) (*v1.Pod, error) {
	pod, err := controller.GetPodFromTemplate(template, owner, metav1.NewControllerRef(owner, kind))
	if err != nil {
		return nil, err
	}
	pod.Namespace = owner.GetNamespace()
	if err := p.admitPod(pod); err != nil {
		return nil, err
	}
	return pod, nil
}

// replicaSetPrototype returns the prototype of a ReplicaSet's pods. It is the same pointer as the last time if nothing that it derives from has
// changed.
func (p *pass) replicaSetPrototype(r replicaController) (*v1.Pod, error) {
	about := subject{podPrototype, r.set.UID}
	from := []any{newTemplateID(r.object, &r.set.Spec.Template), newListID(p.PriorityClasses), newListID(p.RuntimeClasses), newListID(p.LimitRanges), newListID(p.Namespaces), newListID(p.Policies), newListID(p.ServiceAccounts), p.Mutations}
	if known, found := recall[*v1.Pod](&p.memory, about, from...); found {
		return known, nil
	}
	pod, err := p.newPrototype(&r.set.Spec.Template, r.object, r.kind)
	if err == nil {
		if _, unknown := r.object.(*cluster.UnknownOwner); unknown {
			pod.GenerateName = cmp.Or(r.set.Spec.Template.GenerateName, pod.GenerateName)
		}
		p.memory.remember(about, pod, from...)
	}
	return pod, err
}

// admitPod lets a new pod pass admission.
func (p *pass) admitPod(pod *v1.Pod) error { return p.admitter().Admit(pod) }

// admitter returns the admission of new objects, with the policies of the state.
func (p *pass) admitter() *admission.Pods {
	if p.admission == nil {
		p.admits = p.admits.Follow(p.State)
		p.admission = p.admits
	}
	return p.admission
}

// putNewPod creates a pod from a prototype, and names it if it has no name. If the prototype names a node that does not exist, it creates
// none: the pod garbage collector would delete the pod, and the controller would create it again, without end.
func (p *pass) putNewPod(prototype *v1.Pod) {
	if prototype.Spec.NodeName != "" && p.Node(prototype.Spec.NodeName) == nil {
		return
	}
	p.names.follow(p.Pods)
	pod := *prototype
	for pod.Name == "" {
		name := admission.GenerateName(pod.GenerateName, p.created)
		if key := (types.NamespacedName{Namespace: pod.Namespace, Name: name}); !p.names.taken[key] && !p.named[key] {
			if p.named == nil {
				p.named = map[types.NamespacedName]bool{}
			}
			p.named[key] = true
			pod.Name = name
		} else {
			p.created++
		}
	}
	pod.UID = p.newUID("Pod", pod.Namespace, pod.Name)
	pod.CreationTimestamp = p.Now
	created := &pod
	if pod.Spec.NodeName != "" { // a pod whose template names its node needs no scheduler
		created = cluster.BindPod(created, pod.Spec.NodeName, p.Now.Time)
		cluster.CopyTopologyLabels(created, p.Node(pod.Spec.NodeName))
	}
	p.putObject(created)
}

// podNames has the names of the pods of a state, and follows one state after another.
type podNames struct {
	pods  []*v1.Pod
	taken map[types.NamespacedName]bool
}

// follow updates the names to the pods of a state.
func (n *podNames) follow(pods []*v1.Pod) {
	if n.taken == nil {
		n.taken = make(map[types.NamespacedName]bool, len(pods))
	}
	cluster.VisitChanges(n.pods, pods, func(was, is *v1.Pod, _ int) {
		if was != nil {
			delete(n.taken, cluster.NameOf(was))
		}
		if is != nil {
			n.taken[cluster.NameOf(is)] = true
		}
	})
	n.pods = pods
}

// newUID returns the UID of a new object, which no other object has. As in a real cluster it is random if there is a generator. It also
// contains a counter, since a generator that starts again, as for each failure that is simulated, must not give one UID twice.
func (p *pass) newUID(kind, namespace, name string) types.UID {
	p.created++
	if p.Rand != nil {
		name = fmt.Sprintf("%s/%d", name, p.Rand.Uint64())
	}
	return admission.UID(kind, namespace, name, p.created)
}
