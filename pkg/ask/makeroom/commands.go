package makeroom

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// moveLabel marks the pod that is to move: kubectl drain evicts by the API, waits until the pod is gone, and takes pods only by their labels.
const moveLabel = "faultline.dev/move"

// waitTimeout is how long a command waits for a pod.
const waitTimeout = "10m"

// commands returns the moves as commands of kubectl. Each waits until the replacement of the pod is ready, and fails otherwise.
func (f *finder) commands(found *found) []string {
	var all []string
	for _, file := range f.Files {
		all = append(all, "kubectl apply -f "+file)
	}
	for _, stage := range found.stages {
		if len(stage.cordoned) > 0 {
			all = append(all, "kubectl cordon "+strings.Join(stage.cordoned, " "))
		}
		for i, m := range stage.moves {
			data := ""
			if losesData(stage.pods[i].Pod) {
				data = " --delete-emptydir-data"
			}
			all = append(all,
				fmt.Sprintf("kubectl label pod %s%s %s=now", m.Name, inNamespace(m.Namespace), moveLabel),
				fmt.Sprintf("kubectl drain %s --pod-selector=%s=now%s", m.From, moveLabel, data),
				f.waitForReplacement(stage.pods[i]))
		}
		if len(stage.cordoned) > 0 {
			all = append(all, "kubectl uncordon "+strings.Join(stage.cordoned, " "))
		}
	}
	return append(all, f.waitForAsked(found)...)
}

func inNamespace(namespace string) string {
	if namespace == v1.NamespaceDefault {
		return ""
	}
	return " -n " + namespace
}

// waitForReplacement returns the command that waits until the workload of the pod has as many ready pods as before.
func (f *finder) waitForReplacement(c *candidate) string {
	by := metav1.GetControllerOfNoCopy(c.Pod)
	of, field := c.owner, "readyReplicas"
	switch {
	case by.Kind == "Job":
		of, field = cluster.Ref{Kind: by.Kind, Namespace: c.Namespace, Name: by.Name}, "ready"
	case slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}, of.Kind):
	default:
		return fmt.Sprintf("kubectl wait pod%s -l %s --for=condition=Ready --timeout=%s", inNamespace(c.Namespace), selectorOf(c.Pod), waitTimeout)
	}
	return fmt.Sprintf("kubectl wait %s%s --for=jsonpath='{.status.%s}'=%d --timeout=%s", of, inNamespace(of.Namespace), field, f.countReady(c.Pod, of), waitTimeout)
}

// countReady returns the number of running pods that the object controls, as its pod's owner or directly.
func (f *finder) countReady(pod *v1.Pod, of cluster.Ref) int {
	if of.Kind != "Job" {
		return f.start.PodCounts()[of].Running
	}
	n := 0
	by := metav1.GetControllerOfNoCopy(pod)
	for _, other := range f.start.Pods {
		if ref := metav1.GetControllerOfNoCopy(other); ref != nil && ref.UID == by.UID && other.Spec.NodeName != "" && cluster.IsActive(other) {
			n++
		}
	}
	return n
}

// selectorOf returns the labels of the pod that its template gives.
func selectorOf(pod *v1.Pod) string {
	if name := pod.Labels[batchv1.JobNameLabel]; name != "" {
		return batchv1.JobNameLabel + "=" + name
	}
	own := cluster.OwnLabels(pod)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(own)) {
		all = append(all, key+"="+own[key])
	}
	return strings.Join(all, ",")
}

// waitForAsked returns the commands that wait until the pods that asked for room have a node: pods by their labels, since pods of files have no
// names yet.
func (f *finder) waitForAsked(found *found) []string {
	byName := map[types.NamespacedName]*v1.Pod{}
	for _, pod := range found.end.Pods {
		byName[cluster.NameOf(pod)] = pod
	}
	var all []string
	for _, placed := range found.placed {
		pod := byName[placed.Key()]
		selected := "pod -l " + selectorOf(pod)
		if metav1.GetControllerOfNoCopy(pod) == nil || len(cluster.OwnLabels(pod)) == 0 {
			selected = "pod " + pod.Name
		}
		command := fmt.Sprintf("kubectl wait %s%s --for=condition=PodScheduled --timeout=%s", selected, inNamespace(pod.Namespace), waitTimeout)
		if !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	return all
}
