package cluster

import "strings"

// Refusal is a request that the API server rejects: an object that it does not create or change.
type Refusal struct {
	// Of is the workload whose pods are refused, the pod whose claim on devices is refused, the claim of an ephemeral volume, or the object
	// in a user's request.
	Of Ref
	// Pods is the number of pods that are not created: the pods that the workload lacks, 1 for a bare pod, and 0 for a change or an object
	// of another kind.
	Pods int
	// Message is the API server's error to a user, or the controller's event that quotes it.
	Message string
	// Retried is true if a controller made the request; it tries again.
	Retried bool
}

// Reason returns the message without the parts that name the object, so that refusals for the same reason are equal.
func (r Refusal) Reason() string {
	for _, before := range []string{" is forbidden: ", " is invalid: "} {
		if _, reason, found := strings.Cut(r.Message, before); found {
			return reason
		}
	}
	return r.Message
}

// OfWorkload reports whether the refused objects are pods of a workload.
func (r Refusal) OfWorkload() bool { return r.Pods > 0 && r.Of.Kind != "Pod" }

// OfVolume reports whether the refused object is the claim of an ephemeral volume. Its pod exists and waits for the claim.
func (r Refusal) OfVolume() bool { return r.Retried && r.Of.Kind == "PersistentVolumeClaim" }

// IsRetried reports whether a controller made the request and tries again.
func (r Refusal) IsRetried() bool { return r.Retried }
