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

// unknownOwner makes the pods that an unknown owner lacks, or deletes its excess pods. It replaces pods with generated names as a ReplicaSet
// does. Pods that keep their names come back when the old ones have ended, all at once.
func (p *pass) unknownOwner(o *cluster.UnknownOwner) error {
	if len(o.Spec.Named) == 0 {
		return p.replicaSet(replicated{p.unknownReplicaSet(o), o, o.GroupVersionKind()})
	}
	return p.unlessSettled(subject{inSync, o.UID}, []any{o, listOf(p.Pods)}, func() error {
		var lacking []*v1.Pod
		wanted := map[string]bool{}
		p.names.follow(p.Pods)
		for _, template := range wantedPods(o) {
			wanted[template.Name] = true
			if p.names.taken[types.NamespacedName{Namespace: o.Namespace, Name: template.Name}] {
				continue
			}
			pod, err := p.prototype(&template, o, o.GroupVersionKind())
			if err != nil {
				return p.refuse(o, 1, err)
			}
			pod.Name, pod.GenerateName = template.Name, template.GenerateName
			lacking = append(lacking, pod)
		}
		for _, pod := range p.owned.of(o.UID) {
			if cluster.Active(pod) && !wanted[pod.Name] {
				p.delete(pod)
			}
		}
		if len(lacking) == 0 {
			return nil
		}
		_, err := p.createPods(o, lacking[0], len(lacking), func(i int) *v1.Pod { return lacking[i] })
		return err
	})
}

// wantedPods are the templates of the pods that an owner wants whose pods keep their names. Further ones have the next ordinals.
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

// unknownReplicaSet returns an owner whose pods have generated names as a ReplicaSet: the same one for as long as it is the same, since what is
// remembered goes by pointers. Its selector matches all pods, but it has only those that name it as their controller; see adoptable.
func (c *Controllers) unknownReplicaSet(o *cluster.UnknownOwner) *appsv1.ReplicaSet {
	return once(&c.memory, subject{asReplicaSet, o.UID}, []any{o}, func() *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: o.ObjectMeta,
			Spec:       appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas, Selector: &metav1.LabelSelector{}, Template: o.Spec.Template},
		}
	})
}
