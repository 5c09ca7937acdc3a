package cluster

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// UnknownOwner is a controller of pods that is not itself in the input, such as a StrimziPodSet or a CloneSet. Its pods show what it makes:
// the simulation assumes that it replaces each of them.
type UnknownOwner struct {
	// TypeMeta has the kind and the version that the pods' owner references have.
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              UnknownOwnerSpec `json:"spec"`
}

// UnknownOwnerSpec says which pods the owner makes.
type UnknownOwnerSpec struct {
	Replicas *int32 `json:"replicas"`
	// Template is the template of pods that have no name of their own: of all pods if names are generated, and otherwise of additional
	// ones.
	Template v1.PodTemplateSpec `json:"template"`
	// Named are the pods that come back under their own names, in the order in which the owner makes them. If there are none, names are
	// generated.
	Named []v1.PodTemplateSpec `json:"named,omitempty"`
	// Unscaled means that the kind has no scale subresource, by which a PodDisruptionBudget learns how many pods there should be.
	Unscaled bool `json:"unscaled,omitempty"`
}

// CheckChangeable returns an error for an unknown owner: its number of replicas can change, but nothing else about it is known that could
// change.
func CheckChangeable(obj Object) error {
	if o, unknown := obj.(*UnknownOwner); unknown {
		remedy := "add it to the dump"
		if strings.Contains(o.GroupVersionKind().Group, ".") { // a custom resource, which the input could have, too
			remedy = "name a workload whose template is in the input, such as a Deployment"
		}
		return fmt.Errorf("the input has the pods of the %s and not the %s itself, whose template could change; %s", RefTo(o).Describe(), o.Kind, remedy)
	}
	return nil
}

// DeepCopyObject implements runtime.Object.
func (o *UnknownOwner) DeepCopyObject() runtime.Object {
	c := *o
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	if o.Spec.Replicas != nil {
		replicas := *o.Spec.Replicas
		c.Spec.Replicas = &replicas
	}
	o.Spec.Template.DeepCopyInto(&c.Spec.Template)
	c.Spec.Named = nil
	for i := range o.Spec.Named {
		c.Spec.Named = append(c.Spec.Named, *o.Spec.Named[i].DeepCopy())
	}
	return &c
}
