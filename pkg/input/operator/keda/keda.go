// Package keda expands KEDA's ScaledObjects into the HorizontalPodAutoscalers that KEDA makes of them. It follows controllers/keda/hpa.go of
// https://github.com/kedacore/keda at v2.17.0. The scalers, which measure the load, are not simulated.
package keda

import (
	"cmp"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/input/operator"
)

// Kind is the kind of the resources, with group and version.
var Kind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}

// Defaults of KEDA. A minReplicaCount of 0 is for KEDA alone, which scales between 0 and 1 itself.
const (
	minReplicas = 1
	maxReplicas = 100
)

// pausedAnnotations are the annotations with which KEDA deletes its HorizontalPodAutoscaler.
var pausedAnnotations = []string{"autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"}

type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount *int32 `json:"minReplicaCount"`
		MaxReplicaCount *int32 `json:"maxReplicaCount"`
		Advanced        struct {
			HorizontalPodAutoscalerConfig struct {
				Name string `json:"name"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
	} `json:"spec"`
}

// New returns the operator.
func New() operator.Operator {
	return operator.Operator{Name: "KEDA", Kinds: []schema.GroupKind{Kind.GroupKind()}, Expand: expand}
}

func expand(r *operator.Resource, _ []*operator.Resource) (*operator.Expansion, error) {
	if version := Kind.GroupVersion().String(); r.APIVersion != version {
		return nil, fmt.Errorf("apiVersion: unknown version %s: use %s", r.APIVersion, version)
	}
	var s scaledObject
	if _, err := r.Decode(&s); err != nil { // the fields of scalers are no fields of the type
		return nil, err
	}
	var problems []error
	if r.Name == "" {
		problems = append(problems, errors.New("metadata.name: Required value"))
	}
	if s.Spec.ScaleTargetRef.Name == "" {
		problems = append(problems, errors.New("spec.scaleTargetRef.name: Required value"))
	}
	least, most := max(ptr.Deref(s.Spec.MinReplicaCount, 0), minReplicas), ptr.Deref(s.Spec.MaxReplicaCount, maxReplicas)
	if most < least {
		problems = append(problems, fmt.Errorf("spec.maxReplicaCount: Invalid value: %d: must be at least minReplicaCount, %d", most, least))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for _, paused := range pausedAnnotations {
		if value := s.Annotations[paused]; value != "" && value != "false" {
			return &operator.Expansion{Assumptions: []string{"it is paused by the annotation " + paused + ", so that nothing scales its target"}}, nil
		}
	}
	return &operator.Expansion{Objects: []operator.WrittenObject{{Object: &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Name: cmp.Or(s.Spec.Advanced.HorizontalPodAutoscalerConfig.Name, "keda-hpa-"+r.Name), Namespace: r.Namespace,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "keda-operator", "scaledobject.keda.sh/name": r.Name},
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MinReplicas: &least, MaxReplicas: most,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: cmp.Or(s.Spec.ScaleTargetRef.APIVersion, "apps/v1"), Kind: cmp.Or(s.Spec.ScaleTargetRef.Kind, "Deployment"), Name: s.Spec.ScaleTargetRef.Name,
			},
		},
	}}}}, nil
}
