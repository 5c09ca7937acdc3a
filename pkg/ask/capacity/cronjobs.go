package capacity

import (
	"slices"

	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/cluster"
)

// CronJob is a CronJob that counts as having one run under way.
type CronJob struct {
	cronjob.CronJob
	// Running is the number of pods of this run that have a node.
	Running int `json:"running"`
}

// CronJobs returns the named CronJobs of the state, each with the number of its pods that have a node.
func CronJobs(state *cluster.State, named []cluster.Ref) (all []CronJob) {
	running, owner := map[cluster.Ref]int{}, state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) {
			running[owner(pod)]++
		}
	}
	for _, c := range cronjob.All(state) {
		if ref := (cluster.Ref{Kind: "CronJob", Namespace: c.Namespace, Name: c.Name}); slices.Contains(named, ref) {
			all = append(all, CronJob{c, running[ref]})
		}
	}
	return all
}
