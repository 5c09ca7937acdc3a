package cluster

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is an object that the API server does not create or change, because of a RuntimeClass, a LimitRange or a ResourceQuota. It has
// the name of the workload whose pods are refused, of the pod whose claim on devices is refused, of the claim of an ephemeral volume, or of
// the object that a user asked for.
type Refusal struct {
	Ref
	// Pods is the number of pods that are not created: the pods that the workload lacks, 1 for a bare pod, and 0 for an object of another
	// kind, or for a change.
	Pods int `json:"pods"`
	// Message is the API server's error to a user, or the controller's event that quotes it.
	Message string `json:"message"`
	// Retried is true if a controller asked for the object and keeps asking.
	Retried bool `json:"-"`
	// Since is when the object was first refused, as Unix time. Until is the latest time at which the controller, which waits twice as long
	// after each attempt, asks again; 0 while it has just asked.
	Since, Until int64 `json:"-"`
}

// maxBackoff is the longest time between two attempts of a controller, in seconds. See DefaultTypedControllerRateLimiter in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go.
const maxBackoff = 1000

// WithBackoff returns the refusal once the cluster is at rest. From then on the controller asks again only when its back-off is over, unless one
// of its own objects changes. The back-off doubles after each attempt, so the next one takes as long as all before together: an object that
// was first refused 100 s ago is asked for again within 100 s.
func (r Refusal) WithBackoff(now metav1.Time) Refusal {
	if r.Retried && r.Until <= now.Unix() {
		r.Until = now.Unix() + min(max(now.Unix()-r.Since, 1), maxBackoff)
	}
	return r
}

// Repeats reports whether a controller asks again for the same as before, so that none of its own objects has changed.
func (r Refusal) Repeats(was Refusal) bool {
	return r.Ref == was.Ref && r.Pods == was.Pods && r.Retried && was.Retried && r.subject() == was.subject()
}

// subject returns the part of the message before the reason, which names the objects.
func (r Refusal) subject() string { return strings.TrimSuffix(r.Message, r.Reason()) }

// Reason returns the message without the parts that name the object, so that refusals for the same reason are equal.
func (r Refusal) Reason() string {
	for _, before := range []string{" is forbidden: ", " is invalid: "} {
		if _, reason, found := strings.Cut(r.Message, before); found {
			return reason
		}
	}
	return r.Message
}

// denial matches the message of a ValidatingAdmissionPolicy.
var denial = regexp.MustCompile(`(?s)ValidatingAdmissionPolicy '([^']+)'(?: with binding '[^']+')? denied request: (.*)`)

// Denial returns the name of the ValidatingAdmissionPolicy that refuses the object, and the policy's message. The name is "" if something
// else refuses the object.
func (r Refusal) Denial() (policy, says string) {
	if found := denial.FindStringSubmatch(r.Message); found != nil {
		return found[1], found[2]
	}
	return "", r.Reason()
}

// OfObject reports whether the refusal is about an object other than a pod that a user asked for.
func (r Refusal) OfObject() bool { return !r.Retried && r.Pods == 0 && r.Kind != "Pod" }

// OfWorkload reports whether the refusal is about pods of a workload.
func (r Refusal) OfWorkload() bool { return r.Pods > 0 && r.Kind != "Pod" }

// OfVolume reports whether the refusal is about a claim of an ephemeral volume, whose pod exists and waits for the claim.
func (r Refusal) OfVolume() bool { return r.Retried && r.Kind == "PersistentVolumeClaim" }

// IsRetried reports whether a controller made the request and tries again.
func (r Refusal) IsRetried() bool { return r.Retried }
