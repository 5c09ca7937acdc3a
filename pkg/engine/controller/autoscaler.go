package controller

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// autoscalerPeriod is the time between two looks of an autoscaler at its target: the default of --horizontal-pod-autoscaler-sync-period.
// Before 1.37 a new autoscaler enters its queue with this delay, so its first look is one period after its creation. Since
// https://github.com/kubernetes/kubernetes/pull/138294 it also looks at once, while its target's pods are still being created; that look is
// not simulated.
const autoscalerPeriod = 15 * time.Second

// syncAutoscalers keep their targets between minReplicas and maxReplicas. Without metrics that is all that
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/horizontal.go does. As upstream, a target with 0
// replicas stays at 0.
func (p *pass) syncAutoscalers() error {
	for _, s := range p.pendingScalings(p.State) {
		if !nextAutoscalerLook(s.by, p.Now.Add(-time.Nanosecond)).Equal(p.Now.Time) {
			continue
		}
		scaled := p.Find(s.target).DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(scaled) = &s.want
		scaled.SetGeneration(scaled.GetGeneration() + 1)
		p.putObject(scaled)
	}
	return nil
}

// AutoscaledReplicas returns the number of replicas that the object has after its autoscaler, if it has one, has looked at it.
func AutoscaledReplicas(s *cluster.State, obj cluster.Object) int32 {
	return int32(indexAutoscalers(s).replicas(cluster.KindOf(obj), obj))
}

// nextAutoscalerLook returns the first time after now at which the autoscaler looks at its target.
func nextAutoscalerLook(hpa *autoscalingv2.HorizontalPodAutoscaler, now time.Time) time.Time {
	age := max(now.Sub(hpa.CreationTimestamp.Time), 0)
	return hpa.CreationTimestamp.Add((age/autoscalerPeriod + 1) * autoscalerPeriod)
}

// scaling is what an autoscaler does at its next look at its target.
type scaling struct {
	by     *autoscalingv2.HorizontalPodAutoscaler
	target cluster.Ref
	want   int32
}

// pendingScalings returns what the autoscalers do at their next looks.
func (c *Controllers) pendingScalings(s *cluster.State) []scaling {
	if len(s.HorizontalPodAutoscalers) == 0 {
		return nil
	}
	c.due.followWorkloads(s)
	seen := []any{newListID(s.HorizontalPodAutoscalers), c.due.scaleChanges}
	return recallOrCompute(&c.memory, subject{fact: outOfBounds}, seen, func() []scaling {
		by := indexAutoscalers(s)
		return slices.Concat(scalingsOfKind(by, "ReplicationController", s.ReplicationControllers), scalingsOfKind(by, "Deployment", s.Deployments),
			scalingsOfKind(by, "ReplicaSet", s.ReplicaSets), scalingsOfKind(by, "StatefulSet", s.StatefulSets))
	})
}

// autoscalersByTarget has HorizontalPodAutoscalers by the kind and the name of their targets.
type autoscalersByTarget map[string]map[types.NamespacedName]*autoscalingv2.HorizontalPodAutoscaler

// indexAutoscalers indexes the autoscalers of a state by their targets.
func indexAutoscalers(s *cluster.State) autoscalersByTarget {
	autoscalers := autoscalersByTarget{}
	for _, hpa := range s.HorizontalPodAutoscalers {
		of := hpa.Spec.ScaleTargetRef
		if autoscalers[of.Kind] == nil {
			autoscalers[of.Kind] = map[types.NamespacedName]*autoscalingv2.HorizontalPodAutoscaler{}
		}
		autoscalers[of.Kind][types.NamespacedName{Namespace: hpa.Namespace, Name: of.Name}] = hpa
	}
	return autoscalers
}

// scalingsOfKind returns what the autoscalers of one kind of target do.
func scalingsOfKind[T cluster.Object](by autoscalersByTarget, kind string, targets []T) []scaling {
	if len(by[kind]) == 0 {
		return nil
	}
	var all []scaling
	for _, target := range targets {
		if want := int32(by.replicas(kind, target)); want != ptr.Deref(*cluster.ReplicasOf(target), 1) {
			all = append(all, scaling{by[kind][cluster.NameOf(target)], cluster.RefTo(target), want})
		}
	}
	return all
}

// replicas returns the number of replicas that the target has after its autoscaler, if it has one, has looked at it.
func (a autoscalersByTarget) replicas(kind string, target cluster.Object) int64 {
	have := ptr.Deref(*cluster.ReplicasOf(target), 1)
	hpa := a[kind][cluster.NameOf(target)]
	if hpa == nil || have == 0 {
		return int64(have)
	}
	return int64(min(max(have, ptr.Deref(hpa.Spec.MinReplicas, 1)), hpa.Spec.MaxReplicas))
}
