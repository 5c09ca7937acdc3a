package loader

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// A made-up cluster has made-up storage: manifests leave StorageClasses to the cluster.

const (
	// assumedProvisioner is the provisioner of assumed classes, and assumedDefault the name of the default one among them.
	assumedProvisioner = "assumed.faultline.dev" // a valid name of a CSI driver
	assumedDefault     = "standard"
)

// addAssumedClasses adds the StorageClasses that the scenario's objects name and lack, if its nodes are made up or the storage mode asks for
// classes.
func (l *loader) addAssumedClasses(s *scenario.Scenario, madeUp bool) {
	s.Cluster = slices.Concat(s.Cluster, l.makeAssumedClasses(s.Objects(), madeUp))
}

// makeAssumedClasses returns a class for each name of a class that claims among the objects use, and a default class for claims without one. It
// returns none if the objects have a StorageClass, since then they list all classes. If a PersistentVolume names a class, nobody provisions
// volumes of this class, so the class is not made. If a PersistentVolume has no class, claims without a class are for such volumes.
func (l *loader) makeAssumedClasses(objects []cluster.Object, madeUp bool) []cluster.Object {
	if l.storageMode == scenario.StorageNone || l.storageMode == "" && !madeUp {
		return nil
	}
	there := map[string]bool{}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *storagev1.StorageClass:
			if o.Provisioner != assumedProvisioner {
				return nil
			}
			there[o.Name] = true
		case *v1.PersistentVolume:
			there[volume.GetPersistentVolumeClass(o)] = true
		}
	}
	var classes []cluster.Object
	var names []string
	assume := func(name string, ofAll bool) {
		class := &storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Annotations: map[string]string{controller.VolumeTopologyAnnotation: "none"}},
			Provisioner: assumedProvisioner, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
			ReclaimPolicy: ptr.To(v1.PersistentVolumeReclaimDelete),
		}
		if ofAll {
			class.Annotations[storageutil.IsDefaultStorageClassAnnotation] = "true"
			name += " (the default)"
		}
		classes, names = append(classes, class), append(names, name)
	}
	for _, obj := range objects {
		for _, claim := range listClaims(obj) {
			has, name := volume.PersistentVolumeClaimHasClass(claim), volume.GetPersistentVolumeClaimClass(claim)
			named := cmp.Or(name, assumedDefault)
			if claim.Spec.VolumeName != "" || has && name == "" || !has && there[""] || there[named] {
				continue // the claim names a volume, or wants one without a class, or its class is there
			}
			there[named] = true
			assume(named, named == assumedDefault && !there[""])
		}
	}
	if len(classes) > 0 {
		l.notes = append(l.notes, fmt.Sprintf("assumed, since no StorageClass is given: the %s %s, whose volumes all nodes reach; give StorageClasses, or --storage none.",
			words.Pick(len(names), "class", "classes"), words.And(names)))
	}
	return classes
}

// addKindClass adds kind's default StorageClass to a scenario of a kind cluster, if an object claims storage.
func (l *loader) addKindClass(s *scenario.Scenario) {
	s.Cluster = slices.Concat(s.Cluster, l.makeKindClass(s.Objects()))
}

// makeKindClass returns kind's default StorageClass if an object claims storage, and nil otherwise. It also returns nil if the objects have a
// default class, or a class with that name: then they describe another cluster than kind makes.
func (l *loader) makeKindClass(objects []cluster.Object) []cluster.Object {
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

// claimsStorage reports whether the object is a claim, or makes claims.
func claimsStorage(obj cluster.Object) bool { return len(listClaims(obj)) > 0 }

// listClaims returns the object itself if it is a claim, and the templates of the claims that it makes otherwise.
func listClaims(obj cluster.Object) (claims []*v1.PersistentVolumeClaim) {
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
