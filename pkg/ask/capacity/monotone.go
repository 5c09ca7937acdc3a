package capacity

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/simulation"
)

// fitIsMonotone reports whether smaller counts than a fitting one certainly fit, and larger counts than one that does not fit do not, so that the
// search needs no checks. This holds if each node takes as many pods of the template as it has room for, in whatever order they come, and
// nothing that looks at the pods depends on their number. A rule between pods, a volume or a device does depend on it, and so do an
// autoscaler, a policy and preemption. In a cluster of 80 pods of 70 workloads, the checks were three quarters of the work.
func (p *prober) fitIsMonotone() bool {
	config := p.scenario.Config
	if len(p.mix) != 1 || !config.AllUpstream() || p.hasOtherActors() || len(p.state.DeviceClasses)+len(p.state.PodGroups)+len(p.state.SchedulingWorkloads) > 0 {
		return false
	}
	obj := cluster.Find(p.state.Objects(), p.mix[0].Ref)
	if obj == nil || p.isRollingOut(obj) {
		return false
	}
	if set, is := obj.(*appsv1.StatefulSet); is && len(set.Spec.VolumeClaimTemplates) > 0 {
		return false
	}
	spec := &p.state.PodOf(obj).Spec
	amongPods := func(r rule.Rule) bool {
		return r.Hard && slices.Contains([]rule.Kind{rule.AntiAffinity, rule.Affinity, rule.Spread}, r.Kind)
	}
	return len(spec.ResourceClaims) == 0 && !slices.ContainsFunc(spec.Volumes, isExternalVolume) && !slices.ContainsFunc(rule.List(spec), amongPods) &&
		!config.SpreadsHard(spec.SchedulerName) && !p.mayPreempt()
}

// hasOtherActors reports whether something besides the controller and the scheduler may act on the pods, or whether Pending pods may get a node
// before the new ones.
func (p *prober) hasOtherActors() bool {
	return p.scenario.Autoscaler != nil || len(p.scenario.Deciders) > 0 || len(p.state.Policies) > 0 || p.state.Federation != nil || len(p.pending) > 0
}

// isRollingOut reports whether the Deployment has pods of several templates. New pods are then divided among these.
func (p *prober) isRollingOut(obj cluster.Object) bool {
	sets := 0
	for _, set := range p.state.ReplicaSets {
		if by := set.OwnerReferences; len(by) > 0 && by[0].UID == obj.GetUID() && ptr.Deref(set.Spec.Replicas, 1) > 0 {
			sets++
		}
	}
	return sets > 1
}

// isExternalVolume reports whether the volume is storage outside the pod's node: anything but a ConfigMap, Secret, emptyDir, hostPath, projected
// or downward API volume.
func isExternalVolume(volume v1.Volume) bool {
	return volume.ConfigMap == nil && volume.Secret == nil && volume.EmptyDir == nil && volume.HostPath == nil && volume.Projected == nil && volume.DownwardAPI == nil
}

// mayPreempt reports whether a pod of the workload may preempt a running one. It also returns true if the workload has no pod, since its
// priority is then not known.
func (p *prober) mayPreempt() bool {
	owner := scaledFor(p.state)
	own := slices.IndexFunc(p.state.Pods, func(pod *v1.Pod) bool { return owner(pod) == p.mix[0].Ref })
	if own < 0 {
		return true
	}
	priority := ptr.Deref(p.state.Pods[own].Spec.Priority, 0)
	return slices.ContainsFunc(p.state.Pods, func(pod *v1.Pod) bool { return ptr.Deref(pod.Spec.Priority, 0) < priority })
}

// baseInParallel returns a base in which a StatefulSet that makes its pods one by one makes them all at once. It does so only if that makes
// no difference to how many fit while no node fails: all its pods are ready, the scheduler places new ones in the order of their ordinals
// either way, and nothing else acts meanwhile. A victim of preemption would: it gets another node between two of the pods, or after all of
// them. One by one, the controller looks at all n pods n times: for 250 pods that took 50 times as long.
func (p *prober) baseInParallel() *simulation.Result {
	i := slices.IndexFunc(p.state.StatefulSets, func(set *appsv1.StatefulSet) bool { return len(p.mix) == 1 && cluster.RefTo(set) == p.mix[0].Ref })
	if i < 0 || p.hasOtherActors() || p.mayPreempt() || !p.isComplete(p.state.StatefulSets[i]) {
		return p.base
	}
	uid := p.state.StatefulSets[i].UID
	parallel := func(state *cluster.State) *cluster.State {
		changed := *state
		changed.StatefulSets = slices.Clone(state.StatefulSets)
		for i, set := range changed.StatefulSets {
			if set.UID == uid {
				one := *set
				one.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
				changed.StatefulSets[i] = &one
			}
		}
		return &changed
	}
	base := *p.base
	base.Initial, base.Steps = parallel(base.Initial), slices.Clone(base.Steps)
	for i := range base.Steps {
		base.Steps[i].State = parallel(base.Steps[i].State)
	}
	return &base
}

// isComplete reports whether the StatefulSet has all its pods and all are ready, so that its controller makes further ones.
func (p *prober) isComplete(set *appsv1.StatefulSet) bool {
	ready := 0
	owner := p.state.Owners()
	for _, pod := range p.state.Pods {
		if owner(pod) != p.mix[0].Ref {
			continue
		}
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || !podutil.IsPodReady(pod) {
			return false
		}
		ready++
	}
	return ready == p.mix[0].Now && set.Spec.MinReadySeconds == 0
}
