package explain

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
)

// whyNoPods says why a workload of the state has no pods; "" if nothing says so.
func whyNoPods(ctx context.Context, result *simulation.Result, state *cluster.State, of cluster.Ref) string {
	object := state.Find(of)
	if object == nil || state.Federation != nil {
		return ""
	}
	switch o := object.(type) {
	case *batchv1.Job:
		return whyNoPodsOfJob(o)
	case *batchv1.CronJob:
		return fmt.Sprintf("it has started no Job; simulate run --trigger cronjob/%s starts one", o.Name)
	case *appsv1.DaemonSet:
		why, err := whyNoDaemonPods(ctx, result, state, o)
		if err != nil {
			return ""
		}
		return why
	}
	if replicas, scales := cluster.Replicas(object); scales && replicas == 0 {
		return "it has 0 replicas"
	}
	return ""
}

// whyNoPodsOfJob says why a Job has no pods; "" if nothing says so.
func whyNoPodsOfJob(job *batchv1.Job) string {
	finished, how := jobutil.FinishedCondition(job)
	queue := job.Labels[cause.QueueLabel]
	switch {
	case finished && how == batchv1.JobComplete:
		return "it is complete"
	case finished:
		return "it has failed" + failureText(job)
	case !ptr.Deref(job.Spec.Suspend, false):
		return ""
	case queue != "":
		return fmt.Sprintf("it is suspended and waits for quota in Kueue's queue %s; simulate queue --workload %s says why", queue, job.Name)
	}
	return "it is suspended; simulate run --patch job/" + job.Name + `='{"spec":{"suspend":false}}' resumes it`
}

// failureText returns, for example, ": Job has reached the specified backoff limit (BackoffLimitExceeded)"; "" if the Job has no such condition.
func failureText(job *batchv1.Job) string {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == v1.ConditionTrue && c.Reason != "" {
			return fmt.Sprintf(": %s (%s)", c.Message, c.Reason)
		}
	}
	return ""
}

// whyNoDaemonPods says why no node gets a pod of the DaemonSet.
func whyNoDaemonPods(ctx context.Context, result *simulation.Result, state *cluster.State, ds *appsv1.DaemonSet) (string, error) {
	f, err := cause.NewFinder(result.Scenario.Config)
	if err != nil {
		return "", err
	}
	defer f.Close()
	causes, err := f.Causes(ctx, state, state.PodOf(ds))
	return cause.Brief(causes), err
}
