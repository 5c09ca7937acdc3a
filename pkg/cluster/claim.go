package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
)

// ClaimNames returns the names of the PersistentVolumeClaims of the pod's volumes, in the order of the volumes. The claim of an ephemeral volume is among
// them, whether it exists or not.
func ClaimNames(pod *v1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, ephemeral.VolumeClaimName(pod, v))
		}
	}
	return names
}

// HasClaim reports whether a volume of the pod is of the claim.
func HasClaim(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	return pod.Namespace == claim.Namespace && slices.Contains(ClaimNames(pod), claim.Name)
}

// UnselectedClaims returns the claims of a pod with a node that nobody binds: their StorageClass waits until the scheduler selects a node for the claim's
// first pod, and the pod had its node in spec.nodeName, so that the scheduler never saw it. The kubelet does not start such a pod.
func (s *State) UnselectedClaims(pod *v1.Pod) []*v1.PersistentVolumeClaim {
	names := ClaimNames(pod)
	if pod.Spec.NodeName == "" || len(names) == 0 {
		return nil
	}
	var all []*v1.PersistentVolumeClaim
	for _, claim := range s.PersistentVolumeClaims {
		if claim.Spec.VolumeName != "" || metav1.HasAnnotation(claim.ObjectMeta, volume.AnnSelectedNode) || claim.Namespace != pod.Namespace || !slices.Contains(names, claim.Name) {
			continue
		}
		name := volume.GetPersistentVolumeClaimClass(claim)
		waits := func(class *storagev1.StorageClass) bool {
			return class.Name == name && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
		}
		if slices.ContainsFunc(s.StorageClasses, waits) {
			all = append(all, claim)
		}
	}
	return all
}
