package admission

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"

	"github.com/faultline/faultline/pkg/cluster"
)

// AdmitClaim sets the default class in a new claim that names none, and checks the claim against the LimitRanges. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/storage/storageclass/setdefault/admission.go.
func AdmitClaim(s *cluster.State, claim *v1.PersistentVolumeClaim) error {
	if !volume.PersistentVolumeClaimHasClass(claim) {
		if class := DefaultClass(s.StorageClasses); class != nil {
			claim.Spec.StorageClassName = &class.Name
		}
	}
	if claim.Status.Phase == "" {
		claim.Status.Phase = v1.ClaimPending
	}
	return checkClaimLimits(s, claim)
}

// DefaultClass returns the newest default class, or nil if there is none. Among classes of the same age, the first by name wins. It copies
// GetDefaultClass in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/util/storageclass.go, because that package would
// import 22 others.
func DefaultClass(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	var defaults []*storagev1.StorageClass
	for _, class := range classes {
		if storageutil.IsDefaultAnnotation(class.ObjectMeta) {
			defaults = append(defaults, class)
		}
	}
	if len(defaults) == 0 {
		return nil
	}
	return slices.MinFunc(defaults, func(a, b *storagev1.StorageClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}
