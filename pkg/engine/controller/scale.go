package controller

import (
	"maps"
	"slices"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// scaleSets runs if spec.replicas has changed or the Deployment is paused: sync and scale in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/deployment/sync.go.
// In the middle of a rollout it divides the change among old and new ReplicaSets by their size.
func (r *deploymentSync) scaleSets() {
	d := r.deployment
	current, old, _ := r.syncRevisions(false) // without create there is no error
	all := append(old, current)
	defer func() {
		if d.Spec.Paused {
			r.cleanUp(old)
		}
		r.updateStatus(all, current)
	}()

	if only := deploymentutil.FindActiveOrLatest(current, old); only != nil {
		r.scaleSet(only, *d.Spec.Replicas, false)
		return
	}
	if deploymentutil.IsSaturated(d, current) {
		for _, rs := range controller.FilterActiveReplicaSets(old) {
			r.scaleSet(rs, 0, false)
		}
		return
	}
	if !deploymentutil.IsRollingUpdate(d) {
		return
	}
	active := controller.FilterActiveReplicaSets(all)
	allowed := int32(0)
	if *d.Spec.Replicas > 0 {
		allowed = *d.Spec.Replicas + deploymentutil.MaxSurge(*d)
	}
	toAdd := allowed - deploymentutil.GetReplicaCountForReplicaSets(active)
	switch {
	case toAdd > 0:
		sort.Sort(controller.ReplicaSetsBySizeNewer(active))
	case toAdd < 0:
		sort.Sort(controller.ReplicaSetsBySizeOlder(active))
	}
	sizes, added := make([]int32, len(active)), int32(0)
	for i, rs := range active {
		sizes[i] = *rs.Spec.Replicas
		if toAdd != 0 {
			share := deploymentutil.GetReplicaSetProportion(klog.Background(), rs, *d, toAdd, added)
			sizes[i] += share
			added += share
		}
	}
	for i, rs := range active {
		if i == 0 && toAdd != 0 { // the largest gets what rounding has left over
			sizes[0] = max(0, sizes[0]+toAdd-added)
		}
		r.scaleSet(rs, sizes[i], true)
	}
}

// scaleSet is upstream's scaleReplicaSet. It returns the ReplicaSet in its new form, and whether its size changed. With force it updates
// the annotations about the Deployment's size even if the size stays.
func (r *deploymentSync) scaleSet(rs *appsv1.ReplicaSet, replicas int32, force bool) (*appsv1.ReplicaSet, bool) {
	d := r.deployment
	resize := *rs.Spec.Replicas != replicas
	most := *d.Spec.Replicas + deploymentutil.MaxSurge(*d)
	if !resize && !(force && deploymentutil.ReplicasAnnotationsNeedUpdate(rs, *d.Spec.Replicas, most)) {
		return rs, false
	}
	scaled := *rs
	scaled.Annotations = maps.Clone(rs.Annotations)
	scaled.Spec.Replicas = &replicas
	deploymentutil.SetReplicasAnnotations(&scaled, *d.Spec.Replicas, most)
	r.replaceSet(&scaled)
	return &scaled, resize
}

// updateStatus is calculateStatus in upstream's sync.go, with the condition Available, and without Progressing, since no deadline can be
// exceeded. Like upstream it counts the ReplicaSets as they were when the sync began.
func (r *deploymentSync) updateStatus(all []*appsv1.ReplicaSet, current *appsv1.ReplicaSet) {
	d := r.deployment
	available := deploymentutil.GetAvailableReplicaCountForReplicaSets(all)
	status := appsv1.DeploymentStatus{
		ObservedGeneration:  d.Generation,
		Replicas:            deploymentutil.GetActualReplicaCountForReplicaSets(all),
		UpdatedReplicas:     deploymentutil.GetActualReplicaCountForReplicaSets([]*appsv1.ReplicaSet{current}),
		ReadyReplicas:       deploymentutil.GetReadyReplicaCountForReplicaSets(all),
		AvailableReplicas:   available,
		UnavailableReplicas: max(0, deploymentutil.GetReplicaCountForReplicaSets(all)-available),
		CollisionCount:      d.Status.CollisionCount,
		Conditions:          slices.Clone(d.Status.Conditions),
	}
	condition := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: v1.ConditionTrue,
		LastUpdateTime: r.Now, LastTransitionTime: r.Now,
		Reason: deploymentutil.MinimumReplicasAvailable, Message: "Deployment has minimum availability.",
	}
	if available < *d.Spec.Replicas-deploymentutil.MaxUnavailable(*d) {
		condition.Status = v1.ConditionFalse
		condition.Reason, condition.Message = deploymentutil.MinimumReplicasUnavailable, "Deployment does not have minimum availability."
	}
	deploymentutil.SetDeploymentCondition(&status, condition)
	d.Status = status
}
