package controller

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// autoscalers keep their targets between minReplicas and maxReplicas. Without metrics that is all that
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/horizontal.go does; a target that is
// scaled to zero stays there, as it does upstream.
func (p *pass) autoscalers() error {
	autoscalers := autoscalersOf(p.State)
	if len(autoscalers) == 0 {
		return nil
	}
	bound := func(kind string, target cluster.Object) {
		have := ptr.Deref(*cluster.ReplicasOf(target), 1)
		want := int32(autoscalers.bound(kind, target))
		if have == want {
			return
		}
		scaled := target.DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(scaled) = &want
		scaled.SetGeneration(target.GetGeneration() + 1)
		p.put(scaled)
	}
	for _, d := range p.Deployments {
		bound("Deployment", d)
	}
	for _, set := range p.StatefulSets {
		bound("StatefulSet", set)
	}
	for _, rs := range p.ReplicaSets {
		bound("ReplicaSet", rs)
	}
	for _, rc := range p.ReplicationControllers {
		bound("ReplicationController", rc)
	}
	return nil
}

// autoscalersByTarget are HorizontalPodAutoscalers by what they scale.
type autoscalersByTarget map[cluster.Ref]*autoscalingv2.HorizontalPodAutoscaler

func autoscalersOf(s *cluster.State) autoscalersByTarget {
	autoscalers := autoscalersByTarget{}
	for _, hpa := range s.HorizontalPodAutoscalers {
		ref := hpa.Spec.ScaleTargetRef
		autoscalers[cluster.Ref{Kind: ref.Kind, Namespace: hpa.Namespace, Name: ref.Name}] = hpa
	}
	return autoscalers
}

// bound is how many replicas the target has once its autoscaler, if it has one, has looked at it.
func (a autoscalersByTarget) bound(kind string, target cluster.Object) int64 {
	have := ptr.Deref(*cluster.ReplicasOf(target), 1)
	hpa := a[cluster.Ref{Kind: kind, Namespace: target.GetNamespace(), Name: target.GetName()}]
	if hpa == nil || have == 0 {
		return int64(have)
	}
	return int64(min(max(have, ptr.Deref(hpa.Spec.MinReplicas, 1)), hpa.Spec.MaxReplicas))
}
