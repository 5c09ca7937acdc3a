package run

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// waitingCronJobs returns the CronJobs that have no Job after the step.
func (s *Step) waitingCronJobs() []cronjob.CronJob {
	return list.Without(s.CronJobs, func(c cronjob.CronJob) bool {
		return slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Kind == "CronJob" && w.Namespace == c.Namespace && w.Name == c.Name })
	})
}

// newCronJobs returns the waiting CronJobs that the step before did not have.
func (t *writer) newCronJobs(i int) []cronjob.CronJob {
	return slices.DeleteFunc(t.report.Steps[i].waitingCronJobs(), func(c cronjob.CronJob) bool {
		return i > 0 && slices.Contains(t.report.Steps[i-1].CronJobs, c)
	})
}

// cronJobs writes when each new CronJob runs next, and how to run it now.
func (t *writer) cronJobs(i int) {
	t.Sentences("CronJobs:", list.Map(t.newCronJobs(i), func(c cronjob.CronJob) string {
		target := cluster.Ref{Kind: "CronJob", Namespace: c.Namespace, Name: c.Name}
		return fmt.Sprintf("%s; --trigger %s runs it now.", c.DescribeRuns(), target.Qualified())
	}))
}
