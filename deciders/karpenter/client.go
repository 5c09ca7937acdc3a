package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline/faultline/deciders/kit"
)

// api is the client that Karpenter's controllers have: it reads the objects that the decider knows, and writes by calls to simulate. What is
// written is read at once, as if no informer were ever late.
type api struct {
	client.Client // nil: a method that Karpenter does not call panics

	mu      sync.Mutex
	cluster *kit.Cluster
	kinds   map[schema.GroupKind]*kind
	known   map[kit.Ref]*known
	// admit sets the defaults of Karpenter's own kinds, and says what their definitions refuse.
	admit func([]*unstructured.Unstructured) []kit.Problem
	// names makes the names of objects that are created with generateName.
	names func(prefix string, content []byte) string
	// observe is called after an object was written; gone: it does not exist any more.
	observe func(ctx context.Context, object client.Object, gone bool)
	// writes counts the calls that changed something.
	writes int
	// others are the objects whose kinds Karpenter has no types for.
	others []kit.Ref
	// broken is the error after which simulate cannot be called any more.
	broken error
}

// Get implements client.Reader.
func (a *api) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	gvk, err := a.GroupVersionKindFor(into)
	if err != nil {
		return err
	}
	if class, ok := into.(runtime.Unstructured); ok {
		apiVersion, kindName := gvk.ToAPIVersionAndKind()
		raw := a.cluster.Object(kit.Ref{APIVersion: apiVersion, Kind: kindName, Name: key.Name})
		if raw == nil {
			return apierrors.NewNotFound(resourceOf(gvk), key.Name)
		}
		class.SetUnstructuredContent(raw.DeepCopy().Object)
		return nil
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
func (a *api) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
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
			value := fields[kindName+" "+asked.Field]
			if value == nil {
				return fmt.Errorf("listing %s by %s, which has no index", kindName, asked.Field)
			}
			if i == 0 {
				from = of.by(asked.Field, value)[asked.Value]
				continue
			}
			var both []client.Object
			for _, object := range from {
				if value(object) == asked.Value {
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

// Create implements client.Writer.
func (a *api) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	gvk, err := a.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	described, err := json.Marshal(object) // runtime's converter takes a NillableDuration for bytes
	if err != nil {
		return err
	}
	content := map[string]any{}
	if err := json.Unmarshal(described, &content); err != nil {
		return err
	}
	raw := &unstructured.Unstructured{Object: content}
	raw.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if gvk.Kind == "NodeClaim" {
		unstructured.RemoveNestedField(content, "status")
	}
	if raw.GetName() == "" {
		a.mu.Lock()
		raw.SetName(a.names(raw.GetGenerateName(), described))
		a.mu.Unlock()
	}
	if problems := a.admit([]*unstructured.Unstructured{raw}); len(problems) > 0 {
		return apierrors.NewInvalid(gvk.GroupKind(), raw.GetName(), field.ErrorList{field.Invalid(field.NewPath(problems[0].Field), nil, problems[0].Message)})
	}
	return a.write(ctx, object, raw, func() (*unstructured.Unstructured, error) { return a.cluster.Create(raw, why(ctx)) })
}

// find returns the object of the same kind and name, with what names it. The error says that the cluster does not have it.
func (a *api) find(object client.Object) (kit.Ref, *known, error) {
	gvk, err := a.GroupVersionKindFor(object)
	if err != nil {
		return kit.Ref{}, nil, err
	}
	ref := refTo(gvk, object)
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.known[ref]
	if k == nil {
		return ref, nil, apierrors.NewNotFound(resourceOf(gvk), object.GetName())
	}
	return ref, k, nil
}

// Delete implements client.Writer.
func (a *api) Delete(ctx context.Context, object client.Object, _ ...client.DeleteOption) error {
	ref, k, err := a.find(object)
	if err != nil {
		return err
	}
	if k.object.GetDeletionTimestamp() != nil {
		return nil
	}
	return a.write(ctx, nil, k.raw, func() (*unstructured.Unstructured, error) { return a.cluster.Delete(ref, why(ctx)) })
}

// Patch implements client.Writer.
func (a *api) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return a.patch(ctx, object, patch, "")
}

func (a *api) patch(ctx context.Context, object client.Object, patch client.Patch, subresource string) error {
	ref, k, err := a.find(object)
	if err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	if patch.Type() == types.StrategicMergePatchType {
		if data, err = merged(k.object, data); err != nil {
			return err
		}
	}
	merge := map[string]any{}
	if err := json.Unmarshal(data, &merge); err != nil {
		return err
	}
	// The API server takes the status by its own path alone. What Karpenter has read is never old, so that no version needs to be compared.
	if subresource == "status" {
		maps.DeleteFunc(merge, func(name string, _ any) bool { return name != "status" })
	} else {
		delete(merge, "status")
		if metadata, ok := merge["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
			if len(metadata) == 0 {
				delete(merge, "metadata")
			}
		}
	}
	if len(merge) == 0 {
		set(object, k.object)
		return nil
	}
	return a.write(ctx, object, k.raw, func() (*unstructured.Unstructured, error) { return a.cluster.Patch(ref, subresource, merge, why(ctx)) })
}

// merged is the JSON merge patch that does to the object what the strategic merge patch does.
func merged(object client.Object, strategic []byte) ([]byte, error) {
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, strategic, object)
	if err != nil {
		return nil, err
	}
	changed := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(after, changed); err != nil {
		return nil, err
	}
	return client.MergeFrom(object).Data(changed)
}

// write does the call, and keeps what the API server has stored. It sets the caller's object to it, unless that is nil.
func (a *api) write(ctx context.Context, into client.Object, raw *unstructured.Unstructured, call func() (*unstructured.Unstructured, error)) error {
	a.mu.Lock()
	ref := kit.RefTo(raw)
	before := a.known[ref]
	stored, err := call()
	if err != nil {
		err = a.refused(err)
		a.mu.Unlock()
		return err
	}
	a.writes++
	if stored == nil {
		a.forget(ref)
		a.mu.Unlock()
		if before != nil {
			a.observe(ctx, before.object, true)
		}
		return nil
	}
	object, err := typed(stored)
	if err == nil && object != nil {
		a.keep(kit.RefTo(stored), &known{raw: stored, object: object})
		if into != nil {
			set(into, object)
		}
	}
	a.mu.Unlock()
	if err == nil && object != nil {
		a.observe(ctx, object, false)
	}
	return err
}

// refused is the API server's refusal as client-go has it.
func (a *api) refused(err error) error {
	var refusal *kit.Refusal
	if !errors.As(err, &refusal) {
		a.broken = err
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(refusal.Code), Reason: metav1.StatusReason(refusal.Reason), Message: refusal.Message}}
}

// Status implements client.StatusClient.
func (a *api) Status() client.SubResourceWriter { return subresource{api: a, name: "status"} }

// SubResource implements client.SubResourceClientConstructor.
func (a *api) SubResource(name string) client.SubResourceClient {
	return subresource{api: a, name: name}
}

type subresource struct {
	client.SubResourceClient
	api  *api
	name string
}

// Patch implements client.SubResourceWriter.
func (s subresource) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.api.patch(ctx, object, patch, s.name)
}

// Create implements client.SubResourceWriter. Karpenter creates evictions alone.
func (s subresource) Create(ctx context.Context, pod, _ client.Object, _ ...client.SubResourceCreateOption) error {
	ref := refTo(corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	s.api.mu.Lock()
	k := s.api.known[ref]
	s.api.mu.Unlock()
	if k == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.GetName())
	}
	return s.api.write(ctx, nil, k.raw, func() (*unstructured.Unstructured, error) {
		err := s.api.cluster.Evict(ref, why(ctx))
		return s.api.cluster.Object(ref), err
	})
}

// Scheme implements client.Client.
func (a *api) Scheme() *runtime.Scheme { return scheme.Scheme }

// GroupVersionKindFor implements client.Client.
func (a *api) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

func refTo(gvk schema.GroupVersionKind, object client.Object) kit.Ref {
	apiVersion, kindName := gvk.ToAPIVersionAndKind()
	return kit.Ref{APIVersion: apiVersion, Kind: kindName, Namespace: object.GetNamespace(), Name: object.GetName()}
}

func groupKind(of kit.Ref) schema.GroupKind {
	return schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).GroupKind()
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.GroupResource()
}

type whyKey struct{}

// withWhy says in the calls of the context why they are made.
func withWhy(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, whyKey{}, why)
}

func why(ctx context.Context) string {
	said, _ := ctx.Value(whyKey{}).(string)
	return said
}
