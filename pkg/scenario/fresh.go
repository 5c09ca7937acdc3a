package scenario

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// Fresh returns the state without everything that makes pods, and without all pods, except what the cluster itself came with.
func (s *Scenario) Fresh(state *cluster.State) *cluster.State {
	given := map[cluster.Ref]bool{}
	for _, obj := range s.Cluster {
		given[cluster.RefTo(obj)] = true
	}
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

// Empty is the cluster before anything is in it. The clock of a dump starts when it was made, so that its objects are older
// than later ones; its pods may be in the first step.
func (s *Scenario) Empty() *cluster.State {
	objects := slices.Concat(s.Cluster, s.Workloads)
	if len(s.Steps) > 0 {
		objects = append(objects, s.Steps[0].Objects...)
	}
	now := cluster.Epoch
	if latest := cluster.Latest(objects); now.Before(&latest) {
		now = latest
	}
	return &cluster.State{Now: now, TerminationSeconds: s.TerminationSeconds}
}
