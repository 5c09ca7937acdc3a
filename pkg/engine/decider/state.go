package decider

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
)

// Tell tells the program what has changed in the cluster since it was last told. pending has the pods that the scheduler could not place.
func (p *Program) Tell(ctx context.Context, state *cluster.State, pending []placement.Pending) error {
	state = withConditions(state, pending)
	change, err := p.changes(state)
	if err != nil {
		return err
	}
	if len(change.Set)+len(change.Delete) == 0 {
		p.known = state
		return nil
	}
	said, err := p.ask(ctx, Message{State: change})
	if err != nil {
		return err
	}
	if said.State == nil {
		return p.errorf("does not answer state by state")
	}
	p.known = state
	return nil
}

// changes returns what differs from what the program knows.
func (p *Program) changes(state *cluster.State) (*StateChange, error) {
	change := &StateChange{}
	var failed error
	p.known.VisitChanges(state, func(was, is cluster.Object) {
		if was != nil && p.sees(was) && (is == nil || cluster.RefTo(was) != cluster.RefTo(is)) {
			change.Delete = append(change.Delete, refTo(was))
		}
		if is == nil || !p.sees(is) {
			return
		}
		text, err := encode(is)
		if err != nil {
			failed = err
		}
		change.Set = append(change.Set, text)
	})
	return change, failed
}

// sees reports whether the program reads the object.
func (p *Program) sees(obj cluster.Object) bool {
	switch o := obj.(type) {
	case *cluster.UnknownOwner, *cluster.Param:
		return false
	case *cluster.CustomResource:
		return p.Owns(o)
	}
	return p.reads == nil || p.reads[cluster.KindOf(obj)]
}

// withConditions returns the state in which the pods that the scheduler could not place say so, as kube-scheduler writes it.
func withConditions(state *cluster.State, pending []placement.Pending) *cluster.State {
	messages := map[types.UID]string{}
	for _, p := range pending {
		if p.Untried == "" && p.Message != placement.Gated {
			messages[p.Pod.UID] = p.Message
		}
	}
	if len(messages) == 0 {
		return state
	}
	var changed []cluster.Object
	for _, pod := range state.Pods {
		message, refused := messages[pod.UID]
		if !refused || pod.Spec.NodeName != "" {
			continue
		}
		pod = pod.DeepCopy()
		condition := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message, LastTransitionTime: pod.CreationTimestamp}
		replaced := false
		for i := range pod.Status.Conditions {
			if pod.Status.Conditions[i].Type == v1.PodScheduled {
				pod.Status.Conditions[i], replaced = condition, true
			}
		}
		if !replaced {
			pod.Status.Conditions = append(pod.Status.Conditions, condition)
		}
		changed = append(changed, pod)
	}
	return state.With(changed...)
}

// refTo names an object for the program.
func refTo(obj cluster.Object) Ref {
	ref := Ref{Kind: cluster.KindOf(obj), Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if custom, is := obj.(*cluster.CustomResource); is {
		ref.APIVersion = custom.GetAPIVersion()
	} else if kind := admission.KindNamed(ref.Kind); kind != nil {
		ref.APIVersion = kind.GroupVersion().String()
	}
	return ref
}

// encode returns the object as JSON with its kind.
func encode(obj cluster.Object) (json.RawMessage, error) {
	if custom, is := obj.(*cluster.CustomResource); is {
		return custom.MarshalJSON()
	}
	ref := refTo(obj)
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, ref.APIVersion, ref.Kind)
	if string(text) == "{}" {
		return json.RawMessage(head + "}"), nil
	}
	return json.RawMessage(head + "," + string(text[1:])), nil
}

// encodeStored returns the object as JSON, and {} for no object.
func encodeStored(obj cluster.Object) (json.RawMessage, error) {
	if obj == nil {
		return json.RawMessage("{}"), nil
	}
	return encode(obj)
}

// Decode returns the object that the program has written. An object of a kind that the cluster does not hold and that is not the program's own
// is an error.
func (p *Program) Decode(text json.RawMessage) (cluster.Object, error) {
	var head struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, p.errorf("writes an object that is none: %v", err)
	}
	if p.resource(head.APIVersion, head.Kind) != nil {
		r := &cluster.CustomResource{}
		if err := r.UnmarshalJSON(text); err != nil {
			return nil, p.errorf("writes an object that is none: %v", err)
		}
		return r, nil
	}
	known := admission.KindNamed(head.Kind)
	if known == nil || known.GroupVersion().String() != head.APIVersion {
		return nil, p.errorf("writes a %s of %s, which neither the cluster holds nor the decider's hello names", head.Kind, head.APIVersion)
	}
	obj, err := legacyscheme.Scheme.New(known.GroupVersion().WithKind(head.Kind))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, obj); err != nil {
		return nil, p.errorf("writes a %s that is none: %v", head.Kind, err)
	}
	typed := obj.(cluster.Object)
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return typed, nil
}
