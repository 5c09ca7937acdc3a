package admission

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// deferResize does what the kubelet does when somebody changes the resources of a running pod. If the node has no room, the pod keeps its
// old resources, and the resize waits. Any other resize is done at once. Requests at the level of the pod are left out.
func deferResize(s *cluster.State, pod, was *v1.Pod) {
	if pod.Spec.NodeName == "" || was.Spec.NodeName == "" || pod.Spec.Resources != nil || cluster.IsTerminal(pod) ||
		apiequality.Semantic.DeepEqual(AllocatedPod(was).Spec.Containers, pod.Spec.Containers) {
		setResizePending(pod, "", metav1.Time{})
		return
	}
	why := resizeRefusal(s, pod, AllocatedPod(was))
	if why != "" {
		pod.Status.ContainerStatuses = allocatedStatuses(pod.Status.ContainerStatuses, AllocatedPod(was).Spec.Containers)
	}
	setResizePending(pod, why, s.Now)
}

// CompleteResize returns the pod with the resources that it waits for, if its node now has room for them: other pods have ended or shrunk. It
// returns nil if the pod does not wait or there is no room. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/allocation/allocation_manager.go.
func CompleteResize(s *cluster.State, pod *v1.Pod) *v1.Pod {
	if !resourcehelper.IsPodResizeDeferred(pod) || pod.Spec.Resources != nil || resizeRefusal(s, pod, AllocatedPod(pod)) != "" {
		return nil
	}
	done := pod.DeepCopy()
	done.Status.ContainerStatuses = resizeStatuses(done.Status.ContainerStatuses, done.Spec.Containers)
	setResizePending(done, "", metav1.Time{})
	return done
}

// resizeRefusal returns the kubelet's message if the node has no room for the resize next to the allocated resources of its other pods. It
// returns "" if there is room, or if the pod wants no more than it has. See InsufficientResourceError in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/lifecycle/predicate.go.
func resizeRefusal(s *cluster.State, pod, has *v1.Pod) string {
	node := s.NodesByName()[pod.Spec.NodeName]
	if node == nil {
		return ""
	}
	wanted, had := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}), resourcehelper.PodRequests(has, resourcehelper.PodResourcesOptions{})
	used := map[v1.ResourceName]int64{}
	amount := func(list v1.ResourceList, name v1.ResourceName) int64 {
		quantity := list[name]
		if name == v1.ResourceCPU {
			return quantity.MilliValue()
		}
		return quantity.Value()
	}
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	for _, other := range s.Pods {
		if other.Spec.NodeName != node.Name || other.UID == pod.UID || cluster.IsTerminal(other) {
			continue
		}
		requests := resourcehelper.PodRequests(AllocatedPod(other), resourcehelper.PodResourcesOptions{})
		for _, name := range names {
			used[name] += amount(requests, name)
		}
	}
	for _, name := range names {
		if asked, capacity := amount(wanted, name), amount(node.Status.Allocatable, name); asked > amount(had, name) && asked+used[name] > capacity {
			return fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, asked, used[name], capacity)
		}
	}
	return ""
}

// AllocatedPod returns the pod with the resources that its kubelet has allocated. While a resize waits, these are the old ones.
func AllocatedPod(pod *v1.Pod) *v1.Pod {
	changed := pod
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s v1.ContainerStatus) bool { return s.Name == name && s.AllocatedResources != nil })
		if at < 0 || apiequality.Semantic.DeepEqual(pod.Status.ContainerStatuses[at].AllocatedResources, pod.Spec.Containers[i].Resources.Requests) {
			continue
		}
		if changed == pod {
			changed = pod.DeepCopy()
		}
		changed.Spec.Containers[i].Resources.Requests = pod.Status.ContainerStatuses[at].AllocatedResources
		if given := pod.Status.ContainerStatuses[at].Resources; given != nil {
			changed.Spec.Containers[i].Resources.Limits = given.Limits
		}
	}
	return changed
}

// allocatedStatuses returns the statuses with the containers' resources as the allocated ones.
func allocatedStatuses(statuses []v1.ContainerStatus, containers []v1.Container) []v1.ContainerStatus {
	statuses = slices.Clone(statuses)
	for i := range containers {
		at := slices.IndexFunc(statuses, func(s v1.ContainerStatus) bool { return s.Name == containers[i].Name })
		if at < 0 {
			at = len(statuses)
			statuses = append(statuses, v1.ContainerStatus{Name: containers[i].Name, Ready: true})
		}
		statuses[at].Resources = containers[i].Resources.DeepCopy()
		statuses[at].AllocatedResources = statuses[at].Resources.Requests
	}
	return statuses
}

// setResizePending sets the condition PodResizePending with the message, or removes the condition if the message is empty.
func setResizePending(pod *v1.Pod, message string, now metav1.Time) {
	pod.Status.Conditions = slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
	if message != "" {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue,
			Reason: v1.PodReasonDeferred, Message: message, LastTransitionTime: now})
	}
}
