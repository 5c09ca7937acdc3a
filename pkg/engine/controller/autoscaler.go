package controller

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// autoscalerPeriod is how often an autoscaler looks at its target: the default of --horizontal-pod-autoscaler-sync-period. Before 1.37 a new
// autoscaler enters its queue with this delay, and so first looks one period after it was made. Since
// https://github.com/kubernetes/kubernetes/pull/138294 it also looks at once, while its target's pods are being made, which is not simulated.
const autoscalerPeriod = 15 * time.Second

// autoscalers keep their targets between minReplicas and maxReplicas. Without metrics that is all that
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/horizontal.go does; a target that is
// scaled to zero stays there, as it does upstream.
func (p *pass) autoscalers() error {
	outOfBounds(p.State, func(hpa *autoscalingv2.HorizontalPodAutoscaler, target cluster.Object, want int32) {
		if !looksAfter(hpa, p.Now.Add(-time.Nanosecond)).Equal(p.Now.Time) {
			return
		}
		scaled := target.DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(scaled) = &want
		scaled.SetGeneration(target.GetGeneration() + 1)
		p.put(scaled)
	})
	return nil
}

// Autoscaled returns how many replicas the object has after its autoscaler, if it has one, has looked at it.
func Autoscaled(s *cluster.State, obj cluster.Object) int32 {
	return int32(autoscalersOf(s).replicas(cluster.KindOf(obj), obj))
}

// looksAfter returns the first time after now at which the autoscaler looks at its target.
func looksAfter(hpa *autoscalingv2.HorizontalPodAutoscaler, now time.Time) time.Time {
	age := max(now.Sub(hpa.CreationTimestamp.Time), 0)
	return hpa.CreationTimestamp.Add((age/autoscalerPeriod + 1) * autoscalerPeriod)
}

// outOfBounds calls f with each target that its autoscaler scales when it next looks, and to how many replicas.
func outOfBounds(s *cluster.State, f func(hpa *autoscalingv2.HorizontalPodAutoscaler, target cluster.Object, want int32)) {
	autoscalers := autoscalersOf(s)
	if len(autoscalers) == 0 {
		return
	}
	kinds := map[string]bool{}
	for target := range autoscalers {
		kinds[target.Kind] = true
	}
	for target := range s.Scaled() {
		kind := cluster.KindOf(target)
		if _, unknown := target.(*cluster.UnknownOwner); unknown || !kinds[kind] {
			continue
		}
		if want := int32(autoscalers.replicas(kind, target)); want != ptr.Deref(*cluster.ReplicasOf(target), 1) {
			f(autoscalers[cluster.Ref{Kind: kind, Namespace: target.GetNamespace(), Name: target.GetName()}], target, want)
		}
	}
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

// replicas returns how many replicas the target has after its autoscaler, if it has one, has looked at it.
func (a autoscalersByTarget) replicas(kind string, target cluster.Object) int64 {
	have := ptr.Deref(*cluster.ReplicasOf(target), 1)
	hpa := a[cluster.Ref{Kind: kind, Namespace: target.GetNamespace(), Name: target.GetName()}]
	if hpa == nil || have == 0 {
		return int64(have)
	}
	return int64(min(max(have, ptr.Deref(hpa.Spec.MinReplicas, 1)), hpa.Spec.MaxReplicas))
}
