package kit

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// message is a line of the protocol: exactly one of its fields is set. docs/deciders.md describes each message.
type message struct {
	// Simulate asks.
	Hello  *helloRequest `json:"hello,omitempty"`
	Admit  *objects      `json:"admit,omitempty"`
	State  *stateChange  `json:"state,omitempty"`
	Decide *Request      `json:"decide,omitempty"`
	Bye    *struct{}     `json:"bye,omitempty"`
	// Simulate answers a call.
	Stored  json.RawMessage `json:"stored,omitempty"`
	Refused *Refusal        `json:"refused,omitempty"`
}

type helloRequest struct {
	Protocol   int    `json:"protocol"`
	Kubernetes string `json:"kubernetes"`
}

type objects struct {
	Objects []map[string]any `json:"objects"`
}

type stateChange struct {
	Set    []map[string]any `json:"set"`
	Delete []Ref            `json:"delete"`
}

// answer is a line of the protocol that the decider writes: exactly one of its fields is set.
type answer struct {
	Hello   *helloAnswer `json:"hello,omitempty"`
	Admit   *admitAnswer `json:"admit,omitempty"`
	State   *struct{}    `json:"state,omitempty"`
	Decide  *Answer      `json:"decide,omitempty"`
	Bye     *struct{}    `json:"bye,omitempty"`
	Error   string       `json:"error,omitempty"`
	Create  any          `json:"create,omitempty"`
	Patch   *patch       `json:"patch,omitempty"`
	Delete  *Ref         `json:"delete,omitempty"`
	Evict   *Ref         `json:"evict,omitempty"`
	Explain string       `json:"explain,omitempty"`
}

type helloAnswer struct {
	Protocol int `json:"protocol"`
	Hello
}

// Hello says what a decider is.
type Hello struct {
	// Name and Version are those of the program that decides, such as karpenter and v1.14.1.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Reads are the kinds of Kubernetes' own objects that the decider needs, such as Pod; none: all.
	Reads []string `json:"reads,omitempty"`
	// Admits are the kinds of Kubernetes' own objects that its webhooks change or refuse when they are created.
	Admits []string `json:"admits,omitempty"`
	// Resources are the kinds of its own.
	Resources []Resource `json:"resources,omitempty"`
	// Lacks says in a line each what the program does in a cluster and this decider does not.
	Lacks []string `json:"lacks,omitempty"`
}

// Resource is a kind of custom resource.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// Problem is what is wrong with a custom resource.
type Problem struct {
	// Index is the index of the object in the request.
	Index int `json:"index"`
	// Field is a path such as spec.limits.cpu; empty for the object as a whole.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

type admitAnswer struct {
	Objects  []map[string]any `json:"objects"`
	Problems []Problem        `json:"problems,omitempty"`
}

// Request asks what to do now.
type Request struct {
	// Now is the logical time, in whole seconds.
	Now metav1.Time `json:"now"`
	// Seed decides what the program leaves to chance.
	Seed uint64 `json:"seed"`
	// Memory is the memory of the last answer, null at first. A search that takes steps back gives an older memory.
	Memory json.RawMessage `json:"memory,omitempty"`
}

// Answer is what a decider says when it has done what it wants to do now.
type Answer struct {
	// Again is when the decider wants to be asked again although nothing has changed; zero: never.
	Again *metav1.Time `json:"again,omitempty"`
	// Memory is what the next request brings back. Everything that a later decision depends on, beside the objects, must be in it.
	Memory any `json:"memory,omitempty"`
	// Events are what the program reports, in order.
	Events []Event `json:"events,omitempty"`
}

// AskAgain sets the time of the next request.
func (a *Answer) AskAgain(at time.Time) {
	if t := metav1.NewTime(at); a.Again == nil || t.Before(a.Again) {
		a.Again = &t
	}
}

// Event is an event about an object, in the program's words.
type Event struct {
	Object  Ref    `json:"object"`
	Type    string `json:"type,omitempty"` // Normal or Warning
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Ref names an object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// RefTo names the object.
func RefTo(obj *unstructured.Unstructured) Ref {
	return Ref{obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName()}
}

type patch struct {
	Ref
	Subresource string         `json:"subresource,omitempty"`
	Merge       map[string]any `json:"merge"`
}

// Refusal is the API server's refusal of a call, as an error.
type Refusal struct {
	// Code is the HTTP status, such as 429 for an eviction that a disruption budget does not allow.
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }
