package loader

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// kindStorage gives the scenario, whose nodes are those of a kind cluster, kind's default StorageClass if something in it claims storage.
func (l *loader) kindStorage(s *scenario.Scenario) {
	s.Cluster = slices.Concat(s.Cluster, l.kindClass(s.Objects()))
}

// kindClass is kind's default StorageClass if something among the objects claims storage; nil if nothing does. Objects that have a default
// class, or one of that name, are about another cluster than kind makes.
func (l *loader) kindClass(objects []cluster.Object) []cluster.Object {
	class := topology.KindStorageClass()
	given := func(obj cluster.Object) bool {
		other, is := obj.(*storagev1.StorageClass)
		return is && (other.Name == class.Name || storageutil.IsDefaultAnnotation(other.ObjectMeta))
	}
	if !slices.ContainsFunc(objects, claimsStorage) || slices.ContainsFunc(objects, given) {
		return nil
	}
	l.notes = append(l.notes, fmt.Sprintf("assumed, as kind installs it: the default StorageClass %s of %s; give a default StorageClass to have another.",
		class.Name, class.Provisioner))
	return []cluster.Object{class}
}

// claimsStorage reports whether the object is a claim, or makes some.
func claimsStorage(obj cluster.Object) bool { return len(claimsOf(obj)) > 0 }

// claimsOf returns the claim that the object is, or the templates of the claims that it makes.
func claimsOf(obj cluster.Object) (claims []*v1.PersistentVolumeClaim) {
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		return []*v1.PersistentVolumeClaim{o}
	case *appsv1.StatefulSet:
		for i := range o.Spec.VolumeClaimTemplates {
			claims = append(claims, &o.Spec.VolumeClaimTemplates[i])
		}
	}
	if spec, _ := cluster.PodSpec(obj); spec != nil {
		for _, volume := range spec.Volumes {
			if volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil {
				template := volume.Ephemeral.VolumeClaimTemplate
				claims = append(claims, &v1.PersistentVolumeClaim{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
			}
		}
	}
	return claims
}
