package expect

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
)

func TestDescribePeak(t *testing.T) {
	for want, test := range map[string]struct {
		bounds scenario.PeakBounds
		mode   node.FailureMode
	}{
		"at the peak no pod without a node":                                                        {scenario.PeakBounds{Pending: ptr.To(0)}, node.Unreachable},
		"at 50% of the way to the peak at most 1 pod without a node":                               {scenario.PeakBounds{Peak: scenario.Peak{Share: ptr.To(0.5)}, Pending: ptr.To(1)}, node.Unreachable},
		"at the peak, also if any zone is lost (deleted), at most 2 pods without a node":           {scenario.PeakBounds{Level: "zone", Pending: ptr.To(2)}, node.Deleted},
		"at the peak with the given replicas of 1 workload and all CronJobs no pod without a node": {scenario.PeakBounds{Peak: scenario.Peak{Replicas: map[string]int32{"deployment/web": 9}, CronJobs: []string{"all"}}, Pending: ptr.To(0)}, node.Unreachable},
		"at the peak with the CronJobs of the busiest hour, also if any rack is lost, no pod without a node": {
			scenario.PeakBounds{Peak: scenario.Peak{CronJobs: []string{"busiest"}}, Level: "rack", Pending: ptr.To(0)}, node.Unreachable},
		"at the peak with cronjob/nightly no pod without a node": {scenario.PeakBounds{Peak: scenario.Peak{CronJobs: []string{"cronjob/nightly"}}, Pending: ptr.To(0)}, node.Unreachable},
	} {
		if got := describePeak(&test.bounds, test.mode); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
