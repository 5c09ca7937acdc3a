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

// syncEphemeralVolumes creates the claims of generic ephemeral volumes, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/ephemeral/controller.go
// does. The pod owns its claim, which is removed with the pod; see collectClaims.
func (p *pass) syncEphemeralVolumes() error {
	p.followPods(p.State) // earlier controllers of this round may have changed the pods
	pods := p.pods.Lookup(group{mounting: true})
	seen := []any{pods, newListID(p.PersistentVolumeClaims)}
	return p.syncUnlessSettled(subject{fact: ephemeralVolumesInSync}, seen, func() error { return p.createEphemeralClaims(pods.Pods()) })
}

// createEphemeralClaims creates the claims that the pods lack.
func (p *pass) createEphemeralClaims(pods []*v1.Pod) error {
	var claims map[types.NamespacedName]*v1.PersistentVolumeClaim
	var problems []error
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Spec.Volumes, isEphemeral) {
			continue
		}
		if claims == nil {
			claims = indexClaims(p.PersistentVolumeClaims)
		}
		for i := range pod.Spec.Volumes {
			volume := &pod.Spec.Volumes[i]
			if !isEphemeral(*volume) {
				continue
			}
			if there := claims[types.NamespacedName{Namespace: pod.Namespace, Name: ephemeral.VolumeClaimName(pod, volume)}]; there != nil {
				if ephemeral.VolumeIsForPod(pod, there) != nil {
					break // upstream skips the pod's other volumes, too
				}
				continue
			}
			if err := p.createEphemeralClaim(pod, volume); err != nil {
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

// createEphemeralClaim creates the claim of one volume of the pod.
func (p *pass) createEphemeralClaim(pod *v1.Pod, volume *v1.Volume) error {
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
	if err := p.admitAndCharge(claim); err != nil {
		return err
	}
	claim.UID = p.newUID("PersistentVolumeClaim", claim.Namespace, claim.Name)
	p.putObject(claim)
	return nil
}

// refuseEphemeral records the claim that the API server refuses to create for a pod's volume, in the words of the controller's event. It
// returns false for any other error. The pod exists, and waits for its claim.
func (p *pass) refuseEphemeral(pod *v1.Pod, volume *v1.Volume, err error) bool {
	if !admission.IsRefusal(err) {
		return false
	}
	name := ephemeral.VolumeClaimName(pod, volume)
	p.refused = append(p.refused, cluster.Refusal{
		Ref:     cluster.Ref{Kind: "PersistentVolumeClaim", Namespace: pod.Namespace, Name: name},
		Message: fmt.Sprintf("ephemeral volume %s: create PVC %s: %s", volume.Name, name, err), Retried: true,
	})
	return true
}

// indexClaims returns the claims by namespace and name.
func indexClaims(all []*v1.PersistentVolumeClaim) map[types.NamespacedName]*v1.PersistentVolumeClaim {
	claims := make(map[types.NamespacedName]*v1.PersistentVolumeClaim, len(all))
	for _, claim := range all {
		claims[cluster.NameOf(claim)] = claim
	}
	return claims
}

// hasAttachableVolumes reports whether a volume of the pod may need a claim or an attachment.
func hasAttachableVolumes(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, mayNeedAttachment)
}
