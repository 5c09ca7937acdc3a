package autoscaler

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// outcome is a rule's answer about a pod of a node that the autoscaler wants to remove.
type outcome int

const (
	unknown outcome = iota // the next rule decides
	moves                  // the pod can be evicted
	blocks                 // the pod keeps its node
	waits                  // the node waits until the pod ends
	ignored                // the pod does not matter
)

// blockingPod is a pod that keeps its node, and the reason.
type blockingPod struct {
	pod *v1.Pod
	why string
}

const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

// drainRules say whether a pod keeps its node. The first rule with an answer decides. See the folders of
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/simulator/drainability/rules.
var drainRules = []func(*drain, *v1.Pod) (outcome, string){
	func(_ *drain, pod *v1.Pod) (outcome, string) { return outcomeIf(isMirror(pod), ignored, "") },
	func(d *drain, pod *v1.Pod) (outcome, string) {
		return outcomeIf(isLongTerminating(pod, d.now), ignored, "")
	},
	(*drain).judgeReplicaCount,
	func(_ *drain, pod *v1.Pod) (outcome, string) { return outcomeIf(isDaemonSetPod(pod), moves, "") },
	func(_ *drain, pod *v1.Pod) (outcome, string) {
		return outcomeIf(pod.Annotations[safeToEvict] == "true", moves, "")
	},
	func(_ *drain, pod *v1.Pod) (outcome, string) { return outcomeIf(hasEnded(pod), moves, "") },
	func(_ *drain, pod *v1.Pod) (outcome, string) {
		return outcomeIf(pod.Annotations[safeToEvict] == "on-completion", waits, "")
	},
	(*drain).judgeReplicated,
	(*drain).judgeSystemPod,
	func(_ *drain, pod *v1.Pod) (outcome, string) {
		return outcomeIf(pod.Annotations[safeToEvict] == "false", blocks, "NotSafeToEvictAnnotation")
	},
	func(d *drain, pod *v1.Pod) (outcome, string) {
		return outcomeIf(d.options.SkipLocalStorage && hasLocalStorage(pod), blocks, "LocalStorageRequested")
	},
	func(d *drain, pod *v1.Pod) (outcome, string) {
		return outcomeIf(slices.ContainsFunc(d.budgetsOf(pod), func(b *budget) bool { return b.left < 1 }), blocks, "NotEnoughPdb")
	},
}

// outcomeIf returns the outcome if the condition holds; otherwise the next rule decides.
func outcomeIf(is bool, then outcome, why string) (outcome, string) {
	if is {
		return then, why
	}
	return unknown, ""
}

// drain decides which pods must move before a node can be removed.
type drain struct {
	options *Options
	now     time.Time
	budgets []*budget
	owners  map[workloadKey]*int32 // replicas by workload, nil replicas for kinds without a minimum; with a nil map the rule about workloads is off
}

// workloadKey names a workload.
type workloadKey struct {
	kind string
	types.NamespacedName
}

// budget is a PodDisruptionBudget with the disruptions that it still allows.
type budget struct {
	namespace string
	selector  labels.Selector
	left      int32
}

// newDrain returns a drain that knows the cluster's budgets and workloads.
func (l *loop) newDrain() *drain {
	d := &drain{options: &l.options, now: l.now, owners: map[workloadKey]*int32{}}
	for _, pdb := range l.state.PodDisruptionBudgets {
		if selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err == nil {
			d.budgets = append(d.budgets, &budget{pdb.Namespace, selector, pdb.Status.DisruptionsAllowed})
		}
	}
	know := func(kind string, obj metav1.Object, replicas *int32) {
		d.owners[workloadKey{kind, cluster.NameOf(obj)}] = replicas
	}
	for _, rc := range l.state.ReplicationControllers {
		know("ReplicationController", rc, rc.Spec.Replicas)
	}
	for _, rs := range l.state.ReplicaSets {
		know("ReplicaSet", rs, rs.Spec.Replicas)
	}
	for _, set := range l.state.StatefulSets {
		know("StatefulSet", set, nil)
	}
	for _, job := range l.state.Jobs {
		know("Job", job, nil)
	}
	for _, ds := range l.state.DaemonSets {
		know("DaemonSet", ds, nil)
	}
	return d
}

// budgetsOf returns the budgets that cover the pod.
func (d *drain) budgetsOf(pod *v1.Pod) []*budget {
	var matching []*budget
	for _, b := range d.budgets {
		if b.covers(pod) {
			matching = append(matching, b)
		}
	}
	return matching
}

func (b *budget) covers(pod *v1.Pod) bool {
	return b.namespace == pod.Namespace && b.selector.Matches(labels.Set(pod.Labels))
}

// takeDisruptions takes the disruptions of the pods from their budgets, and reports whether a budget does not allow all of them at once.
func (d *drain) takeDisruptions(pods []*v1.Pod) (risky bool) {
	for _, b := range d.budgets {
		before := b.left
		for _, pod := range pods {
			if b.covers(pod) {
				b.left--
			}
		}
		risky = risky || b.left < 0 && b.left < before
	}
	return risky
}

// splitPods returns the pods that must move, the pods that the node waits for, and the first pod that blocks the removal, if one does.
func (d *drain) splitPods(pods []*v1.Pod) (move, wait []*v1.Pod, block *blockingPod) {
	for _, pod := range pods {
		switch said, why := d.judgePod(pod); {
		case said == blocks:
			return move, wait, &blockingPod{pod, why}
		case said == waits:
			wait = append(wait, pod)
		case said != ignored && !isDaemonSetPod(pod):
			move = append(move, pod)
		}
	}
	return move, wait, nil
}

// judgePod returns the outcome of the first rule that decides about the pod, and its reason.
func (d *drain) judgePod(pod *v1.Pod) (outcome, string) {
	for _, rule := range drainRules {
		if said, why := rule(d, pod); said != unknown {
			return said, why
		}
	}
	return unknown, ""
}

// judgeReplicaCount is the rule that a pod's workload must exist and have enough replicas.
func (d *drain) judgeReplicaCount(pod *v1.Pod) (outcome, string) {
	by := metav1.GetControllerOfNoCopy(pod)
	if by == nil || d.owners == nil || !d.options.SkipCustomControllerPods {
		return unknown, ""
	}
	group, _, _ := strings.Cut(by.APIVersion, "/")
	switch kind := by.Kind; {
	case kind == "ReplicationController":
	case isDaemonSetPod(pod), kind == "StatefulSet":
		if group != "apps" || kind != "DaemonSet" && kind != "StatefulSet" {
			return unknown, ""
		}
	case kind != "Job" && kind != "ReplicaSet":
		return unknown, ""
	}
	replicas, found := d.owners[workloadKey{by.Kind, types.NamespacedName{Namespace: pod.Namespace, Name: by.Name}}]
	if !found {
		return blocks, "ControllerNotFound"
	}
	return outcomeIf(replicas != nil && int(*replicas) < d.options.MinReplicaCount, blocks, "MinReplicasReached")
}

// judgeReplicated is the rule that a controller must replace the pod.
func (d *drain) judgeReplicated(pod *v1.Pod) (outcome, string) {
	by := metav1.GetControllerOfNoCopy(pod)
	known := by != nil && (!d.options.SkipCustomControllerPods ||
		slices.Contains([]string{"ReplicationController", "Job", "ReplicaSet", "StatefulSet"}, by.Kind))
	return outcomeIf(!known, blocks, "NotReplicated")
}

// judgeSystemPod is the rule that a pod in kube-system without a budget blocks until it is --blocking-system-pod-distruption-timeout old, and can
// then move.
func (d *drain) judgeSystemPod(pod *v1.Pod) (outcome, string) {
	if !d.options.SkipSystemPods || pod.Namespace != metav1.NamespaceSystem || len(d.budgetsOf(pod)) > 0 {
		return unknown, ""
	}
	if !pod.CreationTimestamp.IsZero() && d.now.After(pod.CreationTimestamp.Add(d.options.SystemPodTimeout)) {
		return moves, ""
	}
	return blocks, "UnmovableKubeSystemPod"
}

// isLongTerminating reports whether the pod's grace period ended more than half a minute ago.
func isLongTerminating(pod *v1.Pod, now time.Time) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	grace := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	return pod.DeletionTimestamp.Add(time.Duration(grace)*time.Second + 30*time.Second).Before(now)
}

// hasEnded reports whether the pod has failed, or has succeeded and will not be restarted.
func hasEnded(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded && cluster.RunsOnce(pod)
}

// hasLocalStorage reports whether the pod has a volume on its node's disk that no annotation declares safe to lose.
func hasLocalStorage(pod *v1.Pod) bool {
	safe := strings.Split(pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"], ",")
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool {
		local := volume.HostPath != nil || volume.EmptyDir != nil && volume.EmptyDir.Medium != v1.StorageMediumMemory
		return local && !slices.Contains(safe, volume.Name)
	})
}
