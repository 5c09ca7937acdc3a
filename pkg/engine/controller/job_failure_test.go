package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
)

func TestJudgeFailure(t *testing.T) {
	disrupted := v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}}
	exit := func(name string, code int32) v1.ContainerStatus {
		return v1.ContainerStatus{Name: name, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}}
	}
	tests := []struct {
		name, rules string
		status      v1.PodStatus
		want        verdict
	}{
		{"no rule matches", "{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}", v1.PodStatus{}, verdict{}},
		{"a condition", "{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}", disrupted,
			verdict{"Ignore", "Pod default/p has condition DisruptionTarget matching Ignore rule at index 0"}},
		{"of another status", "{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: \"False\"}]}", disrupted, verdict{}},
		{"the first rule that matches", "{action: Count, onPodConditions: [{type: Other}]}, {action: FailJob, onPodConditions: [{type: DisruptionTarget}]}, {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}",
			disrupted, verdict{"FailJob", "Pod default/p has condition DisruptionTarget matching FailJob rule at index 1"}},
		{"an exit code", "{action: FailJob, onExitCodes: {operator: In, values: [3, 42]}}",
			v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{exit("a", 1), exit("b", 42)}},
			verdict{"FailJob", "Container b for pod default/p failed with exit code 42 matching FailJob rule at index 0"}},
		{"an exit code that is none of these", "{action: FailIndex, onExitCodes: {operator: NotIn, values: [1]}}",
			v1.PodStatus{InitContainerStatuses: []v1.ContainerStatus{exit("i", 2)}},
			verdict{"FailIndex", "Container i for pod default/p failed with exit code 2 matching FailIndex rule at index 0"}},
		{"success is no exit code", "{action: FailJob, onExitCodes: {operator: NotIn, values: [1]}}",
			v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{exit("a", 0), {Name: "b"}}}, verdict{}},
		{"of another container", "{action: FailJob, onExitCodes: {containerName: b, operator: In, values: [1]}}",
			v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{exit("a", 1)}}, verdict{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 0, placeAnywhere)
			w.admit(decode(t, job("Job", "  podFailurePolicy: {rules: ["+test.rules+"]}\n"))...)
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Status: test.status}
			if got := judgeFailure(w.state.Jobs[0].Spec.PodFailurePolicy, pod); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// status returns the parts of a Job's status that the recordings have.
func status(job *batchv1.Job) string {
	s := fmt.Sprintf("active %d, failed %d, terminating %d", job.Status.Active, job.Status.Failed, *job.Status.Terminating)
	for _, c := range job.Status.Conditions {
		s += fmt.Sprintf(", %s/%s", c.Type, c.Reason)
	}
	return s
}

// Two of six nodes with a pod each stop answering. The results are recorded: a real control plane did this to Jobs of these specs while the
// pods were Terminating and no kubelet could end them. When the nodes are back, their kubelets end the pods; pods that the Job has not
// counted yet stay as Failed until it has.
func TestJobLosesPodsOnUnreachableNodes(t *testing.T) {
	const disrupted = "onPodConditions: [{type: DisruptionTarget}]"
	tests := []struct {
		name, spec     string
		lost, restored string
	}{
		{"backoffLimit 0", "  backoffLimit: 0\n",
			"active 0, failed 6, terminating 2, FailureTarget/BackoffLimitExceeded",
			"active 0, failed 6, terminating 0, FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"},
		{"default", "", "active 6, failed 2, terminating 2", "active 6, failed 2, terminating 0"},
		{"Ignore", "  backoffLimit: 0\n  podFailurePolicy: {rules: [{action: Ignore, " + disrupted + "}]}\n",
			"active 4, failed 0, terminating 2", "active 6, failed 0, terminating 0"},
		{"FailJob", "  podFailurePolicy: {rules: [{action: FailJob, " + disrupted + "}]}\n",
			"active 4, failed 0, terminating 2",
			"active 0, failed 6, terminating 0, FailureTarget/PodFailurePolicy, Failed/PodFailurePolicy"},
		{"podReplacementPolicy Failed", "  podReplacementPolicy: Failed\n",
			"active 4, failed 0, terminating 2", "active 6, failed 2, terminating 0"},
		{"Indexed", "  completionMode: Indexed\n", "active 6, failed 2, terminating 2", "active 6, failed 2, terminating 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 6, spread)
			w.apply(job("Job", "  parallelism: 6\n  completions: 6\n"+test.spec))
			w.check("at first", status(w.state.Jobs[0]), "active 6, failed 0, terminating 0")

			lost := []string{"n1", "n3"}
			w.fail(node.Unreachable, lost...)
			w.waitOut()
			w.check("lost", status(w.state.Jobs[0]), test.lost)

			next, err := node.Restore(w.state, lost...)
			if err != nil {
				t.Fatal(err)
			}
			w.state = next
			w.settle()
			w.waitOut()
			w.check("restored", status(w.state.Jobs[0]), test.restored)
			w.check("pods", len(w.state.Pods), int(w.state.Jobs[0].Status.Active))
		})
	}
}

// The Node objects of two of the same six pods are deleted. The pod garbage collector marks these pods as failed by a disruption, so that
// they count at once, even if the Job replaces only failed pods.
func TestJobLosesPodsOnDeletedNodes(t *testing.T) {
	const disrupted = "onPodConditions: [{type: DisruptionTarget}]"
	const limit = "active 0, failed 6, terminating 0, FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
	tests := []struct{ name, spec, want string }{
		{"backoffLimit 0", "  backoffLimit: 0\n", limit},
		{"backoffLimit 1", "  backoffLimit: 1\n", limit},
		{"default", "", "active 6, failed 2, terminating 0"},
		{"Ignore", "  backoffLimit: 0\n  podFailurePolicy: {rules: [{action: Ignore, " + disrupted + "}]}\n", "active 6, failed 0, terminating 0"},
		{"FailJob", "  podFailurePolicy: {rules: [{action: FailJob, " + disrupted + "}]}\n",
			"active 0, failed 6, terminating 0, FailureTarget/PodFailurePolicy, Failed/PodFailurePolicy"},
		{"podReplacementPolicy Failed", "  podReplacementPolicy: Failed\n", "active 6, failed 2, terminating 0"},
		{"Indexed", "  completionMode: Indexed\n", "active 6, failed 2, terminating 0"},
		{"backoffLimitPerIndex 0", "  completionMode: Indexed\n  backoffLimitPerIndex: 0\n", "active 4, failed 2, terminating 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 6, spread)
			w.apply(job("Job", "  parallelism: 6\n  completions: 6\n"+test.spec))
			w.fail(node.Deleted, "n1", "n3")
			w.waitOut()
			w.check("lost", status(w.state.Jobs[0]), test.want)
			w.check("pods", len(w.state.Pods), int(w.state.Jobs[0].Status.Active))
		})
	}
}

// A pod that has succeeded or failed by itself does not become disrupted when its node is deleted before its Job has counted the pod.
func TestJobCountsAPodThatHadEnded(t *testing.T) {
	for phase, want := range map[v1.PodPhase]string{
		v1.PodSucceeded: "active 0, failed 0, terminating 0, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached",
		v1.PodFailed:    "active 1, failed 1, terminating 0",
	} {
		w := newWorld(t, 2, placeAnywhere)
		w.apply(job("Job", "  podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: DisruptionTarget}]}]}\n"))
		pod := w.state.Pods[0].DeepCopy()
		pod.Status.Phase = phase
		w.state = w.state.With(pod)
		w.fail(node.Deleted, "n1")
		w.waitOut()
		w.check(string(phase), status(w.state.Jobs[0]), want)
	}
}

// A Pending pod that is deleted counts, too.
func TestJobCountsAPodThatWaited(t *testing.T) {
	w := newWorld(t, 0, placeAnywhere)
	w.apply(job("Job", "  backoffLimit: 0\n"))
	w.state = admission.Delete(w.state, w.state.Pods[0])
	w.settle()
	w.check("deleted", status(w.state.Jobs[0]), "active 0, failed 1, terminating 0, FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded")
	w.check("pods", len(w.state.Pods), 0)
}

func TestJobSaysWhichPodFailedIt(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(job("Job", "  podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: DisruptionTarget}]}]}\n"))
	pod := w.state.Pods[0].DeepCopy()
	pod.Status.Phase = v1.PodFailed
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue})
	before := w.state
	w.state = w.state.With(pod)
	w.settle()
	w.check("message", w.state.Jobs[0].Status.Conditions[1].Message, "Pod default/"+pod.Name+" has condition DisruptionTarget matching FailJob rule at index 0")
	w.check("a failed pod that nobody deletes stays, counted", admission.HasJobTrackingFinalizer(w.state.Pods[0]), false)
	w.check("to the user", FinishedJobs(before, w.state), []string{
		"job/sum failed: PodFailurePolicy: " + w.state.Jobs[0].Status.Conditions[1].Message})
	w.check("once", FinishedJobs(w.state, w.state), []string(nil))
}

// The pod was created 3 minutes ago. Its container ended 2 minutes ago, its sidecar 1 minute ago.
func TestFinishTime(t *testing.T) {
	now := cluster.Epoch.Time
	ended := func(minutes int) v1.ContainerState {
		if minutes == 0 {
			return v1.ContainerState{}
		}
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute))}}
	}
	for _, test := range []struct{ container, sidecar, want int }{{2, 1, 1}, {1, 2, 1}, {2, 0, 3}, {0, 1, 1}, {0, 0, 3}} {
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-3 * time.Minute))},
			Spec:       v1.PodSpec{InitContainers: []v1.Container{{Name: "s", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}},
			Status: v1.PodStatus{
				ContainerStatuses:     []v1.ContainerStatus{{Name: "c", State: ended(test.container)}},
				InitContainerStatuses: []v1.ContainerStatus{{Name: "s", State: ended(test.sidecar)}, {Name: "init", State: ended(0)}},
			},
		}
		if got := now.Sub(finishTime(pod)); got != time.Duration(test.want)*time.Minute {
			t.Errorf("container %d, sidecar %d: the pod ended %v ago, want %d minutes", test.container, test.sidecar, got, test.want)
		}
	}
}

// Each back-off is twice the one before, and at most ten minutes.
func TestJobBackoff(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(job("Job", "  backoffLimit: 100\n  completions: 2\n"))
	var waits []string
	for range 9 {
		failed := w.state.Pods[len(w.state.Pods)-1].DeepCopy()
		failed.Status = v1.PodStatus{Phase: v1.PodFailed, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: w.state.Now}}}
		at := w.state.Now
		w.state = w.state.With(failed)
		w.settle()
		next, _ := w.controllers.Next(w.state)
		waits = append(waits, next.Sub(at.Time).String())
		w.wait()
	}
	w.check("waits", strings.Join(waits, " "), "10s 20s 40s 1m20s 2m40s 5m20s 10m0s 10m0s 10m0s")

	succeeded := w.state.Pods[len(w.state.Pods)-1].DeepCopy()
	succeeded.Status = v1.PodStatus{Phase: v1.PodSucceeded, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: w.state.Now}}}
	w.state = w.state.With(succeeded)
	w.settle()
	w.check("forgotten with a success", w.state.JobBackoffs[w.state.Jobs[0].UID], cluster.JobBackoff{})
	w.check("the next pod comes at once", status(w.state.Jobs[0]), "active 1, failed 9, terminating 0")
}

// A container that fails at once is started again after 1, 12 and 33 seconds. A Job counts that, as it counts failed pods.
func TestJobCountsRestarts(t *testing.T) {
	for limit, want := range map[int]struct {
		after  time.Duration // in which the Job fails; 0 if it does not
		status string
	}{
		1:   {time.Second, "active 0, failed 1, terminating 0, FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"},
		3:   {33 * time.Second, "active 0, failed 1, terminating 0, FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"},
		101: {0, "active 1, failed 0, terminating 0"},
	} {
		w := newWorld(t, 1, placeAnywhere)
		w.state.Containers = &cluster.Containers{}
		objs := decode(t, job("Job", fmt.Sprintf("  backoffLimit: %d\n", limit)))
		template := &objs[0].(*batchv1.Job).Spec.Template.Spec
		template.RestartPolicy, template.Containers[0].Command = v1.RestartPolicyOnFailure, []string{"false"}
		w.admit(objs...)
		w.settle()
		w.waitOut()
		made := w.state.Jobs[0]
		var after time.Duration
		if failed := jobFailure(made); failed != nil {
			after = jobCondition(made.Status.Conditions, batchv1.JobFailureTarget).LastTransitionTime.Sub(made.Status.StartTime.Time)
		}
		w.check(fmt.Sprint("fails with limit ", limit), after, want.after)
		w.check(fmt.Sprint("status with limit ", limit), status(made), want.status)
	}
}
