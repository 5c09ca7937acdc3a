package verify

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// what is the kind of a fact.
type what int

const (
	wasMade      what = iota // a controller created it
	wasRefused               // the scheduler found no node for it
	wasScheduled             // it got its node
	wasAsked                 // its deletion was requested
	wasGone                  // it was gone
	jobCompleted             // the pods of the Job that owns it have ended
	scaledSet                // a Deployment, its owner, scaled the ReplicaSet that the fact names instead of a pod
)

// fact is one thing that happened to a pod, from an event or an audit log.
type fact struct {
	what  what
	at    time.Time
	exact bool // at is known more precisely than to the second
	pod   types.NamespacedName
	uid   types.UID // "" if unknown
	// node is the node that the pod got, and version the version of the pod that the scheduler saw then.
	node, version string
	// owner is the controller that created or deleted the pod, object the pod itself if the fact contains it.
	owner  *v1.ObjectReference
	object *v1.Pod
	// seen is when the pod certainly existed, if the fact is from an earlier dump.
	seen time.Time
	// count is the number of pods that this was said of, one after another from first to at; 1 or less if only of this one.
	count int
	first time.Time
}
