package controller

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// ephemeralVolumes makes the claims of generic ephemeral volumes, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/ephemeral/controller.go does. A claim goes with its pod, which
// owns it; see collectClaims.
func (p *pass) ephemeralVolumes() error {
	var claims map[types.NamespacedName]*v1.PersistentVolumeClaim
	var problems []error
	p.follow(p.State) // which controllers before this one have changed
	for _, pod := range p.pods.Of(group{mounting: true}).Pods() {
		if pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Spec.Volumes, isEphemeral) {
			continue
		}
		if claims == nil {
			claims = byName(p.PersistentVolumeClaims)
		}
		for i := range pod.Spec.Volumes {
			volume := &pod.Spec.Volumes[i]
			if !isEphemeral(*volume) {
				continue
			}
			if there := claims[types.NamespacedName{Namespace: pod.Namespace, Name: ephemeral.VolumeClaimName(pod, volume)}]; there != nil {
				if ephemeral.VolumeIsForPod(pod, there) != nil {
					break // upstream looks at no further volume of the pod
				}
				continue
			}
			if err := p.createEphemeral(pod, volume); err != nil {
				if !p.refuseEphemeral(pod, volume, err) {
					problems = append(problems, err)
				}
				break
			}
		}
	}
	return errors.Join(problems...)
}

func isEphemeral(volume v1.Volume) bool { return volume.Ephemeral != nil }

// createEphemeral makes the claim of one volume of the pod.
func (p *pass) createEphemeral(pod *v1.Pod, volume *v1.Volume) error {
	template := volume.Ephemeral.VolumeClaimTemplate
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: ephemeral.VolumeClaimName(pod, volume), Namespace: pod.Namespace, Annotations: template.Annotations, Labels: template.Labels,
			CreationTimestamp: p.Now,
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: template.Spec,
	}
	if err := admission.AdmitClaim(p.State, claim); err != nil {
		return err
	}
	if err := p.charge(claim); err != nil {
		return err
	}
	claim.UID = p.uid("PersistentVolumeClaim", claim.Namespace, claim.Name)
	p.put(claim)
	return nil
}

// refuseEphemeral takes note of the claim that the API server does not create for a pod's volume, in the words of the controller's event, and
// reports whether that is what the error says. The pod is there; it waits for its claim.
func (p *pass) refuseEphemeral(pod *v1.Pod, volume *v1.Volume, err error) bool {
	if !admission.Refused(err) {
		return false
	}
	name := ephemeral.VolumeClaimName(pod, volume)
	p.refused = append(p.refused, cluster.Refusal{
		Ref:     cluster.Ref{Kind: "PersistentVolumeClaim", Namespace: pod.Namespace, Name: name},
		Message: fmt.Sprintf("ephemeral volume %s: create PVC %s: %s", volume.Name, name, err), Retried: true,
	})
	return true
}

// byName returns the claims by their names.
func byName(all []*v1.PersistentVolumeClaim) map[types.NamespacedName]*v1.PersistentVolumeClaim {
	claims := make(map[types.NamespacedName]*v1.PersistentVolumeClaim, len(all))
	for _, claim := range all {
		claims[cluster.NameOf(claim)] = claim
	}
	return claims
}

// mounting reports whether the pod's volumes may need a claim or an attachment.
func mounting(pod *v1.Pod) bool { return slices.ContainsFunc(pod.Spec.Volumes, attachable) }
