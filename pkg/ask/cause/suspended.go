package cause

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// QueueLabel names the LocalQueue of Kueue that a Job waits in.
const QueueLabel = "kueue.x-k8s.io/queue-name"

// AwaitsResume reports whether a Job has no pods until its user resumes it. A Job in a queue of Kueue does not: it waits for quota.
func AwaitsResume(job *batchv1.Job) bool {
	finished, _ := jobutil.FinishedCondition(job)
	return !finished && ptr.Deref(job.Spec.Suspend, false) && job.Labels[QueueLabel] == ""
}

// SuspendedJobs returns a note on the Jobs that wait for their user to resume them, and did not before; none if there is no such Job.
func SuspendedJobs(before, after *cluster.State) []string {
	waited := map[types.UID]bool{}
	for _, job := range before.Jobs {
		waited[job.UID] = AwaitsResume(job)
	}
	suspended := list.Where(after.Jobs, func(job *batchv1.Job) bool { return AwaitsResume(job) && !waited[job.UID] })
	if len(suspended) == 0 {
		return nil
	}
	n, names := len(suspended), list.Map(suspended, func(job *batchv1.Job) string { return cluster.RefTo(job).Qualified() })
	return []string{fmt.Sprintf("%s %s no pods: %s suspended (spec.suspend is true). simulate explain %s has the command that resumes it.",
		words.Few(names), words.Pick(n, "has", "have"), words.Pick(n, "it is", "they are"), names[0])}
}
