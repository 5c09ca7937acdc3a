package main

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
)

// newClient returns the client of Karpenter's controllers, with the indices that Karpenter's operator sets up.
func newClient(admit func([]*unstructured.Unstructured) []kit.Problem) (*api.Client, error) {
	c := api.New(scheme.Scheme, admit)
	for _, index := range []struct {
		object client.Object
		field  string
		value  func(client.Object) string
	}{
		{&corev1.Pod{}, "spec.nodeName", func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }},
		{&corev1.Node{}, "spec.providerID", func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID }},
		{&storagev1.VolumeAttachment{}, "spec.nodeName", func(o client.Object) string { return o.(*storagev1.VolumeAttachment).Spec.NodeName }},
		{&v1.NodeClaim{}, "status.providerID", func(o client.Object) string { return o.(*v1.NodeClaim).Status.ProviderID }},
		{&v1.NodeClaim{}, "spec.nodeClassRef.group", func(o client.Object) string { return o.(*v1.NodeClaim).Spec.NodeClassRef.Group }},
		{&v1.NodeClaim{}, "spec.nodeClassRef.kind", func(o client.Object) string { return o.(*v1.NodeClaim).Spec.NodeClassRef.Kind }},
		{&v1.NodeClaim{}, "spec.nodeClassRef.name", func(o client.Object) string { return o.(*v1.NodeClaim).Spec.NodeClassRef.Name }},
		{&v1.NodePool{}, "spec.template.spec.nodeClassRef.group", func(o client.Object) string { return o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Group }},
		{&v1.NodePool{}, "spec.template.spec.nodeClassRef.kind", func(o client.Object) string { return o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Kind }},
		{&v1.NodePool{}, "spec.template.spec.nodeClassRef.name", func(o client.Object) string { return o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Name }},
	} {
		if err := c.IndexField(context.Background(), index.object, index.field, func(o client.Object) []string { return []string{index.value(o)} }); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// fingerprints are the hashes of objects, of what decisions can depend on.
type fingerprints map[*api.Known]uint64

// of returns a number that is equal as long as nothing has changed that a decision can depend on.
func (f *fingerprints) of(c *api.Client) uint64 {
	var sum uint64
	now := fingerprints{}
	for ref, k := range c.All() {
		hash, known := (*f)[k]
		if !known {
			hash = fingerprint(ref, k)
		}
		now[k] = hash
		sum += hash
	}
	*f = now
	return sum
}

func fingerprint(ref kit.Ref, k *api.Known) uint64 {
	hash := fnv.New64a()
	write := json.NewEncoder(hash)
	if pod, ok := k.Object.(*corev1.Pod); ok {
		// The messages of the scheduler change without a reason for Karpenter to think again.
		unschedulable := false
		for _, condition := range pod.Status.Conditions {
			unschedulable = unschedulable || condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable
		}
		_ = write.Encode([]any{ref, pod.UID, pod.Labels, pod.Annotations, pod.DeletionTimestamp, pod.Spec.NodeName, pod.Status.Phase, pod.Status.NominatedNodeName, unschedulable})
		return hash.Sum64()
	}
	object := maps.Clone(k.Raw.Object)
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
