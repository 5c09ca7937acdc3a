package node

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/util/taints"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
)

// completePods marks pods as ended that have run for as long as their annotation or their commands say, and pods as ready whose time has come.
func (c *Controllers) completePods(s *cluster.State) *cluster.State {
	c.followState(s)
	var completed []*v1.Pod
	for _, due := range c.due {
		for _, pod := range due.completing {
			if nextOfContainers(s.Containers, pod).After(s.Now.Time) {
				continue
			}
			completed = append(completed, pod)
		}
	}
	slices.SortFunc(completed, c.pods.Compare)
	changed := list.Map(completed, func(pod *v1.Pod) cluster.Object {
		at, code, ends := s.Containers.EndsAt(pod)
		switch {
		case !ends || at.After(s.Now.Time):
			return cluster.MakeReady(pod, s.Now)
		case code != 0:
			return cluster.FailPod(pod, code, s.Now)
		}
		return cluster.CompletePod(pod, s.Now)
	})
	return s.With(changed...)
}

// nextOfContainers returns when a pod becomes ready or ends, whichever is first; zero if neither is to come.
func nextOfContainers(containers *cluster.Containers, pod *v1.Pod) time.Time {
	next, waits := containers.ReadyAt(pod)
	if at, _, ends := containers.EndsAt(pod); ends && (!waits || at.Before(next)) {
		next = at
	}
	return next
}

// endPods removes the pods that have ended. Their kubelet has had the time that it needs, or the pod garbage collector deletes them because
// their node is gone or out of service. See https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podgc/gc_controller.go.
func (c *Controllers) endPods(s *cluster.State) *cluster.State {
	c.followState(s)
	var ending []*v1.Pod
	for _, due := range c.due {
		ending = append(ending, due.ending...)
	}
	slices.SortFunc(ending, c.pods.Compare)
	var gone, kept []cluster.Object
	for _, pod := range ending {
		awaited := admission.AwaitedByJob(s, pod)
		if cluster.IsTerminal(pod) {
			if !awaited {
				gone = append(gone, pod)
			}
			continue
		}
		node := c.byName[pod.Spec.NodeName]
		if node != nil && !isOutOfService(node) && c.endsAt(pod).After(s.Now.Time) {
			continue
		}
		if awaited {
			kept = append(kept, cluster.StopPod(pod, s.Now))
		} else {
			gone = append(gone, pod)
		}
	}
	return s.With(kept...).Without(gone...)
}

// resizePods gives waiting pods their new resources, if their node now has room. Pods of the highest priority come first, then Guaranteed
// pods, then pods that have waited longest, as in sortPendingResizes of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/allocation/allocation_manager.go.
func (c *Controllers) resizePods(s *cluster.State) *cluster.State {
	c.followState(s)
	var waiting []*v1.Pod
	for _, due := range c.due {
		waiting = append(waiting, due.resizing...)
	}
	slices.SortFunc(waiting, c.pods.Compare)
	slices.SortStableFunc(waiting, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(corev1.PodPriority(b), corev1.PodPriority(a)), cmp.Compare(guaranteedRank(b), guaranteedRank(a)), resizeDeferredSince(a).Compare(resizeDeferredSince(b)))
	})
	for _, pod := range waiting {
		if done := admission.CompleteResize(s, pod); done != nil {
			s = s.With(done)
		}
	}
	return s
}

// guaranteedRank returns 1 for a pod of the QoS class Guaranteed, and 0 for others.
func guaranteedRank(pod *v1.Pod) int {
	if qos.GetPodQOS(pod) == v1.PodQOSGuaranteed {
		return 1
	}
	return 0
}

// resizeDeferredSince returns since when the pod's resize has been waiting.
func resizeDeferredSince(pod *v1.Pod) time.Time {
	_, condition := podutil.GetPodCondition(&pod.Status, v1.PodResizePending)
	return condition.LastTransitionTime.Time
}

// reactionTime is how long controllers and scheduler take to react to the deletion of a pod. To them, a pod that ends sooner was never
// Terminating.
const reactionTime = time.Second / 4

// endsAt returns when the kubelet of a Terminating pod has ended the pod. Without a seed this is the end of the grace period. With a seed
// it is a random time before that, uniformly distributed, since containers end when they are asked to or are killed. The time depends only
// on the seed and the pod. It is in whole seconds, as the clock is.
func (c *Controllers) endsAt(pod *v1.Pod) time.Time {
	latest := pod.DeletionTimestamp.Time
	if c.Seed == nil {
		return latest
	}
	asked := cluster.DeletionRequested(pod)
	hash := fnv.New64a()
	hash.Write([]byte(pod.UID))
	took := time.Duration(rand.New(rand.NewPCG(*c.Seed, hash.Sum64())).Float64() * float64(latest.Sub(asked)))
	if took < reactionTime {
		return asked
	}
	return asked.Add((took + time.Second - 1).Truncate(time.Second))
}

// isOutOfService reports whether the garbage collector removes the Terminating pods of the node.
func isOutOfService(node *v1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status != v1.ConditionTrue &&
		taints.TaintKeyExists(node.Spec.Taints, v1.TaintNodeOutOfService)
}
