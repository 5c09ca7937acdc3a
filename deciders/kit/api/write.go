package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline/faultline/deciders/kit"
)

// Create implements client.Writer.
func (a *Client) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	gvk, err := a.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	described, err := json.Marshal(object) // runtime's converter takes a type that marshals itself for its bytes
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
	if strings.Contains(gvk.Group, ".") { // the API server creates a custom resource without its status
		unstructured.RemoveNestedField(content, "status")
	}
	if raw.GetName() == "" {
		a.mu.Lock()
		raw.SetName(a.Name(raw.GetGenerateName(), described))
		a.mu.Unlock()
	}
	if problems := a.Admit([]*unstructured.Unstructured{raw}); len(problems) > 0 {
		return apierrors.NewInvalid(gvk.GroupKind(), raw.GetName(), field.ErrorList{field.Invalid(field.NewPath(problems[0].Field), nil, problems[0].Message)})
	}
	return a.write(ctx, object, raw, func() (*unstructured.Unstructured, error) { return a.cluster.Create(raw, why(ctx)) })
}

// find returns the object of the same kind and name, with what names it. The error says that the cluster does not have it.
func (a *Client) find(object client.Object) (kit.Ref, *Known, error) {
	gvk, err := a.GroupVersionKindFor(object)
	if err != nil {
		return kit.Ref{}, nil, err
	}
	ref := RefTo(gvk, object)
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.known[ref]
	if k == nil {
		return ref, nil, apierrors.NewNotFound(resourceOf(gvk), object.GetName())
	}
	return ref, k, nil
}

// Delete implements client.Writer.
func (a *Client) Delete(ctx context.Context, object client.Object, _ ...client.DeleteOption) error {
	ref, k, err := a.find(object)
	if err != nil {
		return err
	}
	if k.Object.GetDeletionTimestamp() != nil {
		return nil
	}
	return a.write(ctx, nil, k.Raw, func() (*unstructured.Unstructured, error) { return a.cluster.Delete(ref, why(ctx)) })
}

// Update implements client.Writer.
func (a *Client) Update(ctx context.Context, object client.Object, _ ...client.UpdateOption) error {
	return a.update(ctx, object, "")
}

// update writes the object as it is to be.
func (a *Client) update(ctx context.Context, object client.Object, subresource string) error {
	_, k, err := a.find(object)
	if err != nil {
		return err
	}
	return a.patch(ctx, object, client.MergeFrom(k.Object), subresource)
}

// Patch implements client.Writer.
func (a *Client) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return a.patch(ctx, object, patch, "")
}

func (a *Client) patch(ctx context.Context, object client.Object, patch client.Patch, subresource string) error {
	ref, k, err := a.find(object)
	if err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	if patch.Type() == types.StrategicMergePatchType {
		if data, err = merged(k.Object, data); err != nil {
			return err
		}
	}
	merge := map[string]any{}
	if err := json.Unmarshal(data, &merge); err != nil {
		return err
	}
	// The API server takes the status by its own path alone. What the program has read is never old, so that no version needs to be compared.
	if subresource == "status" {
		maps.DeleteFunc(merge, func(name string, _ any) bool { return name != "status" })
		if a.Now != nil {
			stampConditions(merge, k.Raw, a.Now())
		}
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
		set(object, k.Object)
		return nil
	}
	return a.write(ctx, object, k.Raw, func() (*unstructured.Unstructured, error) { return a.cluster.Patch(ref, subresource, merge, why(ctx)) })
}

// stampConditions sets the time of the conditions that the patch changes.
func stampConditions(merge map[string]any, before *unstructured.Unstructured, now time.Time) {
	conditions, _, _ := unstructured.NestedSlice(merge, "status", "conditions")
	if conditions == nil {
		return
	}
	times := map[any]any{}
	had, _, _ := unstructured.NestedSlice(before.Object, "status", "conditions")
	for _, condition := range had {
		if fields, is := condition.(map[string]any); is {
			times[fields["type"]] = fields["lastTransitionTime"]
		}
	}
	for _, condition := range conditions {
		if fields, is := condition.(map[string]any); is && fields["lastTransitionTime"] != times[fields["type"]] {
			fields["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
		}
	}
	merge["status"].(map[string]any)["conditions"] = conditions
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
func (a *Client) write(ctx context.Context, into client.Object, raw *unstructured.Unstructured, call func() (*unstructured.Unstructured, error)) error {
	a.mu.Lock()
	ref := kit.RefTo(raw)
	var was client.Object
	if k := a.known[ref]; k != nil {
		was = k.Object
	}
	stored, err := call()
	if err != nil {
		err = a.refused(err)
		a.mu.Unlock()
		return err
	}
	a.Writes++
	if stored == nil {
		a.forget(ref)
		a.mu.Unlock()
		if was != nil {
			a.Observe(ctx, was, nil)
		}
		return nil
	}
	object, err := a.typed(stored)
	if err == nil && object != nil {
		a.keep(kit.RefTo(stored), &Known{stored, object})
		if into != nil {
			set(into, object)
		}
	}
	a.mu.Unlock()
	if err == nil && object != nil {
		a.Observe(ctx, was, object)
	}
	return err
}

// refused is the API server's refusal as client-go has it.
func (a *Client) refused(err error) error {
	var refusal *kit.Refusal
	if !errors.As(err, &refusal) {
		a.Broken = err
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(refusal.Code), Reason: metav1.StatusReason(refusal.Reason), Message: refusal.Message}}
}

// Status implements client.StatusClient.
func (a *Client) Status() client.SubResourceWriter { return subresource{client: a, name: "status"} }

// SubResource implements client.SubResourceClientConstructor.
func (a *Client) SubResource(name string) client.SubResourceClient {
	return subresource{client: a, name: name}
}

type subresource struct {
	client.SubResourceClient
	client *Client
	name   string
}

// Patch implements client.SubResourceWriter.
func (s subresource) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.patch(ctx, object, patch, s.name)
}

// Update implements client.SubResourceWriter.
func (s subresource) Update(ctx context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.client.update(ctx, object, s.name)
}

// Create implements client.SubResourceWriter. Programs create evictions alone.
func (s subresource) Create(ctx context.Context, pod, _ client.Object, _ ...client.SubResourceCreateOption) error {
	ref, k, err := s.client.find(pod)
	if err != nil {
		return err
	}
	return s.client.write(ctx, nil, k.Raw, func() (*unstructured.Unstructured, error) {
		err := s.client.cluster.Evict(ref, why(ctx))
		return s.client.cluster.Object(ref), err
	})
}

// Apply implements client.SubResourceWriter. Programs apply conditions of pods alone.
func (s subresource) Apply(ctx context.Context, applied runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	data, err := json.Marshal(applied)
	if err != nil {
		return err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(data, pod); err != nil {
		return err
	}
	return s.client.patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, data), s.name)
}
