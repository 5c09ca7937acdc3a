package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/faultline/faultline/deciders/kit"
)

// known is an object as Karpenter's types have it.
type known struct {
	raw    *unstructured.Unstructured
	object client.Object
	hash   uint64 // of what decisions can depend on; 0: not computed yet
}

// kind has the objects of a kind in canonical order.
type kind struct {
	objects []client.Object
	byName  map[client.ObjectKey]client.Object
	byField map[string]map[string][]client.Object // made when it is first asked for
}

// fields are the indices that Karpenter's operator sets up.
var fields = map[string]func(client.Object) string{
	"Pod spec.nodeName":                              func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName },
	"Node spec.providerID":                           func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID },
	"VolumeAttachment spec.nodeName":                 func(o client.Object) string { return o.(*storagev1.VolumeAttachment).Spec.NodeName },
	"NodeClaim status.providerID":                    func(o client.Object) string { return o.(*v1.NodeClaim).Status.ProviderID },
	"NodeClaim spec.nodeClassRef.group":              func(o client.Object) string { return o.(*v1.NodeClaim).Spec.NodeClassRef.Group },
	"NodeClaim spec.nodeClassRef.kind":               func(o client.Object) string { return o.(*v1.NodeClaim).Spec.NodeClassRef.Kind },
	"NodeClaim spec.nodeClassRef.name":               func(o client.Object) string { return o.(*v1.NodeClaim).Spec.NodeClassRef.Name },
	"NodePool spec.template.spec.nodeClassRef.group": func(o client.Object) string { return o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Group },
	"NodePool spec.template.spec.nodeClassRef.kind":  func(o client.Object) string { return o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Kind },
	"NodePool spec.template.spec.nodeClassRef.name":  func(o client.Object) string { return o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Name },
}

// read reads what has changed in the cluster since the last time.
func (a *api) read(cluster *kit.Cluster) error {
	before := a.known
	a.cluster, a.known, a.kinds, a.writes, a.others = cluster, map[kit.Ref]*known{}, map[schema.GroupKind]*kind{}, 0, nil
	for _, raw := range cluster.Objects() {
		ref := kit.RefTo(raw)
		if k := before[ref]; k != nil && k.raw == raw {
			a.keep(ref, k)
			continue
		}
		object, err := typed(raw)
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", strings.ToLower(ref.Kind), ref.Name, err)
		}
		if object == nil {
			a.others = append(a.others, ref)
			continue
		}
		a.keep(ref, &known{raw: raw, object: object})
	}
	return nil
}

// typed returns the object as Karpenter's types have it; nil if its kind has none.
func typed(raw *unstructured.Unstructured) (client.Object, error) {
	object, err := scheme.Scheme.New(raw.GroupVersionKind())
	if err != nil {
		return nil, nil //nolint:nilerr // a kind that Karpenter does not know, such as another provider's node class
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, object); err != nil {
		return nil, err
	}
	if read := object.(client.Object); read.GetResourceVersion() == "" {
		read.SetResourceVersion("0") // which patches with an optimistic lock want to have
	}
	return object.(client.Object), nil
}

func (a *api) keep(ref kit.Ref, k *known) {
	a.known[ref] = k
	of := a.kind(groupKind(ref))
	key := client.ObjectKeyFromObject(k.object)
	if of.byName[key] == nil {
		of.objects = append(of.objects, k.object)
	} else {
		for i := range of.objects {
			if client.ObjectKeyFromObject(of.objects[i]) == key {
				of.objects[i] = k.object
			}
		}
	}
	of.byName[key], of.byField = k.object, nil
}

func (a *api) forget(ref kit.Ref) {
	delete(a.known, ref)
	of := a.kind(groupKind(ref))
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	rest := make([]client.Object, 0, len(of.objects))
	for _, object := range of.objects {
		if client.ObjectKeyFromObject(object) != key {
			rest = append(rest, object)
		}
	}
	delete(of.byName, key)
	of.objects, of.byField = rest, nil
}

func (a *api) kind(of schema.GroupKind) *kind {
	k := a.kinds[of]
	if k == nil {
		k = &kind{byName: map[client.ObjectKey]client.Object{}}
		a.kinds[of] = k
	}
	return k
}

// fingerprint is equal as long as nothing has changed that a decision can depend on.
func (a *api) fingerprint() uint64 {
	var sum uint64
	for ref, k := range a.known {
		if k.hash == 0 {
			k.hash = k.fingerprint(ref)
		}
		sum += k.hash
	}
	return sum
}

func (k *known) fingerprint(ref kit.Ref) uint64 {
	hash := fnv.New64a()
	write := json.NewEncoder(hash)
	if pod, ok := k.object.(*corev1.Pod); ok {
		// The messages of the scheduler change without a reason for Karpenter to think again.
		unschedulable := false
		for _, condition := range pod.Status.Conditions {
			unschedulable = unschedulable || condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable
		}
		_ = write.Encode([]any{ref, pod.UID, pod.Labels, pod.Annotations, pod.DeletionTimestamp, pod.Spec.NodeName, pod.Status.Phase, pod.Status.NominatedNodeName, unschedulable})
		return hash.Sum64()
	}
	object := maps.Clone(k.raw.Object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, name := range []string{"resourceVersion", "managedFields", "generation"} {
			delete(metadata, name)
		}
		object["metadata"] = metadata
	}
	_ = write.Encode(object)
	return hash.Sum64()
}

func (k *kind) by(field string, value func(client.Object) string) map[string][]client.Object {
	if k.byField == nil {
		k.byField = map[string]map[string][]client.Object{}
	}
	index := k.byField[field]
	if index == nil {
		index = map[string][]client.Object{}
		for _, object := range k.objects {
			index[value(object)] = append(index[value(object)], object)
		}
		k.byField[field] = index
	}
	return index
}
