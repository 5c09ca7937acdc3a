package admission

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// deletionByPodGC is the reason for pods that end because their node is gone, as in gcOrphaned in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podgc/gc_controller.go.
const deletionByPodGC = "DeletionByPodGC"

// Terminate requests the deletion of the pods, and returns the next state. A pod on a node becomes Terminating: it keeps its room until its
// kubelet has ended it, which package node does later. If the kubelet does not answer, the pod stays Terminating. Any other pod is gone at
// once, as in CheckGracefulDelete in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go. If a Job has
// yet to count such a pod, the pod garbage collector marks the pod as failed instead.
//
// The reason becomes that of the pods' DisruptionTarget condition. It is empty if the pods are just no longer wanted. A pod whose node is
// gone is always disrupted.
func Terminate(s *cluster.State, reason string, pods ...*v1.Pod) *cluster.State {
	if len(pods) == 0 {
		return s
	}
	nodes := map[string]*v1.Node{}
	for _, pod := range pods {
		nodes[pod.Spec.NodeName] = nil
	}
	for _, node := range s.Nodes {
		if _, wanted := nodes[node.Name]; wanted {
			nodes[node.Name] = node
		}
	}
	var terminating, gone []cluster.Object
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue // a second request changes nothing
		}
		node := nodes[pod.Spec.NodeName]
		reason := reason
		switch {
		case cluster.IsTerminal(pod):
			reason = "" // a pod that has ended cannot be disrupted
		case node == nil && pod.Spec.NodeName != "":
			reason = deletionByPodGC
		}
		ending := MarkTerminating(s, pod, reason)
		switch {
		case node != nil && !cluster.IsTerminal(pod) && (*ending.DeletionGracePeriodSeconds > 0 || !cluster.KubeletResponds(node)):
			terminating = append(terminating, ending)
		case !AwaitedByJob(s, pod):
			gone = append(gone, pod)
		case cluster.IsTerminal(pod):
			terminating = append(terminating, ending)
		default:
			terminating = append(terminating, cluster.StopPod(ending, s.Now))
		}
	}
	return s.With(terminating...).Without(gone...)
}

// MarkTerminating returns the pod as it is after a request to delete it; see [Terminate].
func MarkTerminating(s *cluster.State, pod *v1.Pod, reason string) *v1.Pod {
	ending := *pod
	grace := min(s.TerminationSeconds, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds))
	at := metav1.NewTime(s.Now.Add(time.Duration(grace) * time.Second))
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &at, &grace
	if reason == "" {
		return &ending
	}
	return cluster.WithCondition(&ending, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: reason, LastTransitionTime: s.Now})
}

// AwaitedByJob reports whether the pod stays until its Job has counted it. It is false if the Job does not exist.
func AwaitedByJob(s *cluster.State, pod *v1.Pod) bool {
	if !HasJobTrackingFinalizer(pod) {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && slices.ContainsFunc(s.Jobs, func(job *batchv1.Job) bool { return job.UID == ref.UID })
}

// HasJobTrackingFinalizer reports whether the pod belongs to a Job that has not yet counted it.
func HasJobTrackingFinalizer(pod *v1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}
