package kit

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Cluster is the cluster that simulate has in memory, as the decider knows it. What its methods change is changed in simulate's cluster by its
// API server, which may refuse.
type Cluster struct {
	objects map[Ref]*unstructured.Unstructured
	pipe    *pipe
}

// change applies the changes since the last request.
func (c *Cluster) change(by *stateChange) {
	for _, ref := range by.Delete {
		delete(c.objects, ref)
	}
	for _, object := range by.Set {
		c.set(&unstructured.Unstructured{Object: object})
	}
}

func (c *Cluster) set(object *unstructured.Unstructured) { c.objects[RefTo(object)] = object }

// Objects returns the objects in canonical order: by kind, creation, namespace and name. Nobody may change them.
func (c *Cluster) Objects() []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(c.objects))
	for _, object := range c.objects {
		all = append(all, object)
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		created, other := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()), created.Compare(other.Time),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// Object returns the object; nil if the cluster does not have it.
func (c *Cluster) Object(ref Ref) *unstructured.Unstructured { return c.objects[ref] }

// Create creates the object, and returns it as the API server has stored it. The error is a [*Refusal] if the API server refuses.
func (c *Cluster) Create(object *unstructured.Unstructured, why string) (*unstructured.Unstructured, error) {
	return c.call(answer{Create: object.Object, Explain: why})
}

// Patch applies a JSON merge patch, of the subresource unless it is empty. It returns nil if the patch has removed the last finalizer of an
// object that was deleted.
func (c *Cluster) Patch(ref Ref, subresource string, merge map[string]any, why string) (*unstructured.Unstructured, error) {
	stored, err := c.call(answer{Patch: &patch{ref, subresource, merge}, Explain: why})
	if err == nil && stored == nil {
		delete(c.objects, ref)
	}
	return stored, err
}

// Delete deletes the object. The object that it returns still exists, with a deletion timestamp; nil if it is gone.
func (c *Cluster) Delete(ref Ref, why string) (*unstructured.Unstructured, error) {
	stored, err := c.call(answer{Delete: &ref, Explain: why})
	if err == nil && stored == nil {
		delete(c.objects, ref)
	}
	return stored, err
}

// Evict evicts the pod, as kubectl drain does. A disruption budget may refuse.
func (c *Cluster) Evict(ref Ref, why string) error {
	stored, err := c.call(answer{Evict: &ref, Explain: why})
	if err == nil && stored == nil {
		delete(c.objects, ref)
	}
	return err
}

// call asks simulate, and keeps the object of its answer.
func (c *Cluster) call(asked answer) (*unstructured.Unstructured, error) {
	if err := c.pipe.write(asked); err != nil {
		return nil, err
	}
	said, err := c.pipe.read()
	switch {
	case err != nil:
		return nil, err
	case said.Refused != nil:
		return nil, said.Refused
	case said.Stored == nil:
		return nil, errors.New("simulate answered a call by something else than stored or refused")
	}
	object := map[string]any{}
	if err := json.Unmarshal(said.Stored, &object); err != nil || len(object) == 0 {
		return nil, err
	}
	stored := &unstructured.Unstructured{Object: object}
	c.set(stored)
	return stored, nil
}
