package api

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline/faultline/deciders/kit"
)

// Get implements client.Reader.
func (a *Client) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	gvk, err := a.GroupVersionKindFor(into)
	if err != nil {
		return err
	}
	apiVersion, kindName := gvk.ToAPIVersionAndKind()
	switch into := into.(type) {
	case runtime.Unstructured:
		raw := a.cluster.Object(kit.Ref{APIVersion: apiVersion, Kind: kindName, Namespace: key.Namespace, Name: key.Name})
		if raw == nil {
			return apierrors.NewNotFound(resourceOf(gvk), key.Name)
		}
		into.SetUnstructuredContent(raw.DeepCopy().Object)
		return nil
	case *metav1.PartialObjectMetadata:
		raw := a.cluster.Object(kit.Ref{APIVersion: apiVersion, Kind: kindName, Namespace: key.Namespace, Name: key.Name})
		if raw == nil {
			return apierrors.NewNotFound(resourceOf(gvk), key.Name)
		}
		return runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, into)
	}
	object := a.kind(gvk.GroupKind()).byName[key]
	if object == nil {
		return apierrors.NewNotFound(resourceOf(gvk), key.Name)
	}
	set(into, object)
	return nil
}

// set sets the object to a copy of the other.
func set(into, from client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// List implements client.Reader.
func (a *Client) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	options := (&client.ListOptions{}).ApplyOptions(opts)
	gvk, err := a.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	kindName := strings.TrimSuffix(gvk.Kind, "List")
	of := a.kind(schema.GroupKind{Group: gvk.Group, Kind: kindName})
	from := of.objects
	if options.FieldSelector != nil {
		for i, asked := range options.FieldSelector.Requirements() {
			values := a.indexes[kindName+" "+asked.Field]
			if values == nil {
				return fmt.Errorf("listing %s by %s, which has no index", kindName, asked.Field)
			}
			if i == 0 {
				from = of.by(asked.Field, values)[asked.Value]
				continue
			}
			var both []client.Object
			for _, object := range from {
				if slices.Contains(values(object), asked.Value) {
					both = append(both, object)
				}
			}
			from = both
		}
	}
	shared := options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy
	listed := make([]runtime.Object, 0, len(from))
	for _, object := range from {
		if options.Namespace != "" && object.GetNamespace() != options.Namespace {
			continue
		}
		if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if shared {
			listed = append(listed, object)
		} else {
			listed = append(listed, object.DeepCopyObject())
		}
	}
	return meta.SetList(list, listed)
}

// Scheme implements client.Client.
func (a *Client) Scheme() *runtime.Scheme { return a.scheme }

// GroupVersionKindFor implements client.Client.
func (a *Client) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	if partial, is := object.(*metav1.PartialObjectMetadata); is {
		return partial.GroupVersionKind(), nil
	}
	kinds, _, err := a.scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.GroupResource()
}
