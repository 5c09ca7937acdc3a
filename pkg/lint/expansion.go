package lint

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/faultline/faultline/pkg/operator"
)

// zonal are the provisioners whose volumes are in one zone.
var zonal = []string{
	"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com", "kubernetes.io/azure-disk",
	"cinder.csi.openstack.org", "kubernetes.io/cinder",
}

// zonalVolumes finds pods that keep apart over zones, and whose volumes are made in some zone before the pods are scheduled.
func zonalVolumes(_ *look, s *subject) []Finding {
	set, ok := s.object.(*appsv1.StatefulSet)
	if !ok || !slices.ContainsFunc(s.terms(), func(t term) bool { return t.apartOverZones() }) {
		return nil
	}
	var found []Finding
	for i, claim := range set.Spec.VolumeClaimTemplates {
		for _, class := range s.step.State.StorageClasses {
			if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != class.Name || !slices.Contains(zonal, class.Provisioner) ||
				class.VolumeBindingMode != nil && *class.VolumeBindingMode != storagev1.VolumeBindingImmediate {
				continue
			}
			found = append(found, Finding{Field: fmt.Sprintf("spec.volumeClaimTemplates[%d].spec.storageClassName", i),
				Message: fmt.Sprintf("StorageClass %s makes volumes of %s at once, in any zone, and the pods can then run nowhere else, whatever their rule over zones says", class.Name, class.Provisioner),
				Fix:     fmt.Sprintf("set volumeBindingMode: %s in the StorageClass", storagev1.VolumeBindingWaitForFirstConsumer)})
		}
	}
	return found
}

// globalOverride finds Keycloak without the required anti-affinity that its operator gives it, since a setting for all services ('*')
// took the rule's place.
func globalOverride(_ *look, s *subject) []Finding {
	if s.replicas < 2 || !strings.Contains(s.owner.Name, "keycloak") || s.object.GetAnnotations()[operator.OwnerAnnotation] == "" {
		return nil
	}
	for _, origin := range operator.OriginsOf(s.object) {
		everyone := strings.Contains(origin.Level, "*") && origin.Field == "affinity.podAntiAffinity"
		if everyone && !slices.ContainsFunc(s.terms(), func(t term) bool { return t.Hard && t.apart() }) {
			return []Finding{{Field: s.field(origin.Field),
				Message: fmt.Sprintf("the setting for all services (%s) takes the place of the required anti-affinity that %s has by default, so that its %d replicas may share a node", origin.Level, s.owner, s.replicas),
				Fix:     "give the service an affinity of its own besides '*', with podAntiAffinity required over kubernetes.io/hostname"}}
		}
	}
	return nil
}
