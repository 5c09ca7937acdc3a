package sched

import (
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// Under the feature gate InPlacePodVerticalScalingSchedulerPreemption, kube-scheduler preempts pods for a pod that runs, if the pod's node has no
// room for its resize. The kubelet resizes the pod once there is room.

// waitsForResize reports whether the scheduler makes room for the resize of the pod.
func waitsForResize(pod *v1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && resourcehelper.IsPodResizeDeferred(pod) && makesRoomForResize()
}

func makesRoomForResize() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.InPlacePodVerticalScalingSchedulerPreemption)
}

// resizingPods returns the pods of the state whose resize waits for room, and for which a profile is responsible.
func (e *Engine) resizingPods() (pods []*v1.Pod) {
	if !makesRoomForResize() {
		return nil
	}
	for _, pod := range e.state.Pods {
		if waitsForResize(pod) && e.profiles[pod.Spec.SchedulerName] != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// preemptForResize preempts pods on the pod's node if its resize does not fit there. The plugin DeferredPodScheduling refuses all other nodes.
// Nothing becomes of the pod itself: see handleSchedulingFailure in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go.
func (e *Engine) preemptForResize(next *queueEntry, result *placement.Result) error {
	profile := e.profiles[next.Pod.Spec.SchedulerName]
	_, failed, err := e.findNode(profile, next, result)
	if err != nil {
		return err
	}
	if failed != nil && failed.fit != nil {
		victims := len(e.victims)
		if _, err := e.preempt(profile, next, failed); err != nil {
			return err
		}
		if len(e.victims) > victims {
			e.countChange()
		}
	}
	return e.dequeue(next.Pod) // no node is nominated for the pod, which has one
}
