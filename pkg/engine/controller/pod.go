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

// prototype is a pod of the template, owned and admitted, that lacks but a name. The pods made from it share all that they
// have in common: a pod in a state is never changed.
func (p *pass) prototype(template *v1.PodTemplateSpec, owner cluster.Object, kind schema.GroupVersionKind) (*v1.Pod, error) {
	pod, err := controller.GetPodFromTemplate(template, owner, metav1.NewControllerRef(owner, kind))
	if err != nil {
		return nil, err
	}
	pod.Namespace = owner.GetNamespace()
	if err := p.admit(pod); err != nil {
		return nil, err
	}
	return pod, nil
}

// prototypeOf returns the prototype of a ReplicaSet's pods: the same one as the last time, if it would be made in the same way.
func (p *pass) prototypeOf(r replicated) (*v1.Pod, error) {
	about := subject{podPrototype, r.set.UID}
	from := []any{idOf(r.object, &r.set.Spec.Template), listOf(p.PriorityClasses), listOf(p.RuntimeClasses), listOf(p.LimitRanges), listOf(p.Namespaces), listOf(p.Policies), listOf(p.ServiceAccounts), p.Mutations}
	if known, found := recall[*v1.Pod](&p.memory, about, from...); found {
		return known, nil
	}
	pod, err := p.prototype(&r.set.Spec.Template, r.object, r.kind)
	if err == nil {
		if _, unknown := r.object.(*cluster.UnknownOwner); unknown {
			pod.GenerateName = cmp.Or(r.set.Spec.Template.GenerateName, pod.GenerateName)
		}
		p.memory.remember(about, pod, from...)
	}
	return pod, err
}

// admit lets a new pod pass admission.
func (p *pass) admit(pod *v1.Pod) error { return p.admitter().Admit(pod) }

// admitter admits the new objects of the controllers.
func (p *pass) admitter() *admission.Pods {
	if p.admission == nil {
		p.admits = p.admits.Follow(p.State)
		p.admission = p.admits
	}
	return p.admission
}

// create makes a pod from a prototype and names it where it has no name. On a node that is no more it makes none: the pod
// garbage collector would delete it, and the controller make it again, without end.
func (p *pass) create(prototype *v1.Pod) {
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
	pod.UID = p.uid("Pod", pod.Namespace, pod.Name)
	pod.CreationTimestamp = p.Now
	created := &pod
	if pod.Spec.NodeName != "" { // a template that names its node needs no scheduler
		created = cluster.Bind(created, pod.Spec.NodeName, p.Now.Time)
		cluster.LabelByNode(created, p.Node(pod.Spec.NodeName))
	}
	p.put(created)
}

// podNames are the names of the pods of one state after another.
type podNames struct {
	pods  []*v1.Pod
	taken map[types.NamespacedName]bool
}

// follow brings the names up to date with the pods of a state.
func (n *podNames) follow(pods []*v1.Pod) {
	if n.taken == nil {
		n.taken = make(map[types.NamespacedName]bool, len(pods))
	}
	cluster.Changes(n.pods, pods, func(was, is *v1.Pod, _ int) {
		if was != nil {
			delete(n.taken, cluster.NameOf(was))
		}
		if is != nil {
			n.taken[cluster.NameOf(is)] = true
		}
	})
	n.pods = pods
}

// uid returns the UID of a new object, which no other has. As in a real cluster it is random where there is a generator of randomness;
// a generator that begins anew, as for each failure that is looked at, must not give one twice.
func (p *pass) uid(kind, namespace, name string) types.UID {
	p.created++
	if p.Rand != nil {
		name = fmt.Sprintf("%s/%d", name, p.Rand.Uint64())
	}
	return admission.UID(kind, namespace, name, p.created)
}
