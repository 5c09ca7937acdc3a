package controller

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

var replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// syncReplicaSetStatuses lets every ReplicaSet and ReplicationController adopt and count its pods: calculateStatus in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set_utils.go.
func (p *pass) syncReplicaSetStatuses() error {
	seen := []any{newListID(p.ReplicaSets), newListID(p.ReplicationControllers), newListID(p.Pods), p.Now}
	return p.syncUnlessSettled(subject{fact: replicaSetsInSync}, seen, p.syncDueReplicaSetStatuses)
}

// syncDueReplicaSetStatuses updates the status of the ReplicaSets whose pods must be counted.
func (p *pass) syncDueReplicaSetStatuses() error {
	p.due.followWorkloads(p.State)
	for _, uid := range p.owned.adopters {
		markDue(&p.due.counts, uid)
	}
	if len(p.due.counts) == 0 {
		return nil
	}
	left := map[types.UID]bool{}
	for r := range p.dueSets() {
		pods, all := p.owned.ownGroup(r.set.UID)
		var now any
		if r.set.Spec.MinReadySeconds > 0 { // pods become available with time
			now = p.Now
		}
		seen := []any{r.set, pods, now}
		if !all {
			seen = nil
		}
		about := subject{podsCounted, r.set.UID}
		if err := p.syncUnlessSettled(about, seen, func() error { return p.syncReplicaSetStatus(r) }); err != nil {
			return fmt.Errorf("%s: spec.selector: %w", cluster.RefTo(r.object).Describe(), err)
		}
		if now != nil || !p.isSettled(about, seen) {
			left[r.set.UID] = true
		}
	}
	p.due.counts = left
	return nil
}

// dueSets returns the ReplicaSets whose pods must be counted, then such ReplicationControllers.
func (p *pass) dueSets() iter.Seq[replicaController] {
	return func(yield func(replicaController) bool) {
		for _, i := range duePositions(p.due.index.sets, p.due.counts) {
			if rs := p.ReplicaSets[i]; !yield(replicaController{rs, rs, replicaSetKind}) {
				return
			}
		}
		for _, rc := range p.ReplicationControllers {
			if p.due.counts[rc.UID] && !yield(replicaController{p.replicaSetOf(rc), rc, replicationControllerKind}) {
				return
			}
		}
	}
}

// syncReplicaSetStatus updates the status of one ReplicaSet or ReplicationController.
func (p *pass) syncReplicaSetStatus(r replicaController) error {
	rs := r.set
	count, claimed := p.countOwnPods(r)
	available := count.ready
	if !claimed || rs.Spec.MinReadySeconds > 0 {
		pods, err := p.claimPods(r.object, r.kind, rs.Spec.Selector, controller.IsPodActive)
		if err != nil {
			return err
		}
		count, available = podCount{}, 0
		template := labels.Set(rs.Spec.Template.Labels).AsSelectorPreValidated()
		for _, pod := range pods {
			count.addPod(pod, template, 1)
			if podutil.IsPodAvailable(pod, rs.Spec.MinReadySeconds, p.Now) {
				available++
			}
		}
	}
	status := rs.Status
	status.ObservedGeneration = rs.Generation
	status.Replicas, status.FullyLabeledReplicas = count.active, count.labelled
	status.ReadyReplicas, status.AvailableReplicas = count.ready, available
	if !reflect.DeepEqual(status, rs.Status) {
		p.putObject(r.withStatus(status))
	}
	return nil
}

// manageReplicas creates the pods that a ReplicaSet or ReplicationController lacks, or deletes its excess pods: manageReplicas in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set.go.
func (p *pass) manageReplicas(r replicaController) error {
	rs, about := r.set, subject{podsComplete, r.set.UID}
	owned, all := p.owned.ownGroup(rs.UID)
	if _, complete := recall[struct{}](&p.memory, about, rs.Spec.Replicas, rs.Spec.Selector, owned); complete && all {
		delete(p.due.sizes, rs.UID)
		return nil
	}
	count, claimed := p.countOwnPods(r)
	excess := int(count.active) - int(*rs.Spec.Replicas)
	var pods []*v1.Pod
	if !claimed || excess > 0 {
		var err error
		if pods, err = p.claimPods(r.object, r.kind, rs.Spec.Selector, controller.IsPodActive); err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
		excess = len(pods) - int(*rs.Spec.Replicas)
	}
	switch {
	case excess == 0:
		if all && claimed {
			p.memory.remember(about, struct{}{}, rs.Spec.Replicas, rs.Spec.Selector, owned)
			delete(p.due.sizes, rs.UID)
		}
	case excess < 0:
		return p.createMissingPods(r, -excess)
	case excess > 0:
		// As in upstream's getReplicaSetsWithSameController, nothing is related to an object without a controller.
		var related []*v1.Pod
		if ref := metav1.GetControllerOfNoCopy(r.object); ref != nil {
			for _, sibling := range p.ReplicaSets {
				if of := metav1.GetControllerOfNoCopy(sibling); of != nil && of.UID == ref.UID {
					related = append(related, p.owned.podsOf(sibling.UID)...)
				}
			}
		}
		p.deletePods(p.rankForDeletion(pods, related)[:excess]...)
	}
	return nil
}

// createMissingPods creates the pods that are lacking.
func (p *pass) createMissingPods(r replicaController, lacking int) error {
	prototype, err := p.replicaSetPrototype(r)
	if err != nil {
		return p.refusePods(r.object, lacking, err)
	}
	_, err = p.createPods(r.object, prototype, lacking, func(int) *v1.Pod { return prototype })
	return err
}

// rankForDeletion returns the pods in the order in which they are deleted. The rank is upstream's getPodsRankedByRelatedPodsOnSameNode:
// pods whose node has more related pods, those of the same Deployment, go first. Among equals the newest goes first, or the one that the
// random generator chooses.
func (p *pass) rankForDeletion(pods, related []*v1.Pod) []*v1.Pod {
	onNode := map[string]int{}
	for _, pod := range related {
		if controller.IsPodActive(pod) {
			onNode[pod.Spec.NodeName]++
		}
	}
	pods = slices.Clone(pods)
	slices.Reverse(pods)
	if p.Rand != nil {
		p.Rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	}
	ranks := make([]int, len(pods))
	for i, pod := range pods {
		ranks[i] = onNode[pod.Spec.NodeName]
	}
	sort.Stable(controller.ActivePodsWithRanks{Pods: pods, Rank: ranks, Now: p.Now})
	return pods
}
