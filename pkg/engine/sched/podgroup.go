package sched

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// podGroups is the part of the scheduler's cache that holds pod groups.
type podGroups struct {
	groups map[types.NamespacedName]*schedulingv1beta1.PodGroup
	// members lists the Pending pods that name a group. The group need not exist.
	members []*v1.Pod
}

// newPodGroups returns nil unless the scheduler knows pod groups.
func newPodGroups() *podGroups {
	if !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return nil
	}
	return &podGroups{groups: map[types.NamespacedName]*schedulingv1beta1.PodGroup{}}
}

// queuedGroup is a pod group in the queue.
type queuedGroup struct {
	info    *framework.QueuedPodGroupInfo
	members []*queueEntry // the Pending pods of the group
}

// nameOfGroup returns the name of the pod's group. It reports false if the pod names no group.
func nameOfGroup(pod *v1.Pod) (name types.NamespacedName, is bool) {
	group := cluster.PodGroupOf(pod)
	return types.NamespacedName{Namespace: pod.Namespace, Name: group}, group != ""
}

// syncPodGroups updates the cache to the groups of the state and their Pending pods. A real scheduler also knows all of them before it
// tries the first.
func (e *Engine) syncPodGroups(next []*schedulingv1beta1.PodGroup) {
	if e.podGroups == nil {
		return
	}
	gone := map[types.NamespacedName]*schedulingv1beta1.PodGroup{}
	for name, group := range e.podGroups.groups {
		gone[name] = group
	}
	for _, group := range next {
		name := cluster.NameOf(group)
		delete(gone, name)
		if e.podGroups.groups[name] != group {
			e.changes++
			e.setPodGroup(group)
		}
	}
	for name, group := range gone {
		e.changes++
		e.scheduler.Cache.RemovePodGroup(klog.FromContext(e.ctx), group)
		delete(e.podGroups.groups, name)
	}
	for _, pod := range e.state.Unscheduled() {
		if _, is := nameOfGroup(pod); is && e.profiles[pod.Spec.SchedulerName] != nil {
			e.scheduler.Cache.AddPodGroupMember(pod)
			e.podGroups.members = append(e.podGroups.members, pod)
		}
	}
}

// changedPodGroups returns the groups whose status the scheduler has changed, in order.
func (e *Engine) changedPodGroups() (changed []*schedulingv1beta1.PodGroup) {
	if e.podGroups == nil {
		return nil
	}
	for _, group := range e.state.PodGroups {
		if is := e.podGroups.groups[cluster.NameOf(group)]; is != group {
			changed = append(changed, is)
		}
	}
	return changed
}

// setPodGroup adds a group to the cache, or replaces the group there.
func (e *Engine) setPodGroup(group *schedulingv1beta1.PodGroup) {
	name := cluster.NameOf(group)
	if was := e.podGroups.groups[name]; was != nil {
		e.scheduler.Cache.UpdatePodGroup(klog.FromContext(e.ctx), was, group)
	} else {
		e.scheduler.Cache.AddPodGroup(group)
	}
	e.podGroups.groups[name] = group
}

// removeGroupMembers removes the Pending pods of groups from the cache.
func (e *Engine) removeGroupMembers() {
	if e.podGroups == nil {
		return
	}
	for _, pod := range e.podGroups.members {
		if e.bound[cluster.NameOf(pod)] == nil {
			e.scheduler.Cache.RemovePodGroupMember(pod)
		}
	}
	e.podGroups.members = nil
}

// withMembers returns the pods, followed by the other Pending pods of their groups: upstream's queue holds a group as one entity.
func (e *Engine) withMembers(pods []*v1.Pod) []*v1.Pod {
	if e.podGroups == nil {
		return pods
	}
	queued, wanted := map[types.UID]bool{}, map[types.NamespacedName]bool{}
	for _, pod := range pods {
		queued[pod.UID] = true
		if name, is := nameOfGroup(pod); is {
			wanted[name] = true
		}
	}
	all := pods[:len(pods):len(pods)]
	for _, pod := range e.podGroups.members {
		if name, _ := nameOfGroup(pod); wanted[name] && !queued[pod.UID] {
			all = append(all, pod)
		}
	}
	return all
}

// groupEntries returns the queue with one entry for each pod group, at the place of the group's first pod. A pod whose group does not exist
// keeps its own entry, which upstream holds out of the queue.
func (e *Engine) groupEntries(entries []*queueEntry) []*queueEntry {
	if e.podGroups == nil {
		return entries
	}
	var queue []*queueEntry
	known := map[types.NamespacedName]*queueEntry{}
	for _, next := range entries {
		name, is := nameOfGroup(next.Pod)
		group := e.podGroups.groups[name]
		if !is || group == nil || e.profiles[next.Pod.Spec.SchedulerName] == nil {
			queue = append(queue, next)
			continue
		}
		if known[name] == nil {
			known[name] = &queueEntry{group: &queuedGroup{info: newQueuedPodGroupInfo(group)}}
			known[name].group.info.Timestamp = next.Timestamp
			queue = append(queue, known[name])
		}
		known[name].group.members = append(known[name].group.members, next)
	}
	return queue
}

// newQueuedPodGroupInfo returns upstream's queue entry for the group, without pods.
func newQueuedPodGroupInfo(group *schedulingv1beta1.PodGroup) *framework.QueuedPodGroupInfo {
	return &framework.QueuedPodGroupInfo{PodGroupInfo: &framework.PodGroupInfo{
		Namespace: group.Namespace, Name: group.Name, Type: fwk.PodGroupKeyType, PodGroup: group,
	}}
}

// schedulePodGroup tries to place the pods of a group, and reports whether all of them have a node now. If some pods got a node, upstream
// tries the group again at once, and then preempts for the others.
func (e *Engine) schedulePodGroup(next *queueEntry, result *placement.Result) (bool, error) {
	group := next.group
	if e.checkGroupGates(group) {
		next.changes = e.changes
		return false, nil
	}
	for {
		waiting, victims, start := len(group.members), len(e.victims), e.startNode()
		if err := e.tryPodGroup(group, result); err != nil {
			return false, err
		}
		if len(group.members) == 0 {
			return true, nil
		}
		e.startMoved = e.startMoved || e.startNode() != start
		preempted := len(e.victims) > victims
		if preempted {
			e.countChange()
		}
		if len(group.members) == waiting && (!preempted || e.state.TerminationSeconds > 0) {
			next.changes = e.changes
			return false, nil
		}
	}
}

// checkGroupGates reports whether a PreEnqueue plugin keeps one of the group's pods, and therefore the whole group, out of the queue. See
// runPreEnqueuePlugins in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/backend/queue/scheduling_queue.go.
func (e *Engine) checkGroupGates(group *queuedGroup) bool {
	var waitsFor string
	for _, member := range group.members {
		member.pending = placement.Pending{Pod: member.Pod}
		held := e.checkGates(e.profiles[member.Pod.Spec.SchedulerName], member.Pod)
		if held == nil {
			continue
		}
		member.pending = *held
		if waitsFor == "" {
			waitsFor = fmt.Sprintf("waiting for pod %s of its pod group %q: %s", member.Pod.Name, group.info.Name, cmp.Or(held.Untried, held.Message))
		}
	}
	if waitsFor == "" {
		return false
	}
	told := e.groupOf(group)
	for _, member := range group.members {
		message := cmp.Or(member.pending.Untried, member.pending.Message)
		told.Waiting = append(told.Waiting, placement.GroupMember{Name: member.Pod.Name, Message: message})
		if message == "" {
			member.pending.Untried = waitsFor
		}
		member.pending.Group = told
	}
	return true
}

// groupOf describes the group for a report, without its waiting pods.
func (e *Engine) groupOf(group *queuedGroup) *placement.Group {
	told := &placement.Group{Name: group.info.Name}
	if gang := group.info.PodGroup.Spec.SchedulingPolicy.Gang; gang != nil {
		told.MinCount = int(gang.MinCount)
	}
	if state, err := e.scheduler.Cache.PodGroupStates().Get(group.info.Namespace, group.info.Name); err == nil { // the cache has every group in the queue
		told.Bound = state.ScheduledPodsCount()
	}
	return told
}
