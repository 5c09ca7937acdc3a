package cluster

import (
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"
)

// NameOf returns the object's namespaced name.
func NameOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// IsTerminal reports whether the pod has ended. Such pods hold no resources and are invisible to the scheduler, as in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/eventhandlers.go (the pod informer's field selector).
func IsTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// IsActive reports whether the pod counts as a replica of its workload: it has not ended, and nobody has requested its deletion.
func IsActive(pod *v1.Pod) bool { return controller.IsPodActive(pod) }

// IsUnscheduled reports whether the pod waits for a node.
func IsUnscheduled(pod *v1.Pod) bool { return pod.Spec.NodeName == "" && !IsTerminal(pod) }

// LastTried returns when a scheduler last tried to place a pod without a node, as far as is known: when its PodScheduled condition was last
// probed, which a FailedScheduling event of a dump shows, or else when the condition last changed, or else when the pod was created.
func LastTried(pod *v1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; {
		case c.Type != v1.PodScheduled || c.Status != v1.ConditionFalse:
		case !c.LastProbeTime.IsZero():
			return c.LastProbeTime.Time
		case !c.LastTransitionTime.IsZero():
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// RunsOnce reports whether the pod is meant to end: its kubelet does not start it again when it has succeeded.
func RunsOnce(pod *v1.Pod) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyNever || pod.Spec.RestartPolicy == v1.RestartPolicyOnFailure
}

// LosesWork returns a function that reports whether the loss of a pod is lost work: the pod runs once, and its controller is not in the
// state, so nobody knows whether another pod would do the same again.
func (s *State) LosesWork() func(*v1.Pod) bool {
	known := sync.OnceValue(func() map[types.UID]bool {
		others, uids := *s, map[types.UID]bool{}
		others.Pods, others.Nodes = nil, nil
		for _, obj := range others.Objects() {
			uids[obj.GetUID()] = true
		}
		return uids
	})
	return func(pod *v1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(pod)
		return by != nil && RunsOnce(pod) && by.Kind != "Node" && by.Kind != "DaemonSet" && !known()[by.UID]
	}
}

// DeletionRequested returns when the deletion of the pod was requested. The pod's deletionTimestamp is the end of its grace period.
func DeletionRequested(pod *v1.Pod) time.Time {
	return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
}

// BindPod returns the pod as it runs on the node: bound, started and ready at the given time. Containers start at once; see docs/model.md. The
// result shares everything else with the other pods of its template.
func BindPod(pod *v1.Pod, node string, started time.Time) *v1.Pod {
	bound := *pod
	bound.Spec.NodeName = node
	start, second := metav1.NewTime(started), metav1.NewTime(started.Truncate(time.Second))
	condition := func(t v1.PodConditionType) v1.PodCondition {
		return v1.PodCondition{Type: t, Status: v1.ConditionTrue, LastTransitionTime: second}
	}
	bound.Status = v1.PodStatus{
		Phase:     v1.PodRunning,
		StartTime: &start,
		QOSClass:  pod.Status.QOSClass,
		Conditions: []v1.PodCondition{
			condition(v1.PodScheduled), condition(v1.PodInitialized), condition(v1.ContainersReady), condition(v1.PodReady),
		},
	}
	return &bound
}

// topologyLabels are the labels of a node that a pod gets when it is bound to the node.
var topologyLabels = []string{v1.LabelTopologyZone, v1.LabelTopologyRegion}

// CopyTopologyLabels gives a pod that is bound to the node the node's zone and region as labels, as the API server's plugin PodTopologyLabels
// does. It does not change the pod's map of labels, but replaces it. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/podtopologylabels/admission.go.
func CopyTopologyLabels(pod *v1.Pod, node *v1.Node) {
	if node == nil || !utilfeature.DefaultFeatureGate.Enabled(features.PodTopologyLabelsAdmission) {
		return
	}
	copied := false
	for _, key := range topologyLabels {
		value, found := node.Labels[key]
		if was, has := pod.Labels[key]; !found || has && was == value {
			continue
		}
		if !copied {
			pod.Labels, copied = maps.Clone(pod.Labels), true
		}
		metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value)
	}
}

// OwnLabels returns the labels of the pod without the labels that it has from its node.
func OwnLabels(pod *v1.Pod) map[string]string {
	if pod.Spec.NodeName == "" {
		return pod.Labels
	}
	return dropItems(pod.Labels, func(key, _ string) bool { return slices.Contains(topologyLabels, key) })
}

// failedAttachVolume is the reason of the event about a pod that waits for a volume, FailedAttachVolume in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/events/event.go. Here it is also the reason of a condition.
const failedAttachVolume = "FailedAttachVolume"

// AttachedTo is the prefix of the texts that WaitsForVolume returns. The nodes to which the volume is attached follow it.
const AttachedTo = "waits for its volume, attached to "

// AwaitVolume returns the bound pod as it is while one of its volumes is attached to another node. Reports show why; event is the text that
// the API would show.
func AwaitVolume(pod *v1.Pod, why, event string, now metav1.Time) *v1.Pod {
	waiting := *pod
	waiting.Status.Phase = v1.PodPending
	waiting.Status.Conditions = nil
	for _, condition := range pod.Status.Conditions {
		switch condition.Type {
		case v1.ContainersReady, v1.PodReady, v1.PodReadyToStartContainers:
		default:
			waiting.Status.Conditions = append(waiting.Status.Conditions, condition)
		}
	}
	waiting.Status.Conditions = append(waiting.Status.Conditions,
		v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionFalse, Reason: failedAttachVolume, Message: event, LastTransitionTime: now},
		v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", LastTransitionTime: now},
		v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", Message: why, LastTransitionTime: now},
	)
	return &waiting
}

// WaitsForVolume returns why a bound pod has not started, if it waits for a volume that is attached to another node, and "" otherwise.
func WaitsForVolume(pod *v1.Pod) string {
	if AttachEvent(pod) == "" {
		return ""
	}
	return podutil.GetPodReadyCondition(pod.Status).Message
}

// AttachEvent returns the text of the event about a pod that waits for a volume, or "" for any other pod.
func AttachEvent(pod *v1.Pod) string {
	if pod.Spec.NodeName == "" || pod.Status.Phase != v1.PodPending {
		return ""
	}
	_, starts := podutil.GetPodCondition(&pod.Status, v1.PodReadyToStartContainers)
	if starts == nil || starts.Reason != failedAttachVolume {
		return ""
	}
	return starts.Message
}

// StartPod returns a pod that has waited for a volume as it is once it runs.
func StartPod(pod *v1.Pod, now metav1.Time) *v1.Pod {
	started := *pod
	started.Status.Phase = v1.PodRunning
	started.Status.StartTime = &now
	for _, condition := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.ContainersReady, v1.PodReady} {
		started = *WithCondition(&started, v1.PodCondition{Type: condition, Status: v1.ConditionTrue, LastTransitionTime: now})
	}
	return &started
}

// StartedAfterVolume returns when a pod started that the simulation bound and that had to wait for a volume. The time is zero for any other
// pod.
func StartedAfterVolume(pod *v1.Pod) time.Time {
	if _, starts := podutil.GetPodCondition(&pod.Status, v1.PodReadyToStartContainers); starts != nil && starts.Status == v1.ConditionTrue {
		return starts.LastTransitionTime.Time
	}
	return time.Time{}
}

// StopPod returns the pod after its containers were stopped before they completed.
func StopPod(pod *v1.Pod, now metav1.Time) *v1.Pod {
	stopped := *pod
	stopped.Status.Phase = v1.PodFailed
	return WithCondition(&stopped, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: now})
}

// WithCondition returns the pod with the condition. An existing condition of the same type is replaced only if it has another status.
func WithCondition(pod *v1.Pod, condition v1.PodCondition) *v1.Pod {
	changed := *pod
	changed.Status.Conditions = slices.Clone(pod.Status.Conditions)
	_, old := podutil.GetPodCondition(&changed.Status, condition.Type)
	switch {
	case old == nil:
		changed.Status.Conditions = append(changed.Status.Conditions, condition)
	case old.Status != condition.Status:
		*old = condition
	}
	return &changed
}

// RequiredTerms returns the terms of the required node affinity of pods, of which one must be met; none if the spec has no such affinity. A change of a term
// changes the spec.
func RequiredTerms(spec *v1.PodSpec) []v1.NodeSelectorTerm {
	a := spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}
