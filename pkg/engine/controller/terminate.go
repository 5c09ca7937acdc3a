package controller

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// Terminate returns the state in which the deletion of the pods has been asked for. A pod that has a node is Terminating from then on:
// it keeps its room until its kubelet has ended it, which Reconcile does in its time, and never where the kubelet does not answer. Any
// other pod is gone at once, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go (CheckGracefulDelete) has it. Where the pods
// are disrupted, and not just no longer wanted, the reason is that of their condition DisruptionTarget; else it is empty.
func Terminate(s *cluster.State, reason string, pods ...*v1.Pod) *cluster.State {
	if len(pods) == 0 {
		return s
	}
	nodes := s.NodesByName()
	var terminating, gone []cluster.Object
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue // asking twice changes nothing
		}
		node := nodes[pod.Spec.NodeName]
		if node == nil || cluster.Terminal(pod) {
			gone = append(gone, pod)
			continue
		}
		ending := Terminating(s, pod, reason)
		switch {
		case *ending.DeletionGracePeriodSeconds > 0 || !cluster.Answers(node):
			terminating = append(terminating, ending)
		case isAwaited(s, ending):
			terminating = append(terminating, failed(ending, s.Now))
		default:
			gone = append(gone, pod)
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
	if reason != "" {
		setCondition(&ending, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: reason, LastTransitionTime: s.Now})
	}
	return &ending
}

// end takes away the pods that have ended: their kubelet has had the time that it needs, or the pod garbage collector ends them since
// their node is gone or out of service:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podgc/gc_controller.go.
func (c *Controllers) end(s *cluster.State) *cluster.State {
	if !slices.ContainsFunc(s.Pods, isTerminating) {
		return s
	}
	nodes := s.NodesByName()
	var gone, kept []cluster.Object
	for _, pod := range s.Pods {
		if !isTerminating(pod) {
			continue
		}
		node := nodes[pod.Spec.NodeName]
		switch {
		case cluster.Terminal(pod):
			if !isAwaited(s, pod) {
				gone = append(gone, pod)
			}
			continue
		case node == nil, isOutOfService(node):
		case !cluster.Answers(node), pod.DeletionTimestamp.After(s.Now.Time) && !c.quick():
			continue
		}
		if isAwaited(s, pod) {
			kept = append(kept, failed(pod, s.Now))
		} else {
			gone = append(gone, pod)
		}
	}
	return s.With(kept...).Without(gone...)
}

// quick tells by chance whether a kubelet has ended a pod sooner than it may take; without a generator none has.
func (c *Controllers) quick() bool { return c.Rand != nil && c.Rand.IntN(4) == 0 }

// nextEnd returns the earliest moment after now at which a kubelet ends a pod; zero: never.
func nextEnd(s *cluster.State) time.Time {
	var next time.Time
	if !slices.ContainsFunc(s.Pods, isTerminating) {
		return next
	}
	nodes := s.NodesByName()
	for _, pod := range s.Pods {
		if !isTerminating(pod) || cluster.Terminal(pod) || !pod.DeletionTimestamp.After(s.Now.Time) {
			continue
		}
		if node := nodes[pod.Spec.NodeName]; node != nil && cluster.Answers(node) && (next.IsZero() || pod.DeletionTimestamp.Time.Before(next)) {
			next = pod.DeletionTimestamp.Time
		}
	}
	return next
}

func isTerminating(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil }

// isOutOfService tells whether the garbage collector removes the pods of the node that are Terminating.
func isOutOfService(node *v1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status != v1.ConditionTrue &&
		slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeOutOfService })
}

// isAwaited tells whether a Job that is there has not yet counted the pod: then it stays until it has.
func isAwaited(s *cluster.State, pod *v1.Pod) bool {
	if !tracked(pod) {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && slices.ContainsFunc(s.Jobs, func(job *batchv1.Job) bool { return job.UID == ref.UID })
}

// failed returns the pod as it is once its containers have been stopped before they were done.
func failed(pod *v1.Pod, now metav1.Time) *v1.Pod {
	ended := *pod
	ended.Status.Phase = v1.PodFailed
	setCondition(&ended, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: now})
	return &ended
}

// setCondition puts a condition into a pod that is a copy; the list that it shares with others is copied.
func setCondition(pod *v1.Pod, condition v1.PodCondition) {
	pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
	_, old := podutil.GetPodCondition(&pod.Status, condition.Type)
	switch {
	case old == nil:
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
	case old.Status != condition.Status:
		*old = condition
	}
}
