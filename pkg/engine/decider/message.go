package decider

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Protocol is the version of the protocol; docs/deciders.md describes each message.
const Protocol = 1

// Message is a line of the protocol. Exactly one of its fields is set, beside Explain.
type Message struct {
	// Hello begins a conversation.
	Hello *Hello `json:"hello,omitempty"`
	// Admit asks for the defaults of the decider's own resources, and for what is wrong with them.
	Admit *Admit `json:"admit,omitempty"`
	// State has what has changed in the cluster. The answer is an empty one.
	State *StateChange `json:"state,omitempty"`
	// Decide asks what to do now. The answer comes after the decider's calls.
	Decide *Decide `json:"decide,omitempty"`
	// Bye ends the conversation. The answer is the same.
	Bye *struct{} `json:"bye,omitempty"`
	// Error is the decider's answer if it cannot go on, as one line.
	Error string `json:"error,omitempty"`

	// Create is a decider's call: the object to create.
	Create json.RawMessage `json:"create,omitempty"`
	// Patch is a decider's call: the object to patch.
	Patch *Patch `json:"patch,omitempty"`
	// Delete is a decider's call: the object to delete.
	Delete *Ref `json:"delete,omitempty"`
	// Evict is a decider's call: the pod to evict.
	Evict *Ref `json:"evict,omitempty"`
	// Explain says why the decider makes the call, in its program's words.
	Explain string `json:"explain,omitempty"`
	// Stored answers a call: the object as it is now, empty if it is gone.
	Stored json.RawMessage `json:"stored,omitempty"`
	// Refused answers a call: why the API server refuses it.
	Refused *Refusal `json:"refused,omitempty"`
}

// Hello says who speaks. The decider answers with Name and the fields after it.
type Hello struct {
	// Protocol is the version of the protocol.
	Protocol int `json:"protocol"`
	// Kubernetes is the version of the scheduler beside the decider.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Name and Version are those of the program that decides.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Reads lists the kinds of Kubernetes' own objects that the decider reads. Default: all.
	Reads []string `json:"reads,omitempty"`
	// Admits lists the kinds of Kubernetes' own objects that the program's webhooks change or refuse when they are created, such as Job.
	Admits []string `json:"admits,omitempty"`
	// Resources lists the decider's own kinds.
	Resources []Resource `json:"resources,omitempty"`
	// Lacks says what the program does in a cluster and the decider does not, a line each.
	Lacks []string `json:"lacks,omitempty"`
}

// Resource is a kind of custom resources.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// Admit has custom resources and new objects of the kinds that the decider admits, and in the answer the same with their defaults, and the
// problems of them.
type Admit struct {
	Objects  []json.RawMessage `json:"objects"`
	Problems []Problem         `json:"problems,omitempty"`
}

// Problem is what is wrong with an object.
type Problem struct {
	// Index is the index of the object in the request, from 0.
	Index int `json:"index"`
	// Field is the path of the field; empty for the object as a whole.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// StateChange has the objects that are new or have changed, and those that are gone.
type StateChange struct {
	Set    []json.RawMessage `json:"set,omitempty"`
	Delete []Ref             `json:"delete,omitempty"`
}

// Decide asks what to do, and is the answer to that.
type Decide struct {
	// Now is the logical time. Seed is for what the program leaves to chance.
	Now  *metav1.Time `json:"now,omitempty"`
	Seed uint64       `json:"seed,omitempty"`
	// Memory is any value that the decider wants to get with the next request.
	Memory json.RawMessage `json:"memory,omitempty"`
	// Again is when the decider wants to be asked although nothing has changed. Default: never.
	Again *metav1.Time `json:"again,omitempty"`
	// Events are what the program reports.
	Events []Event `json:"events,omitempty"`
}

// Event is an event about an object.
type Event struct {
	Object  Ref    `json:"object"`
	Type    string `json:"type,omitempty"`
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

// Patch is a JSON merge patch of an object.
type Patch struct {
	Ref
	// Subresource is status to patch the status alone. Default: the whole object without its status.
	Subresource string `json:"subresource,omitempty"`
	// Merge is the patch.
	Merge json.RawMessage `json:"merge"`
}

// Refusal is why the API server refuses a call.
type Refusal struct {
	// Code is the HTTP status, such as 429 for an eviction that a disruption budget does not allow.
	Code int `json:"code"`
	// Reason is the API server's word for the code, such as TooManyRequests.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
