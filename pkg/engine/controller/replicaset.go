package controller

import (
	"fmt"
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

// replicaSetStatuses lets every ReplicaSet and ReplicationController adopt and count its pods: calculateStatus in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set_utils.go.
func (p *pass) replicaSetStatuses() error {
	for r := range p.replicated(p.State) {
		rs := r.set
		if p.counted[rs.UID].again(p, rs) {
			continue
		}
		before := p.actions()
		count, claimed := p.count(r)
		available := count.ready
		if !claimed || rs.Spec.MinReadySeconds > 0 {
			pods, err := p.claim(r.object, r.kind, rs.Spec.Selector, controller.IsPodActive)
			if err != nil {
				return fmt.Errorf("%s: spec.selector: %w", cluster.RefTo(r.object).Describe(), err)
			}
			count, available = podCount{}, 0
			template := labels.Set(rs.Spec.Template.Labels).AsSelectorPreValidated()
			for _, pod := range pods {
				count.add(pod, template, 1)
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
			p.put(r.counted(status))
		}
		p.remember(&p.counted, rs, before)
	}
	return nil
}

// seen is what the last sync of a ReplicaSet looked at if it had nothing to do.
type seen struct {
	set  *appsv1.ReplicaSet
	pods *cluster.Group
	// now matters only as long as pods become available by it.
	now metav1.Time
}

// again reports whether a sync would see the very same things.
func (s seen) again(p *pass, rs *appsv1.ReplicaSet) bool {
	pods, all := p.owned.unclaimed(rs.UID)
	return s.set == rs && s.pods == pods && all && (rs.Spec.MinReadySeconds == 0 || s.now == p.Now)
}

// asksForTheSame reports whether two states of a ReplicaSet, which may differ in their status, ask for the same pods.
func asksForTheSame(a, b *appsv1.ReplicaSet) bool {
	return a.Spec.Replicas == b.Spec.Replicas && a.Spec.Selector == b.Spec.Selector
}

// remember keeps what a sync looked at that had nothing to do.
func (p *pass) remember(in *map[types.UID]seen, rs *appsv1.ReplicaSet, before int) {
	pods, all := p.owned.unclaimed(rs.UID)
	if !all || p.actions() > before {
		return
	}
	if *in == nil {
		*in = map[types.UID]seen{}
	}
	(*in)[rs.UID] = seen{rs, pods, p.Now}
}

// replicaSet creates the pods that a ReplicaSet or ReplicationController lacks and deletes those that it has too many: manageReplicas in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set.go.
func (p *pass) replicaSet(r replicated) error {
	rs := r.set
	if filled := p.filled[rs.UID]; filled.set != nil && asksForTheSame(filled.set, rs) && filled.again(p, filled.set) {
		return nil
	}
	before := p.actions()
	count, claimed := p.count(r)
	excess := int(count.active) - int(*rs.Spec.Replicas)
	var pods []*v1.Pod
	if !claimed || excess > 0 {
		var err error
		if pods, err = p.claim(r.object, r.kind, rs.Spec.Selector, controller.IsPodActive); err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
		excess = len(pods) - int(*rs.Spec.Replicas)
	}
	switch {
	case excess == 0:
		p.remember(&p.filled, rs, before)
	case excess < 0:
		return p.fill(r, -excess)
	case excess > 0:
		var related []*v1.Pod // none without an owner, as upstream's getReplicaSetsWithSameController has it
		if ref := metav1.GetControllerOfNoCopy(r.object); ref != nil {
			for sibling := range p.replicated(p.State) {
				if of := metav1.GetControllerOfNoCopy(sibling.object); of != nil && of.UID == ref.UID {
					related = append(related, p.owned.of(sibling.set.UID)...)
				}
			}
		}
		p.delete(p.rankForDeletion(pods, related)[:excess]...)
	}
	return nil
}

// fill creates the pods that are lacking.
func (p *pass) fill(r replicated, lacking int) error {
	prototype, err := p.prototypeOf(r)
	if err != nil {
		return p.refuse(r.object, lacking, err)
	}
	_, err = p.createPods(r.object, prototype, lacking, func(int) *v1.Pod { return prototype })
	return err
}

// rankForDeletion returns the pods, those to be deleted first in front. The rank is upstream's
// getPodsRankedByRelatedPodsOnSameNode: pods that share a node with more related pods, those of the same Deployment, go first. Among
// equals the newest goes first, or the one that the generator chooses.
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
