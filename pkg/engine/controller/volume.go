package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// syncVolumes binds claims to volumes, provisions the volumes of classes, and reclaims the volumes of deleted claims, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/persistentvolume/pv_controller.go
// does with an external provisioner that never fails. It leaves a claim that waits for its first consumer to the scheduler, which annotates
// the claim with the node that it has selected.
func (p *pass) syncVolumes() error {
	if len(p.PersistentVolumes) == 0 && len(p.PersistentVolumeClaims) == 0 {
		return nil
	}
	var seen []any
	if !slices.ContainsFunc(p.PersistentVolumeClaims, mayGo) { // else the sync sees whether owners, which may be of any kind, and pods are there
		seen = []any{newListID(p.PersistentVolumeClaims), newListID(p.PersistentVolumes), newListID(p.StorageClasses), newListID(p.CSIStorageCapacities), newListID(p.Nodes)}
	}
	return p.syncUnlessSettled(subject{fact: volumesInSync}, seen, p.syncEachVolume)
}

// syncEachVolume syncs every volume, then every claim.
func (p *pass) syncEachVolume() error {
	kept := p.collectClaims()
	claims := indexClaims(kept)
	free := freeVolumes{byModes: map[string][]*v1.PersistentVolume{}, reserved: map[types.NamespacedName][]*v1.PersistentVolume{}, byName: map[string]*v1.PersistentVolume{}}
	p.capacities = NewCapacities(p.State, p.CSIStorageCapacities)
	for _, pv := range p.PersistentVolumes {
		if pv = p.reclaimVolume(pv, claims); pv != nil {
			free.addVolume(pv)
		}
	}
	for _, claim := range kept {
		if metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) && claim.Status.Phase == v1.ClaimBound {
			continue
		}
		if err := p.bindClaim(claim, free); err != nil {
			return fmt.Errorf("%s: %w", cluster.RefTo(claim).Describe(), err)
		}
	}
	for _, capacity := range p.capacities.Changed() {
		p.putObject(capacity)
	}
	return nil
}

// collectClaims removes the claims that nothing keeps, and returns the others: claims whose owners are all gone, and claims that are being deleted and
// that no pod has any more. The garbage collector does the one with the claims of ephemeral volumes, and with claims that a StatefulSet's
// persistentVolumeClaimRetentionPolicy has given to pods; the other is
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/pvcprotection/pvc_protection_controller.go.
func (p *pass) collectClaims() []*v1.PersistentVolumeClaim {
	if !slices.ContainsFunc(p.PersistentVolumeClaims, mayGo) {
		return p.PersistentVolumeClaims
	}
	present := map[types.UID]bool{}
	for _, obj := range p.Objects() {
		present[obj.GetUID()] = true
	}
	var used map[types.NamespacedName]bool
	if slices.ContainsFunc(p.PersistentVolumeClaims, isProtected) {
		used = p.usedClaims()
	}
	var kept []*v1.PersistentVolumeClaim
	for _, claim := range p.PersistentVolumeClaims {
		ownerless := hasOwner(claim) && !slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return present[r.UID] })
		if ownerless || isProtected(claim) && !used[cluster.NameOf(claim)] {
			p.deleted = append(p.deleted, claim)
			continue
		}
		kept = append(kept, claim)
	}
	return kept
}

// usedClaims returns the claims of the pods that have a node.
func (p *pass) usedClaims() map[types.NamespacedName]bool {
	used := map[types.NamespacedName]bool{}
	for _, pod := range p.Pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		for _, name := range cluster.ClaimNames(pod) {
			used[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = true
		}
	}
	return used
}

// mayGo reports whether a claim goes with its owners or its pods.
func mayGo(claim *v1.PersistentVolumeClaim) bool { return hasOwner(claim) || isProtected(claim) }

func hasOwner(claim *v1.PersistentVolumeClaim) bool { return len(claim.OwnerReferences) > 0 }

// isProtected reports whether a claim is being deleted and only the pods that have it keep it.
func isProtected(claim *v1.PersistentVolumeClaim) bool {
	return claim.DeletionTimestamp != nil && slices.Equal(claim.Finalizers, []string{cluster.ClaimProtection})
}

// reclaimVolume updates the volume's phase and returns the volume; nil if the volume is deleted after its claim. It is upstream's syncVolume.
func (p *pass) reclaimVolume(pv *v1.PersistentVolume, claims map[types.NamespacedName]*v1.PersistentVolumeClaim) *v1.PersistentVolume {
	phase := v1.VolumeAvailable
	if ref := pv.Spec.ClaimRef; ref != nil && ref.UID != "" {
		claim := claims[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
		switch {
		case claim != nil && claim.UID == ref.UID:
			phase = v1.VolumeBound
		case pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete:
			p.deleted = append(p.deleted, pv)
			p.capacities.Delete(pv)
			return nil
		default:
			phase = v1.VolumeReleased
		}
	}
	if pv.Status.Phase == phase {
		return pv
	}
	updated := *pv
	updated.Status.Phase = phase
	p.putObject(&updated)
	return &updated
}

// bindClaim is upstream's syncUnboundClaim.
func (p *pass) bindClaim(claim *v1.PersistentVolumeClaim, free freeVolumes) error {
	key := cluster.NameOf(claim)
	if claim.Spec.VolumeName != "" { // the user asks for this volume
		if pv := free.byName[claim.Spec.VolumeName]; pv != nil && (pv.Spec.ClaimRef == nil && satisfiesClaim(pv, claim) || volume.IsVolumeBoundToClaim(pv, claim)) {
			return p.bindVolumeToClaim(pv, claim, free)
		}
		return nil
	}
	className := volume.GetPersistentVolumeClaimClass(claim)
	class := p.findStorageClass(className)
	delayed := class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	pv, err := free.findMatch(claim, key, delayed)
	switch {
	case err != nil:
		return err
	case pv != nil:
		return p.bindVolumeToClaim(pv, claim, free)
	}
	if !volume.PersistentVolumeClaimHasClass(claim) {
		if def := admission.DefaultClass(p.StorageClasses); def != nil { // a class that became the default after the claim was created
			assigned := *claim
			assigned.Spec.StorageClassName = &def.Name
			p.putObject(&assigned)
		}
		return nil
	}
	node := p.Node(claim.Annotations[volume.AnnSelectedNode])
	if class == nil || class.Provisioner == volume.NotSupportedProvisioner || delayed && node == nil {
		return nil
	}
	provisioned, bound := p.capacities.Provision(claim, class, node)
	provisioned.CreationTimestamp = p.Now
	provisioned.UID = p.newUID("PersistentVolume", "", provisioned.Name)
	p.putObject(provisioned)
	p.putObject(bound)
	return nil
}

// satisfiesClaim reports whether a free volume may have the claim that names it; upstream's checkVolumeSatisfyClaim.
func satisfiesClaim(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) bool {
	return pv.DeletionTimestamp == nil && pv.Spec.Capacity.Storage().Cmp(*claim.Spec.Resources.Requests.Storage()) >= 0 &&
		volume.GetPersistentVolumeClass(pv) == volume.GetPersistentVolumeClaimClass(claim) &&
		ptr.Deref(pv.Spec.VolumeAttributesClassName, "") == ptr.Deref(claim.Spec.VolumeAttributesClassName, "") &&
		!volume.CheckVolumeModeMismatches(&claim.Spec, &pv.Spec) && volume.CheckAccessModes(claim, pv)
}

// findStorageClass returns the StorageClass of that name; nil if there is none.
func (p *pass) findStorageClass(name string) *storagev1.StorageClass {
	for _, class := range p.StorageClasses {
		if class.Name == name && name != "" {
			return class
		}
	}
	return nil
}

// bindVolumeToClaim binds the volume and the claim to each other, and removes the volume from the free ones.
func (p *pass) bindVolumeToClaim(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim, free freeVolumes) error {
	bound, _, err := volume.GetBindVolumeToClaim(pv, claim)
	if err != nil {
		return err
	}
	bound.Status.Phase = v1.VolumeBound
	free.takeVolume(pv)
	p.putObject(bound)
	p.putObject(boundClaim(claim, bound))
	return nil
}

// BindVolume returns the volume and the claim bound to each other, for a volume that the scheduler has reserved for the claim. The volume
// controller does so when it sees the reservation.
func BindVolume(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, *v1.PersistentVolumeClaim) {
	bound := pv.DeepCopy()
	bound.Status.Phase = v1.VolumeBound
	return bound, boundClaim(claim, bound)
}

// boundClaim returns the claim bound to the volume; upstream's bindClaimToVolume and updateClaimStatus.
func boundClaim(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) *v1.PersistentVolumeClaim {
	bound := *claim
	bound.Annotations = maps.Clone(claim.Annotations)
	if bound.Spec.VolumeName == "" {
		metav1.SetMetaDataAnnotation(&bound.ObjectMeta, volume.AnnBoundByController, "yes")
	}
	metav1.SetMetaDataAnnotation(&bound.ObjectMeta, volume.AnnBindCompleted, "yes")
	bound.Spec.VolumeName = pv.Name
	bound.Status.Phase = v1.ClaimBound
	bound.Status.AccessModes = pv.Spec.AccessModes
	bound.Status.Capacity = pv.Spec.Capacity
	return &bound
}

// freeVolumes are the volumes that claims may take: upstream's persistentVolumeOrderedIndex in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/persistentvolume/index.go.
type freeVolumes struct {
	byModes  map[string][]*v1.PersistentVolume
	reserved map[types.NamespacedName][]*v1.PersistentVolume
	byName   map[string]*v1.PersistentVolume
}

func (f freeVolumes) addVolume(pv *v1.PersistentVolume) {
	f.byName[pv.Name] = pv
	if ref := pv.Spec.ClaimRef; ref != nil {
		of := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
		f.reserved[of] = append(f.reserved[of], pv)
		return
	}
	modes := v1helper.GetAccessModesAsString(pv.Spec.AccessModes)
	f.byModes[modes] = append(f.byModes[modes], pv)
}

func (f freeVolumes) takeVolume(pv *v1.PersistentVolume) {
	modes := v1helper.GetAccessModesAsString(pv.Spec.AccessModes)
	f.byModes[modes] = slices.DeleteFunc(f.byModes[modes], func(other *v1.PersistentVolume) bool { return other.Name == pv.Name })
	delete(f.byName, pv.Name)
}

// findMatch returns a volume that is reserved for the claim, and not for an earlier claim of the same name. Otherwise, unless binding is delayed, it returns
// the smallest volume that fits, of the fewest access modes; nil if there is none.
func (f freeVolumes) findMatch(claim *v1.PersistentVolumeClaim, key types.NamespacedName, delayed bool) (*v1.PersistentVolume, error) {
	pv, err := volume.FindMatchingVolume(claim, f.reserved[key], nil, nil, delayed, true)
	if pv != nil || err != nil || delayed {
		return pv, err
	}
	groups := slices.SortedFunc(maps.Keys(f.byModes), func(a, b string) int {
		if n := strings.Count(a, ",") - strings.Count(b, ","); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	for _, modes := range groups {
		offered := v1helper.GetAccessModesFromString(modes)
		if slices.ContainsFunc(claim.Spec.AccessModes, func(m v1.PersistentVolumeAccessMode) bool { return !slices.Contains(offered, m) }) {
			continue
		}
		if pv, err := volume.FindMatchingVolume(claim, f.byModes[modes], nil, nil, false, true); pv != nil || err != nil {
			return pv, err
		}
	}
	return nil, nil
}
