package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// memory holds what controllers have computed for earlier states, so that a sync looks only at what has changed. Each entry names the
// things from which it was computed. It holds for as long as these are the very same: the same pointers, since states are immutable. So the
// result is always the one that controllers without a memory would compute. Example: the entry (podsComplete, web) was computed from the
// pointers to web's replicas, its selector and its pods. If a pod of web ends, the group of pods has another pointer, and web is synced
// again; if another workload's pod ends, it is not. Entries about objects that are gone are deleted once they may be half of all.
type memory struct {
	entries map[subject]entry
	kept    int // number of entries after the last deletion
}

// subject is what an entry is about: a fact about the object with the UID or, without a UID, about the whole state.
type subject struct {
	fact fact
	of   types.UID
}

// fact is a kind of entry.
type fact int

const (
	inSync           fact = iota // the last sync had nothing to do
	earlierSetSyncs              // of a StatefulSet, []setSync
	podsCounted                  // of a ReplicaSet: the status says how many pods there are
	podsComplete                 // of a ReplicaSet: there are as many pods as it asks for
	podCounts                    // of a ReplicaSet, *ownCount
	podPrototype                 // of a ReplicaSet, *v1.Pod
	asReplicaSet                 // of a ReplicationController or an unknown owner, *appsv1.ReplicaSet
	currentSet                   // of a Deployment, the UID of the ReplicaSet of its present template, or ""
	daemonsMatching              // of a DaemonSet: its pods, as far as the selector matches them
	daemonsByNode                // of a DaemonSet, *daemons
	templateRevision             // of a DaemonSet, *appsv1.ControllerRevision of its present template, or nil
	parsedSelector               // labels.Selector
	ownedRevisions               // map[types.UID][]*appsv1.ControllerRevision, by owner
	publishedTaints              // of devices, map[device][]resourcev1.DeviceTaint
	taintEvictions               // []deviceEviction
	outOfBounds                  // []scaling: what autoscalers do
	deploymentsInSync
	replicaSetsInSync
	claimsInSync
	attachmentsInSync
	volumesInSync
	ephemeralVolumesInSync
	exclusiveVolumes // *volumeLookup
)

// entry is a value, and the things from which it was computed.
type entry struct {
	from  []any
	value any
}

// listID identifies a list by its first element and its length. States share the lists that did not change.
type listID struct {
	first  any
	length int
}

// newListID returns the identity of a list.
func newListID[T any](all []T) listID {
	if len(all) == 0 {
		return listID{}
	}
	return listID{&all[0], len(all)}
}

// recall returns the value that is known about the subject, if it was computed from the very same things.
func recall[V any](m *memory, about subject, from ...any) (value V, found bool) {
	known, found := m.entries[about]
	if !found || !slices.Equal(known.from, from) {
		return value, false
	}
	return known.value.(V), true
}

// remember stores a value about a subject, and the things from which it was computed.
func (m *memory) remember(about subject, value any, from ...any) {
	if m.entries == nil {
		m.entries = map[subject]entry{}
	}
	m.entries[about] = entry{append([]any(nil), from...), value} // a copy, so that callers that only recall need not allocate
}

// recallOrCompute returns the value that is known about the subject, if it was computed from the very same things. Otherwise it computes and remembers
// the value.
func recallOrCompute[V any](m *memory, about subject, from []any, value func() V) V {
	known, found := recall[V](m, about, from...)
	if !found {
		known = value()
		m.remember(about, known, from...)
	}
	return known
}

// forget deletes the entries about objects that are gone, if there may be as many of them as of the others.
func (m *memory) forget(s *cluster.State) {
	if len(m.entries) <= 2*m.kept+1<<10 {
		return
	}
	others := *s
	others.Pods = nil // no entry is about a pod
	present := map[types.UID]bool{"": true}
	for _, obj := range others.Objects() {
		present[obj.GetUID()] = true
	}
	for about := range m.entries {
		if !present[about.of] {
			delete(m.entries, about)
		}
	}
	m.kept = len(m.entries)
}
