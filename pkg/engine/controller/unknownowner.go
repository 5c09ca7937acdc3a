package controller

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// syncUnknownOwner creates the pods that an unknown owner lacks, or deletes its excess pods. It replaces pods with generated names as a
// ReplicaSet does. It creates pods that keep their names all at once, each when the old pod of its name has ended.
func (p *pass) syncUnknownOwner(o *cluster.UnknownOwner) error {
	if len(o.Spec.Named) == 0 {
		return p.manageReplicas(replicaController{p.unknownReplicaSet(o), o, o.GroupVersionKind()})
	}
	return p.syncUnlessSettled(subject{inSync, o.UID}, []any{o, newListID(p.Pods)}, func() error {
		var lacking []*v1.Pod
		wanted := map[string]bool{}
		p.names.follow(p.Pods)
		for _, template := range wantedPods(o) {
			wanted[template.Name] = true
			if p.names.taken[types.NamespacedName{Namespace: o.Namespace, Name: template.Name}] {
				continue
			}
			pod, err := p.newPrototype(&template, o, o.GroupVersionKind())
			if err != nil {
				return p.refusePods(o, 1, err)
			}
			pod.Name, pod.GenerateName = template.Name, template.GenerateName
			lacking = append(lacking, pod)
		}
		for _, pod := range p.owned.podsOf(o.UID) {
			if cluster.IsActive(pod) && !wanted[pod.Name] {
				p.deletePods(pod)
			}
		}
		if len(lacking) == 0 {
			return nil
		}
		_, err := p.createPods(o, lacking[0], len(lacking), func(i int) *v1.Pod { return lacking[i] })
		return err
	})
}

// wantedPods returns the templates of the pods that an owner wants, if its pods keep their names. Pods beyond the named ones get the next
// ordinals.
func wantedPods(o *cluster.UnknownOwner) []v1.PodTemplateSpec {
	replicas := int(*o.Spec.Replicas)
	wanted := slices.Clone(o.Spec.Named[:min(replicas, len(o.Spec.Named))])
	parent, next := o.Name, 0
	for i := range o.Spec.Named {
		named := &v1.Pod{ObjectMeta: o.Spec.Named[i].ObjectMeta}
		if n := ordinal(named); n >= next {
			parent, next = cmp.Or(parentName(named), o.Name), n+1
		}
	}
	for ; len(wanted) < replicas; next++ {
		further := o.Spec.Template
		further.Name = fmt.Sprintf("%s-%d", parent, next)
		wanted = append(wanted, further)
	}
	return wanted
}

// unknownReplicaSet returns an owner whose pods have generated names in the form of a ReplicaSet. It is the same pointer for as long as the
// owner is the same, since entries of the memory compare pointers. Its selector matches all pods, but it has only the pods that name it as
// their controller; see [Controllers.findAdoptable].
func (c *Controllers) unknownReplicaSet(o *cluster.UnknownOwner) *appsv1.ReplicaSet {
	return recallOrCompute(&c.memory, subject{asReplicaSet, o.UID}, []any{o}, func() *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: o.ObjectMeta,
			Spec:       appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas, Selector: &metav1.LabelSelector{}, Template: o.Spec.Template},
		}
	})
}
