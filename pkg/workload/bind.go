package workload

import (
	v1 "k8s.io/api/core/v1"
)

// BindVolume returns a volume and a claim once they are bound to each other, for a volume that the scheduler has reserved for
// the claim: what the volume controller does when it sees the reservation.
func BindVolume(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, *v1.PersistentVolumeClaim) {
	bound := pv.DeepCopy()
	bound.Status.Phase = v1.VolumeBound
	return bound, boundClaim(claim, bound)
}
