package cause

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// ReleasedVolumes returns the volumes of the claim's class that suit the claim but name another claim, which does not have them: it is gone, since a
// volume whose reclaim policy is Retain keeps its claimRef, and no claim gets it, not even a new one of the same name; or whoever made the volume
// named a claim of another name or namespace.
func ReleasedVolumes(state *cluster.State, claim *v1.PersistentVolumeClaim) []*v1.PersistentVolume {
	return list.Where(state.PersistentVolumes, func(pv *v1.PersistentVolume) bool {
		of := pv.Spec.ClaimRef
		if of == nil || storagehelpers.IsVolumeBoundToClaim(pv, claim) || storagehelpers.GetPersistentVolumeClass(pv) != storagehelpers.GetPersistentVolumeClaimClass(claim) || misfit(pv, claim) != "" {
			return false
		}
		return !slices.ContainsFunc(state.PersistentVolumeClaims, func(c *v1.PersistentVolumeClaim) bool {
			return c.Namespace == of.Namespace && c.Name == of.Name && (c.UID == of.UID && of.UID != "" || c.Spec.VolumeName == pv.Name && isBound(pv, c))
		})
	})
}

// IsAwaited reports whether a volume that no claim has yet is meant for a claim that exists.
func IsAwaited(state *cluster.State, pv *v1.PersistentVolume) bool {
	of := pv.Spec.ClaimRef
	return of.UID == "" && slices.ContainsFunc(state.PersistentVolumeClaims, func(c *v1.PersistentVolumeClaim) bool { return c.Namespace == of.Namespace && c.Name == of.Name })
}

// KeptFor says for which claim a volume is kept that is not for the given one: "old, which is gone", or "data of namespace prod, which does not exist".
func KeptFor(state *cluster.State, pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) string {
	of := pv.Spec.ClaimRef
	name := of.Name
	if of.Namespace != claim.Namespace {
		name += " of namespace " + of.Namespace
	}
	switch {
	case of.UID != "" && of.Namespace == claim.Namespace && of.Name == claim.Name:
		return name + ", an earlier one of this name, which is gone"
	case of.UID != "":
		return name + ", which is gone"
	case IsAwaited(state, pv):
		return name + ", which does not have it yet"
	}
	return name + ", which does not exist"
}

// VolumesOfOtherClasses returns the free volumes that suit the claim but for their class, if no free volume of its class does.
func VolumesOfOtherClasses(state *cluster.State, claim *v1.PersistentVolumeClaim) []*v1.PersistentVolume {
	suits := list.Where(state.PersistentVolumes, func(pv *v1.PersistentVolume) bool { return pv.Spec.ClaimRef == nil && misfit(pv, claim) == "" })
	others := list.Where(suits, func(pv *v1.PersistentVolume) bool {
		return storagehelpers.GetPersistentVolumeClass(pv) != storagehelpers.GetPersistentVolumeClaimClass(claim)
	})
	if len(others) < len(suits) {
		return nil
	}
	return others
}

// isBound reports whether the claim has the volume that it names, or will have it: a claim can name a volume that another claim has.
func isBound(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == v1.ClaimBound || storagehelpers.IsVolumeBoundToClaim(pv, claim)
}

// namedSentence says why a claim does not get the volume that it names: "claim data names volume pv-1, which is kept for claim data, an earlier one of this
// name, which is gone".
func namedSentence(state *cluster.State, pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) string {
	names := fmt.Sprintf("claim %s names volume %s, ", claim.Name, pv.Name)
	class := storagehelpers.GetPersistentVolumeClass(pv)
	switch of := pv.Spec.ClaimRef; {
	case of != nil && slices.ContainsFunc(ReleasedVolumes(state, claim), func(kept *v1.PersistentVolume) bool { return kept.Name == pv.Name }):
		return names + "which is kept for claim " + KeptFor(state, pv, claim)
	case of != nil:
		return names + fmt.Sprintf("which claim %s of namespace %s has", of.Name, of.Namespace)
	case class != storagehelpers.GetPersistentVolumeClaimClass(claim):
		return names + fmt.Sprintf("which is of class %q, and the claim is of class %q", class, storagehelpers.GetPersistentVolumeClaimClass(claim))
	}
	if why := misfit(pv, claim); why != "" {
		return names + "which " + why
	}
	return names + "and they are not bound yet"
}
