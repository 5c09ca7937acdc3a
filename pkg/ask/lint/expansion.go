package lint

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
)

// zonalProvisioners has the provisioners whose volumes belong to one zone.
var zonalProvisioners = []string{
	"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com", "kubernetes.io/azure-disk",
	"cinder.csi.openstack.org", "kubernetes.io/cinder",
}

// zonalVolumes finds pods that spread over zones, but whose volumes are created in some zone before the pods are scheduled.
func zonalVolumes(_ *inspection, s *subject) []Finding {
	set, ok := s.object.(*appsv1.StatefulSet)
	if !ok || !slices.ContainsFunc(s.terms(), func(t term) bool { return t.keepsApartOverZones() }) {
		return nil
	}
	var found []Finding
	for i, claim := range set.Spec.VolumeClaimTemplates {
		for _, class := range s.step.State.StorageClasses {
			if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != class.Name || !slices.Contains(zonalProvisioners, class.Provisioner) ||
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

// claimWithoutClass finds pods that stay Pending because nothing creates their volumes. For example, bitnami's charts leave the class to
// the cluster's default, and a scenario has no default unless it defines one.
func claimWithoutClass(_ *inspection, s *subject) []Finding {
	claims := map[string]*v1.PersistentVolumeClaim{}
	for _, claim := range s.step.State.PersistentVolumeClaims {
		if claim.Namespace == s.owner.Namespace {
			claims[claim.Name] = claim
		}
	}
	var found []Finding
	said := map[string]bool{}
	for _, pod := range s.pods() {
		for _, volume := range pod.Spec.Volumes {
			if pod.Spec.NodeName != "" || said[volume.Name] || volume.PersistentVolumeClaim == nil {
				continue
			}
			claim := claims[volume.PersistentVolumeClaim.ClaimName]
			if claim == nil || claim.Spec.VolumeName != "" || s.hasClass(claim) {
				continue
			}
			said[volume.Name] = true
			similar, wants := "", "names no StorageClass, and the scenario has no default one"
			if claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName != "" {
				wants = fmt.Sprintf("names StorageClass %s, which the scenario does not have", *claim.Spec.StorageClassName)
				names := list.Map(s.step.State.StorageClasses, func(class *storagev1.StorageClass) string { return class.Name })
				similar = manifest.DidYouMean(*claim.Spec.StorageClassName, names)
			}
			found = append(found, Finding{Field: s.claimField(volume.Name),
				Message: fmt.Sprintf("claim %s %s, nor a PersistentVolume for it, so that the pods of %s stay Pending%s", claim.Name, wants, s.owner, similar),
				Fix:     "add the StorageClasses that the cluster has, such as standard of kind, which is annotated storageclass.kubernetes.io/is-default-class: \"true\""})
		}
	}
	return found
}

// hasClass reports whether the StorageClass that the claim names exists. Admission gives a claim without a class the default class.
func (s *subject) hasClass(claim *v1.PersistentVolumeClaim) bool {
	return claim.Spec.StorageClassName != nil && slices.ContainsFunc(s.step.State.StorageClasses, func(class *storagev1.StorageClass) bool {
		return class.Name == *claim.Spec.StorageClassName
	})
}

// claimField returns the path of the claim template with that name, or of the volume in the pod's spec.
func (s *subject) claimField(volume string) string {
	if set, ok := s.object.(*appsv1.StatefulSet); ok {
		for i := range set.Spec.VolumeClaimTemplates {
			if set.Spec.VolumeClaimTemplates[i].Name == volume {
				return fmt.Sprintf("spec.volumeClaimTemplates[%d].spec.storageClassName", i)
			}
		}
	}
	return s.field("volumes")
}

// defaultReplaced finds pods that lost their default anti-affinity because another affinity, which has no anti-affinity, replaced all of
// it.
func defaultReplaced(_ *inspection, s *subject) []Finding {
	if s.replicas < 2 {
		return nil
	}
	for _, origin := range operator.OriginsOf(s.object) {
		level, found := strings.CutPrefix(origin.Level, operator.DroppedPrefix)
		if !found || slices.ContainsFunc(s.terms(), func(t term) bool { return t.keepsOwnPodsApart() }) {
			continue
		}
		return []Finding{{Field: s.field(origin.Field),
			Message: fmt.Sprintf("the affinity of the %s takes the place of the whole default, so that nothing keeps the %d replicas apart", level, s.replicas),
			Fix:     "write podAntiAffinity into that affinity, too, by the labels of the workload's own pods"}}
	}
	return nil
}

// globalOverride finds Keycloak without the required anti-affinity of its operator, because a setting for all services ('*') replaced it.
func globalOverride(_ *inspection, s *subject) []Finding {
	if s.replicas < 2 || !strings.Contains(s.owner.Name, "keycloak") || s.object.GetAnnotations()[operator.OwnerAnnotation] == "" {
		return nil
	}
	for _, origin := range operator.OriginsOf(s.object) {
		everyone := strings.Contains(origin.Level, "*") && origin.Field == "affinity.podAntiAffinity"
		if everyone && !slices.ContainsFunc(s.terms(), func(t term) bool { return t.Hard && t.keepsOwnPodsApart() }) {
			return []Finding{{Field: s.field(origin.Field),
				Message: fmt.Sprintf("the setting for all services (%s) takes the place of the required anti-affinity that %s has by default, so that its %d replicas may share a node", origin.Level, s.owner, s.replicas),
				Fix:     "give the service an affinity of its own besides '*', with podAntiAffinity required over kubernetes.io/hostname"}}
		}
	}
	return nil
}
