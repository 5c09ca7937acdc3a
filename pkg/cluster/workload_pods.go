package cluster

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// WorkloadPods has the pods of one workload by their identity: Placed are those with a node, which run or have completed, and Waiting those
// without.
type WorkloadPods struct {
	Placed, Waiting map[string]*v1.Pod
}

// PodsByWorkload returns the pods of each workload of the state.
func (s *State) PodsByWorkload() map[Ref]WorkloadPods { return GroupByWorkload(s.Pods, s.Owners()) }

// GroupByWorkload returns the pods of each workload, with the owner of each pod.
func GroupByWorkload(pods []*v1.Pod, ownerOf func(*v1.Pod) Ref) map[Ref]WorkloadPods {
	all := map[Ref]WorkloadPods{}
	for _, pod := range pods {
		owner := ownerOf(pod)
		crew, known := all[owner]
		if !known {
			crew = WorkloadPods{map[string]*v1.Pod{}, map[string]*v1.Pod{}}
			all[owner] = crew
		}
		switch id, _ := Identity(owner, pod); {
		case pod.Spec.NodeName != "" && (IsActive(pod) || pod.Status.Phase == v1.PodSucceeded):
			crew.Placed[id] = pod
		case IsUnscheduled(pod):
			crew.Waiting[id] = pod
		}
	}
	return all
}

// Identity returns the part of a pod that stays when the pod is replaced: the name for a pod of a StatefulSet or a pod without a
// controller, the node for a pod of a DaemonSet, and the index for a pod of an Indexed Job. It reports false for any other pod, of which
// nothing stays, and returns the pod's UID.
func Identity(owner Ref, pod *v1.Pod) (id string, lasts bool) {
	switch {
	case owner.Kind == "DaemonSet":
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil {
			return node, true
		}
	case owner.Kind == "StatefulSet" || owner.Kind == "Pod":
		return pod.Name, true
	case pod.Annotations[batchv1.JobCompletionIndexAnnotation] != "":
		return pod.Annotations[batchv1.JobCompletionIndexAnnotation], true
	}
	return string(pod.UID), false
}

// CountLost returns the number of placed pods that are placed no longer, and that no other pod replaces.
func (before WorkloadPods) CountLost(owner Ref, after WorkloadPods) int {
	gone, come := 0, 0
	lasting := false
	for id, pod := range before.Placed {
		if _, lasts := Identity(owner, pod); lasts {
			lasting = true
		}
		if after.Placed[id] == nil {
			gone++
		}
	}
	if lasting {
		return gone
	}
	for id := range after.Placed {
		if before.Placed[id] == nil {
			come++
		}
	}
	return max(0, gone-come)
}

// NewlyPending returns the pods of the workload that wait for a node although no pod waited in their place before, by name. If pods have no
// lasting identity, any pod of the workload can take the place of any other: if one pod that waited gets a node and one pod that ran now
// waits, none is newly Pending.
func (before WorkloadPods) NewlyPending(owner Ref, after WorkloadPods) []*v1.Pod {
	var newly, strangers []*v1.Pod
	lasting := false
	for id, pod := range after.Waiting {
		_, lasts := Identity(owner, pod)
		lasting = lasting || lasts
		switch {
		case before.Waiting[id] != nil:
		case lasts && before.Placed[id] != nil:
			newly = append(newly, pod)
		default:
			strangers = append(strangers, pod)
		}
	}
	left := 0 // number of places in which a pod waited before and none waits now
	for id := range before.Waiting {
		if after.Waiting[id] == nil && (!lasting || after.Placed[id] == nil) {
			left++
		}
	}
	n := len(strangers) - left
	if !lasting {
		n = max(n, min(before.CountLost(owner, after), len(strangers)))
	}
	byName := func(a, b *v1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}
	slices.SortFunc(strangers, byName)
	newly = append(newly, strangers[:max(0, n)]...)
	slices.SortFunc(newly, byName)
	return newly
}

// Shortfall is what a workload lacks after a change: Pending are the pods that newly wait for a node, and Lost is how many of them replace
// pods that ran.
type Shortfall struct {
	Ref
	Pending []*v1.Pod
	Lost    int
}

// Shortfalls compares the pods before a change with the state after it. Every question counts in this way, by workload and by place: a sum
// over all pods would hide a replica that lost its node to a pod that had waited. The workload with the most lost pods comes first.
func Shortfalls(before map[Ref]WorkloadPods, after *State) []Shortfall {
	var all []Shortfall
	for owner, crew := range after.PodsByWorkload() {
		if pods := before[owner].NewlyPending(owner, crew); len(pods) > 0 {
			all = append(all, Shortfall{owner, pods, min(before[owner].CountLost(owner, crew), len(pods))})
		}
	}
	slices.SortFunc(all, func(a, b Shortfall) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(len(b.Pending), len(a.Pending)), a.Ref.Compare(b.Ref))
	})
	return all
}

// NewlyPending returns the UIDs of the pods of all workloads that newly wait for a node.
func NewlyPending(before map[Ref]WorkloadPods, after *State) map[types.UID]bool {
	newly := map[types.UID]bool{}
	for _, s := range Shortfalls(before, after) {
		for _, pod := range s.Pending {
			newly[pod.UID] = true
		}
	}
	return newly
}

// PodCount is the number of pods of a workload that run on a node, and the number that wait for one.
type PodCount struct{ Running, Pending int }

// PodCounts counts the pods of each workload.
func (s *State) PodCounts() map[Ref]PodCount {
	counts := map[Ref]PodCount{}
	ownerOf := s.Owners()
	for _, pod := range s.Pods {
		owner := ownerOf(pod)
		count := counts[owner]
		switch {
		case pod.Spec.NodeName != "" && IsActive(pod):
			count.Running++
		case IsUnscheduled(pod):
			count.Pending++
		default:
			continue
		}
		counts[owner] = count
	}
	return counts
}
