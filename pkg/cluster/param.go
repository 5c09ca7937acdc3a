package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Param is an object that admission policies name as their parameter, such as a ConfigMap or a custom resource. Nothing else reads it.
type Param struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Content is the whole object, as decoded from JSON. It is never changed.
	Content map[string]any `json:"-"`
}

// DeepCopyObject implements runtime.Object.
func (p *Param) DeepCopyObject() runtime.Object {
	c := *p
	p.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}
