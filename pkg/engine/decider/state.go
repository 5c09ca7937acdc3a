package decider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
	state = p.withConditions(state, pending)
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

// TakeBack says that what the program did last is taken back: it knows the state that it made, and is told what differs the next time.
func (p *Program) TakeBack(made *cluster.State) { p.known = made }

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

// conditioned is a pod that the program was told about with a condition that the cluster's own does not have.
type conditioned struct {
	pod, told *v1.Pod
	message   string
}

// withConditions returns the state in which the pods that the scheduler could not place say so, as kube-scheduler writes it. A pod that has not
// changed, nor what the scheduler says of it, is the same object as the last time, so that the program is not told of it again.
func (p *Program) withConditions(state *cluster.State, pending []placement.Pending) *cluster.State {
	messages := map[types.UID]string{}
	for _, p := range pending {
		if p.Untried == "" && p.Message != placement.Gated {
			messages[p.Pod.UID] = p.Message
		}
	}
	before := p.conditioned
	p.conditioned = map[types.UID]conditioned{}
	if len(messages) == 0 {
		return state
	}
	var changed []cluster.Object
	for _, pod := range state.Pods {
		message, refused := messages[pod.UID]
		if !refused || pod.Spec.NodeName != "" {
			continue
		}
		now := before[pod.UID]
		if now.pod != pod || now.message != message {
			now = conditioned{pod, withUnschedulable(pod, message), message}
		}
		p.conditioned[pod.UID] = now
		changed = append(changed, now.told)
	}
	return state.With(changed...)
}

// withUnschedulable returns a copy of the pod with the condition that kube-scheduler writes when it cannot place a pod.
func withUnschedulable(pod *v1.Pod, message string) *v1.Pod {
	pod = pod.DeepCopy()
	condition := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message, LastTransitionTime: pod.CreationTimestamp}
	at := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
	} else {
		pod.Status.Conditions[at] = condition
	}
	return pod
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
