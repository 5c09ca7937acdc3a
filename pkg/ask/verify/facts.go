package verify

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// what is a thing that happens to a pod.
type what int

const (
	wasMade      what = iota // a controller created it
	wasRefused               // the scheduler found no node for it
	wasScheduled             // it got its node
	wasAsked                 // its deletion was asked for
	wasGone                  // it was no more
	jobCompleted             // the pods of the Job that is its owner have ended
	scaledSet                // a Deployment, its owner, scaled the ReplicaSet that the fact names in place of a pod
)

// fact is one thing that happened to a pod, as an event or an audit log has it.
type fact struct {
	what  what
	at    time.Time
	exact bool // at is known more finely than to the second
	pod   types.NamespacedName
	uid   types.UID // "" if it is not known
	// node is the one that the pod got, version that of the pod which the scheduler saw then.
	node, version string
	// owner is the controller that created or deleted the pod, object the pod itself where the fact brings it.
	owner  *v1.ObjectReference
	object *v1.Pod
	// seen is when the pod was there for certain, if the fact comes of an earlier dump.
	seen time.Time
	// count is of how many pods this was said, one after the other from first to at; 1 or less if of this one alone.
	count int
	first time.Time
}
