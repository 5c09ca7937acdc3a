package world

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/decider"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// deciderCalls does what a decider wants, at one moment.
type deciderCalls struct {
	*Cluster
	actor *actor
	round int
	state *cluster.State
	to    *Record
	owner func(*v1.Pod) cluster.Ref
}

// do carries out a call, and notes it in the record. It returns the object as it is then; nil if it is gone.
func (c *deciderCalls) do(call *decider.Message) (cluster.Object, *decider.Refusal, error) {
	act := Act{Decider: c.actor.Name, At: c.state.Now, Round: c.round, Why: call.Explain}
	var stored cluster.Object
	var refused *decider.Refusal
	var err error
	switch {
	case call.Create != nil:
		var obj cluster.Object
		if obj, err = c.actor.program.Decode(call.Create); err != nil {
			return nil, nil, err
		}
		act.Verb, act.Object, act.Price = "create", cluster.RefTo(obj), priceOf(obj)
		stored, refused, err = c.create(obj)
	case call.Patch != nil:
		act.Verb, act.Object = "patch", refOf(call.Patch.Ref)
		stored, refused, err = c.patch(call.Patch)
	case call.Delete != nil:
		act.Verb, act.Object, act.Price = "delete", refOf(*call.Delete), priceOf(c.find(*call.Delete))
		stored, refused = c.delete(*call.Delete)
	default:
		act.Verb, act.Object = "evict", refOf(*call.Evict)
		if pod, _ := c.find(*call.Evict).(*v1.Pod); pod != nil {
			act.Owner, act.Node = c.owner(pod), pod.Spec.NodeName
		}
		stored, refused = c.evict(*call.Evict)
	}
	if refused != nil {
		act.Refused = refused.Message
	}
	// A decider patches the status of its own resources at every moment. A patch of a Job starts or stops it.
	if act.Verb != "patch" || refused != nil || act.Object.Kind == "Job" {
		c.to.Acts = append(c.to.Acts, act)
	}
	return stored, refused, err
}

// priceOf returns what the object costs an hour if it is a Node with a price; else nil.
func priceOf(obj cluster.Object) *float64 {
	if of, isNode := obj.(*v1.Node); isNode {
		if price, known, _ := topology.Price(of); known { // the price of a wrong annotation is not known
			return &price
		}
	}
	return nil
}

func refOf(ref decider.Ref) cluster.Ref {
	return cluster.Ref{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// find returns the object that a decider names; nil if the cluster does not have it. Two kinds of different groups may have the same name.
func (c *deciderCalls) find(ref decider.Ref) cluster.Object {
	for _, r := range c.state.CustomResources {
		if r.GetAPIVersion() == ref.APIVersion && cluster.RefTo(r) == refOf(ref) {
			return r
		}
	}
	if kind := admission.KindNamed(ref.Kind); kind == nil || kind.GroupVersion().String() != ref.APIVersion {
		return nil
	}
	return c.state.Find(refOf(ref))
}

func notFound(ref decider.Ref) *decider.Refusal {
	return &decider.Refusal{Code: http.StatusNotFound, Reason: string(metav1.StatusReasonNotFound), Message: refOf(ref).Describe() + " not found"}
}

// create creates the object. A Node is ready at once.
func (c *deciderCalls) create(obj cluster.Object) (cluster.Object, *decider.Refusal, error) {
	if c.state.Find(cluster.RefTo(obj)) != nil {
		return nil, &decider.Refusal{Code: http.StatusConflict, Reason: string(metav1.StatusReasonAlreadyExists), Message: cluster.RefTo(obj).Describe() + " already exists"}, nil
	}
	if kind := admission.KindNamed(cluster.KindOf(obj)); kind != nil && !isCustom(obj) {
		created, problems := admission.Create(obj, kind.GroupVersion(), c.actor.Name)
		if len(problems) > 0 {
			message := fmt.Sprintf("%s: %s", cluster.RefTo(obj).Describe(), strings.Join(problems, "; "))
			return nil, &decider.Refusal{Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: message}, nil
		}
		obj = created
	}
	if of, isNode := obj.(*v1.Node); isNode {
		next, err := c.startNodes(c.state, nil, c.to, []cluster.Object{of})
		return c.take(next, obj, err)
	}
	next, err := c.admit(c.state, nil, c.to, obj)
	return c.take(next, obj, err)
}

func isCustom(obj cluster.Object) bool {
	_, is := obj.(*cluster.CustomResource)
	return is
}

// take takes the state that the API server made, unless it refused the object.
func (c *deciderCalls) take(next *cluster.State, obj cluster.Object, err error) (cluster.Object, *decider.Refusal, error) {
	var problem *Problem
	if errors.As(err, &problem) {
		return nil, &decider.Refusal{Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: problem.Error()}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	stored := next.Find(cluster.RefTo(obj))
	if n := len(next.Refused); stored == nil && n > 0 {
		return nil, &decider.Refusal{Code: http.StatusForbidden, Reason: string(metav1.StatusReasonForbidden), Message: next.Refused[n-1].Message}, nil
	}
	c.state = next
	return stored, nil, nil
}

// patch applies a merge patch to an object, or to its status.
func (c *deciderCalls) patch(by *decider.Patch) (cluster.Object, *decider.Refusal, error) {
	obj := c.find(by.Ref)
	if obj == nil {
		return nil, notFound(by.Ref), nil
	}
	patch := &scenario.Patch{Type: "merge", Patch: runtime.RawExtension{Raw: by.Merge}}
	var err error
	var next *cluster.State
	if r, custom := obj.(*cluster.CustomResource); custom {
		patched, failed := decider.MergePatch(r, by.Merge, by.Subresource == "status")
		if failed != nil {
			return nil, &decider.Refusal{Code: http.StatusBadRequest, Reason: string(metav1.StatusReasonBadRequest), Message: failed.Error()}, nil
		}
		if patched.GetDeletionTimestamp() != nil && len(patched.GetFinalizers()) == 0 {
			c.state = admission.Delete(c.state, patched)
			return nil, nil, nil
		}
		next = c.state.With(patched)
	} else {
		var patched cluster.Object
		if patched, err = patch.Apply(obj); err != nil {
			return nil, &decider.Refusal{Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: err.Error()}, nil
		}
		switch {
		case by.Subresource == "status":
			next = c.state.With(withStatusOf(obj, patched))
		case patched.GetDeletionTimestamp() != nil && len(patched.GetFinalizers()) == 0:
			c.state = admission.Delete(c.state, patched)
			return nil, nil, nil
		default:
			next, err = c.admit(c.state, nil, c.to, withStatusOf(patched, obj))
		}
	}
	return c.take(next, obj, err)
}

// withStatusOf returns a copy of the object with the status of another version of it.
func withStatusOf(obj, other cluster.Object) cluster.Object {
	changed := obj.DeepCopyObject().(cluster.Object)
	if status := reflect.ValueOf(changed).Elem().FieldByName("Status"); status.IsValid() {
		status.Set(reflect.ValueOf(other).Elem().FieldByName("Status"))
	}
	return changed
}

// delete deletes an object with all that it owns. An object with finalizers stays, and is marked.
func (c *deciderCalls) delete(ref decider.Ref) (cluster.Object, *decider.Refusal) {
	obj := c.find(ref)
	switch {
	case obj == nil:
		return nil, notFound(ref)
	case len(obj.GetFinalizers()) > 0:
		if obj.GetDeletionTimestamp() == nil {
			obj = obj.DeepCopyObject().(cluster.Object)
			obj.SetDeletionTimestamp(&c.state.Now)
			c.state = c.state.With(obj)
		}
		return obj, nil
	}
	c.state = admission.Delete(c.state, obj)
	return c.find(ref), nil
}

// evict evicts a pod within its budgets.
func (c *deciderCalls) evict(ref decider.Ref) (cluster.Object, *decider.Refusal) {
	pod, _ := c.find(ref).(*v1.Pod)
	if pod == nil {
		return nil, notFound(ref)
	}
	next, err := node.Evict(c.state, pod)
	if err != nil {
		message := strings.TrimPrefix(err.Error(), cluster.RefTo(pod).Describe()+": ")
		return nil, &decider.Refusal{Code: http.StatusTooManyRequests, Reason: string(metav1.StatusReasonTooManyRequests), Message: message}
	}
	c.state = next
	return c.find(ref), nil
}
