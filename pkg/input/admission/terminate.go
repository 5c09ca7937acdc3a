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

// deletionByPodGC is why pods end whose node is no more, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podgc/gc_controller.go (gcOrphaned) says it.
const deletionByPodGC = "DeletionByPodGC"

// Terminate returns the state in which the deletion of the pods has been asked for. A pod that has a node is Terminating from then on:
// it keeps its room until its kubelet has ended it, which package node does in its time, and never where the kubelet does not answer. Any
// other pod is gone at once, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go (CheckGracefulDelete) has it, unless a Job has yet
// to count it: then the pod garbage collector makes it one that has failed. Where the pods are disrupted, and not just no longer wanted, the
// reason is that of their condition DisruptionTarget; else it is empty. Those of a node that is no more are disrupted in any case.
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
			continue // asking twice changes nothing
		}
		node := nodes[pod.Spec.NodeName]
		reason := reason
		switch {
		case cluster.Terminal(pod):
			reason = "" // nothing disrupts it any more
		case node == nil && pod.Spec.NodeName != "":
			reason = deletionByPodGC
		}
		ending := Terminating(s, pod, reason)
		switch {
		case node != nil && !cluster.Terminal(pod) && (*ending.DeletionGracePeriodSeconds > 0 || !cluster.Answers(node)):
			terminating = append(terminating, ending)
		case !AwaitedByJob(s, pod):
			gone = append(gone, pod)
		case cluster.Terminal(pod):
			terminating = append(terminating, ending)
		default:
			terminating = append(terminating, cluster.Stop(ending, s.Now))
		}
	}
	return s.With(terminating...).Without(gone...)
}

// Terminating returns the pod as it is once its deletion has been asked for; see Terminate.
func Terminating(s *cluster.State, pod *v1.Pod, reason string) *v1.Pod {
	ending := *pod
	grace := min(s.TerminationSeconds, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds))
	at := metav1.NewTime(s.Now.Add(time.Duration(grace) * time.Second))
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &at, &grace
	if reason == "" {
		return &ending
	}
	return cluster.WithCondition(&ending, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: reason, LastTransitionTime: s.Now})
}

// AwaitedByJob reports whether a Job that is there has not yet counted the pod: then it stays until it has.
func AwaitedByJob(s *cluster.State, pod *v1.Pod) bool {
	if !HasJobTrackingFinalizer(pod) {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && slices.ContainsFunc(s.Jobs, func(job *batchv1.Job) bool { return job.UID == ref.UID })
}

// HasJobTrackingFinalizer reports whether the pod is one of a Job that has not yet counted it.
func HasJobTrackingFinalizer(pod *v1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}
