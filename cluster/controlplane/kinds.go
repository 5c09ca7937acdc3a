package controlplane

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// examples has an object of each kind that a world and an API server both hold, in the order in which a cluster gets them: what others need comes
// first. Service accounts and events are not among them: the API server has those alone.
var examples = []cluster.Object{
	&v1.Namespace{}, &schedulingv1.PriorityClass{}, &nodev1.RuntimeClass{}, &storagev1.StorageClass{}, &storagev1.CSIDriver{},
	&resourcev1.DeviceClass{}, &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{},
	&admissionv1.MutatingAdmissionPolicy{}, &admissionv1.MutatingAdmissionPolicyBinding{},
	&v1.Node{}, &storagev1.CSINode{}, &storagev1.CSIStorageCapacity{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceTaintRule{},
	&v1.LimitRange{}, &v1.ResourceQuota{}, &v1.Service{}, &policyv1.PodDisruptionBudget{},
	&v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &resourcev1.ResourceClaimTemplate{}, &resourcev1.ResourceClaim{},
	&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &appsv1.ControllerRevision{}, &v1.ReplicationController{},
	&appsv1.ReplicaSet{}, &batchv1.CronJob{}, &batchv1.Job{}, &autoscalingv2.HorizontalPodAutoscaler{}, &v1.Pod{},
}

// kind is a kind of objects that a world and an API server both hold.
type kind struct {
	prefix  string // the beginning of the objects' keys: /registry/pods/
	order   int    // the place among the examples
	encoder runtime.Encoder
	decoder runtime.Decoder
}

// kinds are the kinds by their names.
type kinds map[string]*kind

// Storage is how an API server stores resources.
type Storage struct {
	*serverstorage.DefaultStorageFactory
	// Enabled reports whether the server has a resource.
	Enabled func(schema.GroupVersionResource) bool
}

// locate returns the beginning of the keys of a resource's objects, such as /registry/pods/, and how they are encoded.
func (s Storage) locate(resource schema.GroupResource) (prefix string, encoder runtime.Encoder, err error) {
	config, err := s.NewConfig(resource, nil)
	if err != nil {
		return "", nil, err
	}
	return "/" + strings.Trim(config.Prefix, "/") + "/" + s.ResourcePrefix(resource) + "/", config.Codec, nil
}

// newKinds returns the kinds of the examples that the server has.
func newKinds(storage Storage) (kinds, error) {
	all := kinds{}
	for i, example := range examples {
		name := cluster.KindOf(example)
		found, _, err := legacyscheme.Scheme.ObjectKinds(example)
		if err != nil {
			return nil, err
		}
		resource, _ := meta.UnsafeGuessKindToResource(found[0])
		if !storage.Enabled(resource) {
			continue
		}
		prefix, encoder, err := storage.locate(resource.GroupResource())
		if err != nil {
			return nil, err
		}
		all[name] = &kind{prefix: prefix, order: i, encoder: encoder, decoder: legacyscheme.Codecs.UniversalDecoder(found[0].GroupVersion())}
	}
	return all, nil
}

// find returns the kind of the objects whose keys are like this one, or nil.
func (all kinds) find(key string) *kind {
	for _, kind := range all {
		if strings.HasPrefix(key, kind.prefix) {
			return kind
		}
	}
	return nil
}

// key returns the key of the object.
func (k *kind) key(obj cluster.Object) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return k.prefix + namespace + "/" + obj.GetName()
	}
	return k.prefix + obj.GetName()
}

// encode returns the object as the API server stores it. The object is not changed.
func (k *kind) encode(obj cluster.Object) ([]byte, error) {
	data, err := runtime.Encode(k.encoder, obj)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cluster.RefTo(obj).Describe(), err)
	}
	return data, nil
}

// decode returns the object that the API server has stored.
func (k *kind) decode(data []byte) (cluster.Object, error) {
	decoded, err := runtime.Decode(k.decoder, data)
	if err != nil {
		return nil, err
	}
	decoded.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return decoded.(cluster.Object), nil
}
