package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// memory is what controllers know from the states before, so that a sync looks only at what has changed. States are immutable, and so one
// rule says whether an entry holds: it names the things from which it was made, and holds for as long as these are the very same, which is
// the same pointers. The result is always that of controllers that remember nothing. Entries about objects that are gone go once they may be
// half of all.
type memory struct {
	entries map[subject]entry
	kept    int // so many entries were about objects that were there when somebody last looked
}

// subject is what an entry is about: a fact about one object or, without a UID, about the whole state.
type subject struct {
	fact fact
	of   types.UID
}

// fact is a kind of thing to know.
type fact int

const (
	inSync           fact = iota // the last sync had nothing to do
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
	publishedTaints              // of devices, map[device][]resourcev1.DeviceTaint
	taintEvictions               // []deviceEviction
	outOfBounds                  // []scaling: what autoscalers do
	deploymentsInSync
	replicaSetsInSync
	claimsInSync
	attachmentsInSync
)

// entry is a value, and the things from which it was made.
type entry struct {
	from  []any
	value any
}

// list identifies a list. States share lists that did not change.
type list struct {
	first  any
	length int
}

func listOf[T any](all []T) list {
	if len(all) == 0 {
		return list{}
	}
	return list{&all[0], len(all)}
}

// recall returns the value that is known of the subject, if it was made from the very same things.
func recall[V any](m *memory, about subject, from ...any) (value V, found bool) {
	known, found := m.entries[about]
	if !found || !slices.Equal(known.from, from) {
		return value, false
	}
	return known.value.(V), true
}

// remember keeps the value of a subject, and the things from which it was made.
func (m *memory) remember(about subject, value any, from ...any) {
	if m.entries == nil {
		m.entries = map[subject]entry{}
	}
	m.entries[about] = entry{append([]any(nil), from...), value} // a copy, so that callers need not allocate what is known already
}

// once returns the value that is known of the subject or, if these are not the things from which it was made, makes it.
func once[V any](m *memory, about subject, from []any, value func() V) V {
	known, found := recall[V](m, about, from...)
	if !found {
		known = value()
		m.remember(about, known, from...)
	}
	return known
}

// forget drops the entries about objects that are gone, if there may be as many of them as of others.
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
