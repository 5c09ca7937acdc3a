package workload

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// autoscalers keep their targets between minReplicas and maxReplicas. Without metrics that is all that
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/horizontal.go does; a target that is
// scaled to zero stays there, as it does upstream.
func (p *pass) autoscalers() error {
	targets := map[scaleTarget]*autoscalingv2.HorizontalPodAutoscaler{}
	for _, hpa := range p.HorizontalPodAutoscalers {
		ref := hpa.Spec.ScaleTargetRef
		targets[scaleTarget{ref.Kind, hpa.Namespace, ref.Name}] = hpa
	}
	if len(targets) == 0 {
		return nil
	}
	// bounded returns the replicas that the object's autoscaler wants, and whether they differ from those it has.
	bounded := func(kind string, meta *metav1.ObjectMeta, replicas *int32) (*int32, bool) {
		hpa, ok := targets[scaleTarget{kind, meta.Namespace, meta.Name}]
		if !ok || ptr.Deref(replicas, 1) == 0 {
			return nil, false
		}
		want := min(max(ptr.Deref(replicas, 1), ptr.Deref(hpa.Spec.MinReplicas, 1)), hpa.Spec.MaxReplicas)
		return &want, want != ptr.Deref(replicas, 1)
	}
	for _, d := range p.Deployments {
		if replicas, ok := bounded("Deployment", &d.ObjectMeta, d.Spec.Replicas); ok {
			scaled := *d
			scaled.Spec.Replicas = replicas
			scaled.Generation++
			p.set(&scaled)
		}
	}
	for _, set := range p.StatefulSets {
		if replicas, ok := bounded("StatefulSet", &set.ObjectMeta, set.Spec.Replicas); ok {
			scaled := *set
			scaled.Spec.Replicas = replicas
			scaled.Generation++
			p.set(&scaled)
		}
	}
	for _, rs := range p.ReplicaSets {
		if replicas, ok := bounded("ReplicaSet", &rs.ObjectMeta, rs.Spec.Replicas); ok {
			scaled := *rs
			scaled.Spec.Replicas = replicas
			scaled.Generation++
			p.set(&scaled)
		}
	}
	return nil
}

type scaleTarget struct{ kind, namespace, name string }
