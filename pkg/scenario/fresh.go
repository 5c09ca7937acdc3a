package scenario

import (
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
