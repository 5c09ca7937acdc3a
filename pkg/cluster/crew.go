package cluster

import (
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// Crew is the pods of a workload by identity: those with a node, which run or have completed, and those without.
type Crew struct {
	Placed, Waiting map[string]*v1.Pod
}

// Crews returns the pods of each workload of the state.
func (s *State) Crews() map[Ref]Crew { return CrewsOf(s.Pods, s.Owners()) }

// CrewsOf returns the pods of each workload, with the owner of each pod.
func CrewsOf(pods []*v1.Pod, ownerOf func(*v1.Pod) Ref) map[Ref]Crew {
	all := map[Ref]Crew{}
	for _, pod := range pods {
		owner := ownerOf(pod)
		crew, known := all[owner]
		if !known {
			crew = Crew{map[string]*v1.Pod{}, map[string]*v1.Pod{}}
			all[owner] = crew
		}
		switch id, _ := Identity(owner, pod); {
		case pod.Spec.NodeName != "" && (Active(pod) || pod.Status.Phase == v1.PodSucceeded):
			crew.Placed[id] = pod
		case Waits(pod):
			crew.Waiting[id] = pod
		}
	}
	return all
}

// Identity is what lasts of a pod when it is replaced: the name of a StatefulSet's pod or of one without a controller, the node of a
// DaemonSet's, the index of an Indexed Job's. Nothing lasts of any other pod, whose identity is its UID.
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

// Lost is the number of pods with a node that have none afterwards, nor does a pod in their place.
func (before Crew) Lost(owner Ref, after Crew) int {
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
