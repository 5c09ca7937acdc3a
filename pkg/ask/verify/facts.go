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

	// What follows happened to the node that the fact names, and to no pod.
	nodePatched   // somebody changed it
	nodeLooked    // the node lifecycle controller changed it
	nodeRemoved   // it was removed
	nodeReplaced  // it may have been removed from then on, until it was created again
	nodeAdded     // it was created, or it was there by then
	nodeNotReady  // it did not answer
	nodeReady     // it answered again
	nodeScheduled // it was cordoned or uncordoned, as cordoned says
	nodeTimed     // one of its taints in the dump came
	nodeTainted   // it had exactly these taints from then on, and, if that is known, was cordoned or not
)

// fact is one thing that happened to a pod or a node, from an event or an audit log.
type fact struct {
	what  what
	at    time.Time
	audit bool // an audit log has it
	exact bool // at is known more precisely than to the second
	pod   types.NamespacedName
	uid   types.UID // "" if unknown
	// node is the node that the pod got, and version the version of the pod that the scheduler saw then.
	node, version string
	// preempted means that a pod of higher priority needed its room, by is that pod's UID; "" if unknown.
	preempted bool
	by        types.UID
	// byTaint means that its node's taints asked for its deletion.
	byTaint bool
	// owner is the controller that created or deleted the pod, object the pod itself if the fact contains it.
	owner  *v1.ObjectReference
	object *v1.Pod
	// seen is when the pod certainly existed, if the fact is from an earlier dump.
	seen time.Time
	// count is the number of pods that this was said of, one after another from first to at; 1 or less if only of this one.
	count int
	first time.Time
	// cordoned is what became of the node's spec.unschedulable, nil if it is not known; taints is what became of its taints. late is how
	// much earlier it can have been than it was recorded.
	cordoned *bool
	taints   []v1.Taint
	late     time.Duration
}
