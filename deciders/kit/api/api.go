// Package api is the client that a program's controllers have: it reads the objects that the decider knows, as the program's types have them, and
// writes by calls to simulate. What is written is read at once, as if no informer were ever late.
package api

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline/faultline/deciders/kit"
)

// Client is a client.Client. Its methods may be called by several goroutines at once.
type Client struct {
	client.Client // nil: a method that no program calls panics

	// Admit sets the defaults of the program's own kinds, and says what their definitions refuse.
	Admit func([]*unstructured.Unstructured) []kit.Problem
	// Name makes the names of objects that are created with generateName.
	Name func(prefix string, content []byte) string
	// Observe is called after an object was written, with the object as it was and as it is; nil: it does not exist.
	Observe func(ctx context.Context, was, is client.Object)
	// Now, if set, is the time of conditions that change: some programs take the machine's.
	Now func() time.Time
	// Writes counts the calls that changed something.
	Writes int
	// Others are the objects whose kinds the program has no types for.
	Others []kit.Ref
	// Broken is the error after which simulate cannot be called any more.
	Broken error

	scheme  *runtime.Scheme
	indexes map[string]client.IndexerFunc // by kind and field
	mu      sync.Mutex
	cluster *kit.Cluster
	kinds   map[schema.GroupKind]*kind
	known   map[kit.Ref]*Known
}

// Known is an object as simulate wrote it, and as the program's types have it. Nobody may change it.
type Known struct {
	Raw    *unstructured.Unstructured
	Object client.Object
}

// kind has the objects of a kind in canonical order.
type kind struct {
	objects []client.Object
	byName  map[client.ObjectKey]client.Object
	byField map[string]map[string][]client.Object // made when it is first asked for
}

// New returns a client for the types of the scheme.
func New(scheme *runtime.Scheme, admit func([]*unstructured.Unstructured) []kit.Problem) *Client {
	return &Client{
		Admit: admit, Observe: func(context.Context, client.Object, client.Object) {},
		scheme: scheme, indexes: map[string]client.IndexerFunc{}, cluster: &kit.Cluster{}, kinds: map[schema.GroupKind]*kind{},
	}
}

// IndexField implements client.FieldIndexer.
func (a *Client) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	gvk, err := a.GroupVersionKindFor(object)
	a.indexes[gvk.Kind+" "+field] = values
	return err
}

// Read reads what has changed in the cluster since the last time.
func (a *Client) Read(cluster *kit.Cluster) error {
	before := a.known
	a.cluster, a.known, a.kinds, a.Writes, a.Others = cluster, map[kit.Ref]*Known{}, map[schema.GroupKind]*kind{}, 0, nil
	for _, raw := range cluster.Objects() {
		ref := kit.RefTo(raw)
		if k := before[ref]; k != nil && k.Raw == raw {
			a.keep(ref, k)
			continue
		}
		object, err := a.typed(raw)
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", strings.ToLower(ref.Kind), ref.Name, err)
		}
		if object == nil {
			a.Others = append(a.Others, ref)
			continue
		}
		a.keep(ref, &Known{raw, object})
	}
	return nil
}

// typed returns the object as the program's types have it; nil if its kind has none.
func (a *Client) typed(raw *unstructured.Unstructured) (client.Object, error) {
	object, err := a.scheme.New(raw.GroupVersionKind())
	if err != nil {
		return nil, nil //nolint:nilerr // a kind that the program does not know, such as another provider's node class
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, object); err != nil {
		return nil, err
	}
	read := object.(client.Object)
	if read.GetResourceVersion() == "" {
		read.SetResourceVersion("0") // which patches with an optimistic lock want to have
	}
	return read, nil
}

// All returns all objects that the program has types for, in any order.
func (a *Client) All() iter.Seq2[kit.Ref, *Known] {
	return func(yield func(kit.Ref, *Known) bool) {
		for ref, k := range a.known {
			if !yield(ref, k) {
				return
			}
		}
	}
}

// List returns all objects of a kind, in canonical order. Nobody may change them.
func List[T any](a *Client) []*T {
	gvk, err := a.GroupVersionKindFor(any(new(T)).(runtime.Object))
	if err != nil {
		panic(err) // a type that the program's scheme does not have
	}
	objects := a.kind(gvk.GroupKind()).objects
	all := make([]*T, len(objects))
	for i, object := range objects {
		all[i] = any(object).(*T)
	}
	return all
}

func (a *Client) keep(ref kit.Ref, k *Known) {
	a.known[ref] = k
	of := a.kind(groupKind(ref))
	key := client.ObjectKeyFromObject(k.Object)
	if of.byName[key] == nil {
		of.objects = append(of.objects, k.Object)
	} else {
		for i := range of.objects {
			if client.ObjectKeyFromObject(of.objects[i]) == key {
				of.objects[i] = k.Object
			}
		}
	}
	of.byName[key], of.byField = k.Object, nil
}

func (a *Client) forget(ref kit.Ref) {
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

func (a *Client) kind(of schema.GroupKind) *kind {
	k := a.kinds[of]
	if k == nil {
		k = &kind{byName: map[client.ObjectKey]client.Object{}}
		a.kinds[of] = k
	}
	return k
}

func (k *kind) by(field string, values client.IndexerFunc) map[string][]client.Object {
	if k.byField == nil {
		k.byField = map[string]map[string][]client.Object{}
	}
	index := k.byField[field]
	if index == nil {
		index = map[string][]client.Object{}
		for _, object := range k.objects {
			for _, value := range values(object) {
				index[value] = append(index[value], object)
			}
		}
		k.byField[field] = index
	}
	return index
}

// RefTo names an object of the kind.
func RefTo(gvk schema.GroupVersionKind, object client.Object) kit.Ref {
	apiVersion, kindName := gvk.ToAPIVersionAndKind()
	return kit.Ref{APIVersion: apiVersion, Kind: kindName, Namespace: object.GetNamespace(), Name: object.GetName()}
}

func groupKind(of kit.Ref) schema.GroupKind {
	return schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).GroupKind()
}

type whyKey struct{}

// WithWhy says in the calls of the context why they are made.
func WithWhy(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, whyKey{}, why)
}

func why(ctx context.Context) string {
	said, _ := ctx.Value(whyKey{}).(string)
	return said
}
