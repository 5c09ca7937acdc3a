package cluster

import "strings"

// Refusal is an object that the API server does not create.
type Refusal struct {
	// Of is the workload whose pods are refused, or the object that a user asked for.
	Of Ref
	// Pods is how many pods are not created: those that the workload lacks, 1 for a bare pod, and 0 for an object of another kind.
	Pods int
	// Message is the API server's error to a user, or the controller's event that quotes it.
	Message string
}

// Reason is the message without what it says of the object, so that refusals for one reason are alike.
func (r Refusal) Reason() string {
	for _, before := range []string{" is forbidden: ", " is invalid: "} {
		if _, reason, found := strings.Cut(r.Message, before); found {
			return reason
		}
	}
	return r.Message
}

// ByController reports whether a controller asked for the object, and goes on asking.
func (r Refusal) ByController() bool { return r.Pods > 0 && r.Of.Kind != "Pod" }
