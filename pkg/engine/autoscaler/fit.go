package autoscaler

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
)

// hints remember the node that a pod fitted onto. A loop that does not use a hint forgets it at its end.
type hints struct{ current, old map[string]string }

func (h hints) clone() hints { return hints{cloned(h.current), cloned(h.old)} }

// age forgets the hints that were not used since the last call.
func (h *hints) age() { h.old, h.current = h.current, map[string]string{} }

// lookUp returns the key of the pod's hint, and the hinted node; "" if there is none.
func (h *hints) lookUp(pod *v1.Pod) (key, node string) {
	key = cmp.Or(string(pod.UID), cluster.NameOf(pod).String())
	return key, cmp.Or(h.current[key], h.old[key])
}

func comparePriority(a, b *v1.Pod) int {
	return cmp.Compare(corev1.PodPriority(b), corev1.PodPriority(a))
}

// placePods puts each pod onto an acceptable node that it fits: the node of its hint, otherwise the first that Find returns. It calls placed
// for each placed pod, and returns the others. With stop it may end at the first pod that fits nowhere. Pods of higher priority come first;
// within a priority, pods that still fit onto the node of their hint come first. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/simulator/scheduling/hinting_simulator.go.
func (l *loop) placePods(pods []*v1.Pod, hints *hints, acceptable func(node string) bool, stop bool, placed func(*v1.Pod, string)) []*v1.Pod {
	priorities := map[int32][]*v1.Pod{}
	for _, pod := range pods {
		priorities[corev1.PodPriority(pod)] = append(priorities[corev1.PodPriority(pod)], pod)
	}
	unplaced := map[*v1.Pod]bool{}
	refused := newPodKinds()
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(priorities))) {
		var others []*v1.Pod
		for _, pod := range priorities[priority] {
			key, node := hints.lookUp(pod)
			if node == "" || l.snapshot.Node(node) == nil || !acceptable(node) || !l.tryPlace(pod, node) {
				others = append(others, pod)
				continue
			}
			hints.current[key] = node
			placed(pod, node)
		}
		for i, pod := range others {
			if !refused.has(pod) {
				if node := l.snapshot.Find(pod, acceptable); node != "" {
					key, _ := hints.lookUp(pod)
					hints.current[key] = node
					placed(pod, node)
					continue
				}
				if !isDaemonSetPod(pod) {
					refused.addRepresentative(pod)
				}
			}
			unplaced[pod] = true
			if stop {
				for _, rest := range others[i:] {
					unplaced[rest] = true
				}
				break
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return !unplaced[pod] })
}

// tryPlace puts the pod onto the node if it fits.
func (l *loop) tryPlace(pod *v1.Pod, node string) bool {
	_, placed := l.snapshot.Place(pod, node)
	return placed
}

// podKinds has pods by the UID of their controller. A pod stands for all pods of that controller with the same labels and essentially the same
// spec. The autoscaler keeps ten pods for each controller.
type podKinds map[types.UID][]*v1.Pod

const maxKindsPerController = 10

func newPodKinds() podKinds { return podKinds{} }

// addRepresentative lets the pod stand for others, if it has a controller.
func (k podKinds) addRepresentative(pod *v1.Pod) {
	if by := metav1.GetControllerOfNoCopy(pod); by != nil && len(k[by.UID]) < maxKindsPerController {
		k[by.UID] = append(k[by.UID], pod)
	}
}

func (k podKinds) has(pod *v1.Pod) bool { return k.representative(pod) != nil }

// representative returns the pod that stands for this one; nil if there is none.
func (k podKinds) representative(pod *v1.Pod) *v1.Pod {
	by := metav1.GetControllerOfNoCopy(pod)
	if by == nil {
		return nil
	}
	for _, one := range k[by.UID] {
		if maps.Equal(one.Labels, pod.Labels) &&
			(memo.Identical(&one.Spec, &pod.Spec) || equality.Semantic.DeepEqual(placementSpec(one.Spec), placementSpec(pod.Spec))) {
			return one
		}
	}
	return nil
}

// placementSpec returns the spec without fields that do not matter to placement: host name, environment variables, projected volumes.
func placementSpec(spec v1.PodSpec) v1.PodSpec {
	spec.Hostname = ""
	projected := map[string]bool{}
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), func(volume v1.Volume) bool {
		projected[volume.Name] = volume.Projected != nil
		return volume.Projected != nil
	})
	for _, containers := range []*[]v1.Container{&spec.Containers, &spec.InitContainers} {
		*containers = slices.Clone(*containers)
		for i := range *containers {
			c := &(*containers)[i]
			c.Env = nil
			c.VolumeMounts = slices.DeleteFunc(slices.Clone(c.VolumeMounts), func(mount v1.VolumeMount) bool { return projected[mount.Name] })
		}
	}
	return spec
}
