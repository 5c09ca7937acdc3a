package scenario

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
)

// Fresh returns the state without pods and without all objects that make pods, except the objects that the cluster itself came with.
func (s *Scenario) Fresh(state *cluster.State) *cluster.State {
	given := list.KeySet(s.Cluster, cluster.RefTo)
	var gone []cluster.Object
	for _, obj := range state.Objects() {
		if _, unknown := obj.(*cluster.UnknownOwner); unknown && !given[cluster.RefTo(obj)] {
			gone = append(gone, obj)
			continue
		}
		switch cluster.KindOf(obj) {
		case "Pod", "ReplicaSet", "ReplicationController":
			if len(obj.GetOwnerReferences()) > 0 {
				continue // it goes with its owner
			}
		case "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler":
		default:
			continue
		}
		if !given[cluster.RefTo(obj)] {
			gone = append(gone, obj)
		}
	}
	return admission.DeleteAndWait(state, gone...)
}

// EmptyState returns the cluster without any object. The clock of a dump starts when the dump was made, so that its objects are older than later
// ones; the dump's pods may be in the first step.
func (s *Scenario) EmptyState() *cluster.State {
	objects := slices.Concat(s.Cluster, s.Workloads, firstObjects(s))
	now := cluster.Epoch
	if latest := cluster.Latest(objects); now.Before(&latest) {
		now = latest
	}
	return &cluster.State{Now: now, TerminationSeconds: s.TerminationSeconds, AsTemplate: s.AsTemplate, APIServer: s.APIServer, Unread: s.Unread}
}

// admittedCluster is the state that results when the API server admits the objects of a cluster into an empty state.
type admittedCluster struct {
	cluster []cluster.Object
	empty   *cluster.State
	state   *cluster.State
	notes   []string
}

// Admit lets the API server admit the cluster, and returns the state and the server's notes. After KeepAdmitted, it admits only the objects
// that have changed since, if that is possible.
func (s *Scenario) Admit() (*cluster.State, []string, error) {
	empty := s.EmptyState()
	if kept := s.admittedCluster; kept != nil && kept.empty.Now.Equal(&empty.Now) && kept.empty.TerminationSeconds == empty.TerminationSeconds {
		if state := kept.withObjects(s.Cluster); state != nil {
			return state, slices.Clone(kept.notes), nil
		}
	}
	return admission.Admit(empty, s.Cluster...)
}

// withObjects returns the state with the given objects, which must be the kept ones or other versions of them. It returns nil if the API server
// must admit all objects.
func (a *admittedCluster) withObjects(objs []cluster.Object) *cluster.State {
	if len(objs) != len(a.cluster) {
		return nil
	}
	var changed []cluster.Object
	for i, obj := range objs {
		if obj == a.cluster[i] {
			continue
		}
		if cluster.RefTo(obj) != cluster.RefTo(a.cluster[i]) {
			return nil
		}
		changed = append(changed, obj)
	}
	if len(changed) == 0 {
		return a.state
	}
	return admission.Replace(a.state, changed...)
}

// KeepAdmitted admits the cluster once, for the check of the scenario, for its runs, and for scenarios derived from it that have the same
// cluster.
func (s *Scenario) KeepAdmitted() {
	if state, notes, err := s.Admit(); err == nil {
		s.admittedCluster = &admittedCluster{cluster: s.Cluster, empty: s.EmptyState(), state: state, notes: notes}
	}
}
