package sched

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// podGroups is the part of the scheduler's cache that holds pod groups.
type podGroups struct {
	groups map[types.NamespacedName]*schedulingv1beta1.PodGroup
	// composites are groups of groups, under the feature gate CompositePodGroup.
	composites []*schedulingv1alpha3.CompositePodGroup
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

// queuedGroup is a pod group in the queue, or the root of a tree of groups.
type queuedGroup struct {
	key     fwk.EntityKey
	info    *framework.QueuedPodGroupInfo
	members []*queueEntry // the Pending pods of the group, or of all groups of the tree
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
	e.syncCompositePodGroups()
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

// syncCompositePodGroups updates the cache to the groups of groups of the state.
func (e *Engine) syncCompositePodGroups() {
	if !utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup) {
		return
	}
	logger := klog.FromContext(e.ctx)
	cluster.VisitChanges(e.podGroups.composites, e.state.CompositePodGroups, func(was, is *schedulingv1alpha3.CompositePodGroup, _ int) {
		e.changes++
		switch {
		case was == nil:
			e.scheduler.Cache.AddCompositePodGroup(logger, is)
		case is == nil:
			e.scheduler.Cache.RemoveCompositePodGroup(logger, was)
		default:
			e.scheduler.Cache.UpdateCompositePodGroup(logger, was, is)
		}
	})
	e.podGroups.composites = e.state.CompositePodGroups
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
	queued, wanted := map[types.UID]bool{}, map[fwk.EntityKey]bool{}
	for _, pod := range pods {
		queued[pod.UID] = true
		if root, is := e.rootOfGroup(pod); is {
			wanted[root] = true
		}
	}
	all := pods[:len(pods):len(pods)]
	for _, pod := range e.podGroups.members {
		if root, is := e.rootOfGroup(pod); is && wanted[root] && !queued[pod.UID] {
			all = append(all, pod)
		}
	}
	return all
}

// rootOfGroup returns the pod's group, or the root of the tree of groups that it is in. It reports false if the pod names no group, or one of
// the groups does not exist.
func (e *Engine) rootOfGroup(pod *v1.Pod) (fwk.EntityKey, bool) {
	name, is := nameOfGroup(pod)
	if !is || e.podGroups.groups[name] == nil {
		return fwk.EntityKey{}, false
	}
	root, complete, err := e.scheduler.Cache.GetRootKeyForGroup(fwk.PodGroupKey(name.Namespace, name.Name))
	return root, complete && err == nil
}

// groupEntries returns the queue with one entry for each pod group, at the place of the group's first pod. A pod whose group does not exist
// keeps its own entry, which upstream holds out of the queue.
func (e *Engine) groupEntries(entries []*queueEntry) []*queueEntry {
	if e.podGroups == nil {
		return entries
	}
	var queue []*queueEntry
	known := map[fwk.EntityKey]*queueEntry{}
	for _, next := range entries {
		root, is := e.rootOfGroup(next.Pod)
		if !is || e.profiles[next.Pod.Spec.SchedulerName] == nil {
			queue = append(queue, next)
			continue
		}
		if known[root] == nil {
			known[root] = &queueEntry{group: &queuedGroup{key: root, info: e.newQueuedPodGroupInfo(root)}}
			known[root].group.info.Timestamp = next.Timestamp
			queue = append(queue, known[root])
		}
		known[root].group.members = append(known[root].group.members, next)
	}
	return queue
}

// newQueuedPodGroupInfo returns upstream's queue entry for the group, without pods.
func (e *Engine) newQueuedPodGroupInfo(root fwk.EntityKey) *framework.QueuedPodGroupInfo {
	return &framework.QueuedPodGroupInfo{PodGroupInfo: e.newPodGroupInfo(root)}
}

// newPodGroupInfo returns the group and the groups below it, as buildPodGroupInfoForCPG in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/backend/queue/workload_forest.go does. No group is above itself, since the
// cache has found the root.
func (e *Engine) newPodGroupInfo(key fwk.EntityKey) *framework.PodGroupInfo {
	info := &framework.PodGroupInfo{Namespace: key.Namespace, Name: key.Name, Type: key.Type}
	if key.Type == fwk.PodGroupKeyType {
		info.PodGroup = e.podGroups.groups[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]
		return info
	}
	isChild := func(namespace string, parent *string) bool {
		return namespace == key.Namespace && ptr.Deref(parent, "") == key.Name
	}
	for _, composite := range e.podGroups.composites {
		if composite.Namespace == key.Namespace && composite.Name == key.Name {
			info.CompositePodGroup = composite
		}
		if isChild(composite.Namespace, composite.Spec.ParentCompositePodGroupName) {
			info.Children = append(info.Children, e.newPodGroupInfo(fwk.CompositePodGroupKey(composite.Namespace, composite.Name)))
		}
	}
	for _, group := range e.state.PodGroups {
		if isChild(group.Namespace, group.Spec.ParentCompositePodGroupName) {
			info.Children = append(info.Children, e.newPodGroupInfo(fwk.PodGroupKey(group.Namespace, group.Name)))
		}
	}
	return info
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
	var count func(info *framework.PodGroupInfo)
	count = func(info *framework.PodGroupInfo) {
		for _, child := range info.Children {
			count(child)
		}
		if info.PodGroup == nil {
			return
		}
		if gang := info.PodGroup.Spec.SchedulingPolicy.Gang; gang != nil {
			told.MinCount += int(gang.MinCount)
		}
		if state, err := e.scheduler.Cache.PodGroupStates().Get(info.Namespace, info.Name); err == nil { // the cache has every group in the queue
			told.Bound += state.ScheduledPodsCount()
		}
	}
	count(group.info.PodGroupInfo)
	return told
}
