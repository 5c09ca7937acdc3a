package capacity

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
)

// CronJob is a CronJob of which a run is counted as being under way.
type CronJob struct {
	controller.CronJob
	// Running is how many of the pods of this run have a node.
	Running int `json:"running"`
}

// CronJobs are those of the state that are named, with the pods of theirs that have a node.
func CronJobs(state *cluster.State, named []cluster.Ref) (all []CronJob) {
	running, owner := map[cluster.Ref]int{}, state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" && !cluster.Terminal(pod) {
			running[owner(pod)]++
		}
	}
	for _, c := range controller.CronJobs(state) {
		if ref := (cluster.Ref{Kind: "CronJob", Namespace: c.Namespace, Name: c.Name}); slices.Contains(named, ref) {
			all = append(all, CronJob{c, running[ref]})
		}
	}
	return all
}
