package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	upstreamjob "k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/utils/clock"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestJobSyncIsUpstreams(t *testing.T) {
	u := newUpstream(t)
	factory := informers.NewSharedInformerFactory(u.client, 0)
	pods, jobs, scheduling := factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), factory.Scheduling().V1beta1()
	controller, err := upstreamjob.NewController(context.Background(), u.client, pods, jobs, scheduling.Workloads(), scheduling.PodGroups())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 2, placeAnywhere)
	u.clock.SetTime(w.state.Now.Time)
	*field[clock.WithTicker](controller, "clock") = u.clock
	w.admit(decode(t, job("Job", ""))...)
	for seed := range uint64(*worlds) {
		g := dice{rand.New(rand.NewPCG(seed, 1)), w.state}
		j := g.job(w.state.Jobs[0], fmt.Sprint("sum-", seed))
		all := g.podsOf(j)
		s := *w.state.Without(w.state.Jobs[0]).With(j)
		s.Pods = all
		s.JobBackoffs = map[types.UID]cluster.JobBackoff{j.UID: {}} // it is known that nothing has failed, as upstream believes when it starts
		p := newPass(&s)
		if err := p.syncJob(j); err != nil {
			t.Fatal(err)
		}
		setStore(t, jobs.Informer(), j)
		setStore(t, pods.Informer(), all...)
		want, got := u.sync(controller, j).unchanged(j), outcomeOf(p).unchanged(j)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-upstream +here):\n%s\n%s", seed, diff, describe([]cluster.Object{j}, all))
		}
	}
}

// dice generates random worlds.
type dice struct {
	*rand.Rand
	state *cluster.State
}

// oneIn returns true with probability 1/in.
func (g dice) oneIn(in int) bool { return g.IntN(in) == 0 }

// number returns a number from 0 to below-1, or nil.
func (g dice) number(below int) *int32 {
	if g.oneIn(3) {
		return nil
	}
	return new(g.Int32N(int32(below)))
}

func pick[T any](g dice, of ...T) T { return of[g.IntN(len(of))] }

func (g dice) job(template *batchv1.Job, name string) *batchv1.Job {
	j := template.DeepCopy()
	j.Name, j.UID = name, types.UID(name)
	spec := &j.Spec
	spec.Parallelism, spec.BackoffLimit = new(g.Int32N(5)), new(g.Int32N(6))
	spec.Completions = g.number(6)
	spec.Suspend = new(g.oneIn(8))
	if g.oneIn(6) {
		spec.ActiveDeadlineSeconds = new(int64(30 + g.IntN(60)))
	}
	indexed := spec.Completions != nil && g.oneIn(2)
	if indexed {
		spec.CompletionMode = new(batchv1.IndexedCompletion)
		if g.oneIn(2) {
			spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = new(g.Int32N(3)), g.number(4)
		}
		if g.oneIn(3) {
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
				pick(g, batchv1.SuccessPolicyRule{SucceededCount: new(int32(2))}, batchv1.SuccessPolicyRule{SucceededIndexes: new("0,2-3")},
					batchv1.SuccessPolicyRule{SucceededIndexes: new("1-4"), SucceededCount: new(int32(2))}),
			}}
		}
	}
	switch {
	case g.oneIn(3):
		spec.PodReplacementPolicy = new(batchv1.Failed)
		rule := batchv1.PodFailurePolicyRule{Action: pick(g, batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob)}
		if spec.BackoffLimitPerIndex != nil && g.oneIn(2) {
			rule.Action = batchv1.PodFailurePolicyActionFailIndex
		}
		if g.oneIn(2) {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}
		} else {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{2, 3}}
			if g.oneIn(2) {
				rule.OnExitCodes.Operator = batchv1.PodFailurePolicyOnExitCodesOpNotIn
			}
			if g.oneIn(2) {
				rule.OnExitCodes.ContainerName = new("c")
			}
		}
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule}}
	case spec.BackoffLimitPerIndex == nil && g.oneIn(3):
		spec.Template.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	case g.oneIn(3): //nolint:gocritic // each call is another draw
		spec.PodReplacementPolicy = new(pick(g, batchv1.Failed, batchv1.TerminatingOrFailed))
	}
	status := &j.Status
	if !*spec.Suspend && !g.oneIn(4) {
		status.StartTime = new(secondsAgo(g.state, g.IntN(100)))
	}
	status.Active, status.Failed = g.Int32N(3), g.Int32N(3)
	if indexed {
		status.CompletedIndexes = pick(g, "", "0", "1,3", "0-2", "4-7")
		if spec.BackoffLimitPerIndex != nil {
			status.FailedIndexes = new(pick(g, "", "1", "2,4"))
		}
	} else {
		status.Succeeded = pick(g, 0, 0, g.Int32N(3))
	}
	if g.oneIn(6) {
		status.Conditions = append(status.Conditions, pick(g,
			batchv1.JobCondition{Type: batchv1.JobSuspended, Status: v1.ConditionTrue, Reason: "JobSuspended", Message: "Job suspended"},
			batchv1.JobCondition{Type: batchv1.JobSuspended, Status: v1.ConditionFalse, Reason: "JobResumed", Message: "Job resumed"}))
	}
	if g.oneIn(12) {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{
			Type: pick(g, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet), Status: v1.ConditionTrue, Reason: "Earlier", Message: "decided before",
		})
	}
	return j
}

// podsOf returns the Job's pods. No two are equal to the controllers: each has its own age, and its time of ending grows with the failures
// of its index.
func (g dice) podsOf(j *batchv1.Job) []*v1.Pod {
	var all []*v1.Pod
	for i := range g.IntN(7) {
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: j.Namespace, Name: fmt.Sprintf("%s-p%d", j.Name, i), UID: types.UID(fmt.Sprintf("%s-p%d", j.Name, i)),
				Labels: j.Spec.Selector.MatchLabels, Annotations: map[string]string{}, CreationTimestamp: secondsAgo(g.state, 200-i),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, jobKind)},
			},
			Spec:   v1.PodSpec{NodeName: pick(g, "", "n1", "n2"), Containers: []v1.Container{{Name: "c"}, {Name: "d"}}},
			Status: v1.PodStatus{Phase: pick(g, v1.PodPending, v1.PodRunning, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, v1.PodFailed)},
		}
		if !g.oneIn(5) {
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		}
		switch g.IntN(12) {
		case 0:
			pod.OwnerReferences = nil // an orphan
		case 1:
			pod.Labels = map[string]string{"job-name": "other"} // to be released
		}
		failed := g.IntN(3)
		if j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion {
			if index := g.IntN(7) - 1; index >= 0 {
				pod.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(index)
			}
			pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = fmt.Sprint(failed)
			if g.oneIn(4) {
				pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = "1"
				failed++
			}
		}
		ended := secondsAgo(g.state, 40-10*failed-i)
		if g.oneIn(4) {
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(ended.Add(30*time.Second))), new(int64(30))
		}
		if g.oneIn(3) {
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue})
		}
		terminal := cluster.IsTerminal(pod)
		switch {
		case pod.Status.Phase == v1.PodRunning && g.oneIn(2):
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: secondsAgo(g.state, 150)})
		case terminal && g.oneIn(2):
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: ended})
		case terminal && g.oneIn(2): //nolint:gocritic // each call is another draw
			pod.CreationTimestamp = ended
		}
		for _, name := range []string{"c", "d"} {
			status := v1.ContainerStatus{Name: name, RestartCount: g.Int32N(3)}
			switch {
			case terminal && !g.oneIn(3):
				status.State.Terminated = &v1.ContainerStateTerminated{ExitCode: g.Int32N(4), FinishedAt: ended}
			case !terminal:
				status.State.Running = &v1.ContainerStateRunning{}
			}
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		}
		if terminal && g.oneIn(4) { // a sidecar
			pod.Spec.InitContainers = []v1.Container{{Name: "s", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
			status := v1.ContainerStatus{Name: "s"}
			if !g.oneIn(4) {
				status.State.Terminated = &v1.ContainerStateTerminated{FinishedAt: ended}
			}
			pod.Status.InitContainerStatuses = []v1.ContainerStatus{status}
		}
		all = append(all, pod)
	}
	return all
}
