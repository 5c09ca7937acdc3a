package verify

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// factKind is the kind of a fact.
type factKind int

const (
	podCreated           factKind = iota // a controller created the pod
	podRefused                           // the scheduler found no node for the pod
	podScheduled                         // the pod got its node
	podDeletionRequested                 // the pod's deletion was requested
	podGone                              // the pod was gone
	jobCompleted                         // the pods of the Job that the fact's owner names have ended
	replicaSetScaled                     // the Deployment that is the fact's owner scaled a ReplicaSet; the fact's pod is the ReplicaSet's name

	// The following facts are about the node that the fact names, and about no pod.
	nodePatched             // somebody changed the node
	nodePatchedByController // the node lifecycle controller changed the node
	nodeRemoved             // the node was removed
	nodeReplaced            // the node may have been removed at that time; it was created again later
	nodeAdded               // the node was created, or existed by that time
	nodeNotReady            // the node stopped answering
	nodeReady               // the node answered again
	nodeCordonChanged       // the node was cordoned or uncordoned; see cordoned
	nodeTaintDated          // a taint that the dump has was added to the node
	nodeTaintsSet           // from that time the node had exactly these taints; cordoned is set if it is known
)

// fact is one thing that happened to a pod or a node, according to an event, an audit log or an earlier dump.
type fact struct {
	kind  factKind
	at    time.Time
	audit bool // the fact is from an audit log
	exact bool // at is more precise than a second
	pod   types.NamespacedName
	uid   types.UID // "" if unknown
	// node is the node that the pod got, or the node that the fact is about. version is the resource version of the pod that the scheduler
	// saw.
	node, version string
	// preempted means that the pod was deleted to make room for a pod of higher priority. preemptor is the UID of that pod; "" if unknown.
	preempted bool
	preemptor types.UID
	// byTaint means that the pod was deleted because of a taint of its node.
	byTaint bool
	// owner is the controller that created or deleted the pod. object is the pod itself if the source contains it.
	owner  *v1.ObjectReference
	object *v1.Pod
	// existedAt is a time at which the pod certainly existed, if the fact is from an earlier dump.
	existedAt time.Time
	// podCount is the number of pods to which this happened between firstAt and at; 1 or less if the fact is about one pod.
	podCount int
	firstAt  time.Time
	// cordoned is the node's new spec.unschedulable, nil if unknown. taints are its new taints. maxDelay is how long before the recorded time
	// the change may have happened.
	cordoned *bool
	taints   []v1.Taint
	maxDelay time.Duration
}
