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
func (l *reader) kindStorage(s *scenario.Scenario) {
	if class := l.kindClass(s.Objects()); class != nil {
		s.Cluster = slices.Concat(s.Cluster, []cluster.Object{class})
	}
}

// kindClass is kind's default StorageClass if something among the objects claims storage; nil if nothing does. Objects that have a default
// class, or one of that name, are about another cluster than kind makes.
func (l *reader) kindClass(objects []cluster.Object) cluster.Object {
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
	return class
}

// claimsStorage reports whether the object is a claim, or makes some.
func claimsStorage(obj cluster.Object) bool {
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		return true
	case *appsv1.StatefulSet:
		if len(o.Spec.VolumeClaimTemplates) > 0 {
			return true
		}
	}
	spec, _ := cluster.PodSpec(obj)
	return spec != nil && slices.ContainsFunc(spec.Volumes, func(volume v1.Volume) bool { return volume.Ephemeral != nil })
}
