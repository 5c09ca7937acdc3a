package controller

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

const scratch = `ephemeral: {volumeClaimTemplate: {metadata: {labels: {type: scratch}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}`

// claimsOf returns the claims, each with the pod that owns it.
func (w *world) claimsOf() map[string]string {
	found := map[string]string{}
	for _, claim := range w.state.PersistentVolumeClaims {
		owner := ""
		for _, ref := range claim.OwnerReferences {
			owner = strings.ToLower(ref.Kind) + "/" + ref.Name
		}
		found[claim.Name] = owner
	}
	return found
}

// The claim of an ephemeral volume belongs to its pod: it is created and removed with the pod, and its volume with the claim.
func TestEphemeralVolume(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(storageClass("fast", "provisioner: ebs.csi.aws.com\n"))
	w.apply(mountingPod("p", "n1", scratch))
	w.check("made", w.claimsOf(), map[string]string{"p-data": "pod/p"})
	claim := w.state.PersistentVolumeClaims[0]
	w.check("from the template", []any{claim.Labels, *claim.Spec.StorageClassName, claim.Spec.VolumeName},
		[]any{map[string]string{"type": "scratch"}, "fast", "pvc-" + string(claim.UID)})

	w.state = admission.Delete(w.state, claim)
	w.settle()
	w.check("made again", w.claimsOf(), map[string]string{"p-data": "pod/p"})

	w.state = admission.Delete(w.state, w.state.Pods[0])
	w.settle()
	w.check("gone", []any{w.claimsOf(), len(w.state.PersistentVolumes)}, []any{map[string]string{}, 0})
}

// If another object's claim has the name, that claim stays as it is, and the pod gets no claims for its other volumes.
func TestEphemeralVolumeInTheWay(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(claim("p-data", ""))
	w.apply(strings.Replace(mountingPod("p", "n1", scratch), "}]}\n", "}, {name: more, "+scratch+"}]}\n", 1))
	w.check("claims", w.claimsOf(), map[string]string{"p-data": ""})
}

// A claim that a quota refuses is requested again until the quota allows it.
func TestEphemeralVolumeRefused(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {persistentvolumeclaims: 1}}\n")
	w.apply(mountingPod("p1", "n1", scratch) + "---" + mountingPod("p2", "n1", scratch))
	w.check("claims", w.claimsOf(), map[string]string{"p1-data": "pod/p1"})
	w.check("refused", w.state.Refused, []cluster.Refusal{{
		Ref: cluster.Ref{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "p2-data"}, Retried: true, Since: cluster.Epoch.Unix(),
		Message: `ephemeral volume data: create PVC p2-data: persistentvolumeclaims "p2-data" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1`,
	}})
	w.state = admission.Delete(w.state, w.state.Pods[0])
	w.settle()
	w.check("room", []any{w.claimsOf(), len(w.state.Refused)}, []any{map[string]string{"p2-data": "pod/p2"}, 0})
}
