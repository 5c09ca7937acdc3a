package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/input/admission"
)

// podsOfJob returns pods that words describe: the phase, then "ending" (deletion was requested), "counted" (it has no finalizer),
// "disrupted", "@1" (its index) and "×1" (how often the index had failed before). All pods that have ended did so ten minutes ago.
func podsOfJob(w *world, pods ...string) []*v1.Pod {
	owner := w.state.Jobs[0]
	// Deletion was requested ten minutes ago, and a minute of the grace period is left.
	ending, grace := metav1.NewTime(w.state.Now.Add(time.Minute)), int64(11*60)
	var made []*v1.Pod
	for i, words := range pods {
		fields := strings.Fields(words)
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("p%d", i), UID: types.UID(fmt.Sprintf("p%d", i)), Labels: owner.Spec.Selector.MatchLabels, Annotations: map[string]string{},
				Finalizers: []string{batchv1.JobTrackingFinalizer}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, jobKind)},
			},
			Spec:   v1.PodSpec{NodeName: "n1"},
			Status: v1.PodStatus{Phase: v1.PodPhase(fields[0])},
		}
		for _, word := range fields[1:] {
			switch first, rest := word[:1], strings.TrimLeft(word, "@×"); {
			case word == "ending":
				pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ending, &grace
			case word == "counted":
				pod.Finalizers = nil
			case word == "disrupted":
				pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue})
			case first == "@":
				pod.Annotations[batchv1.JobCompletionIndexAnnotation] = rest
			default:
				pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = rest
			}
		}
		made = append(made, pod)
	}
	return made
}

// Each case is one sync of a Job with the given pods: what the sync counts, and which pods it creates.
func TestJobSync(t *testing.T) {
	const indexed = "  completionMode: Indexed\n  parallelism: 4\n  completions: 4\n"
	const perIndex = indexed + "  backoffLimitPerIndex: 1\n"
	const failIndex = "  podFailurePolicy: {rules: [{action: FailIndex, onPodConditions: [{type: DisruptionTarget}]}]}\n"
	const ignore = "  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}\n"
	tests := []struct {
		name, spec string
		pods       []string
		want       string   // the status
		indexes    string   // succeeded and failed ones
		created    []string // index, and how often it has failed
	}{
		{"a failed pod", "", []string{"Failed"}, "active 1, failed 1, terminating 0", "", []string{""}},
		{"counted before", "status: {failed: 1}\n", []string{"Failed counted"}, "active 1, failed 1, terminating 0", "", []string{""}},
		{"in another sync that did not end", "status: {uncountedTerminatedPods: {failed: [p0, gone]}}\n", []string{"Failed"}, "active 1, failed 2, terminating 0", "", []string{""}},
		{"a pod that is to end", "", []string{"Running ending"}, "active 1, failed 1, terminating 1", "", []string{""}},
		{"a pod that is to end, and not replaced before", "  podReplacementPolicy: Failed\n", []string{"Running ending"}, "active 0, failed 0, terminating 1", "", nil},
		{"as a podFailurePolicy has it by default", ignore, []string{"Running ending disrupted"}, "active 0, failed 0, terminating 1", "", nil},
		{"ignored", ignore, []string{"Failed disrupted"}, "active 1, failed 0, terminating 0", "", []string{""}},
		{"failed more often than the limit", "  backoffLimit: 1\nstatus: {failed: 1}\n", []string{"Failed", "Running"},
			"active 0, failed 3, terminating 1, FailureTarget/BackoffLimitExceeded", "", nil},
		{"as often as the limit", "  backoffLimit: 1\n", []string{"Failed"}, "active 1, failed 1, terminating 0", "", []string{""}},
		{"succeeded", "", []string{"Succeeded"}, "active 0, failed 0, terminating 0, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached", "", nil},
		{"a work queue that waits for the rest", "  parallelism: 2\n", []string{"Succeeded", "Running"}, "active 1, failed 0, terminating 0", "", nil},
		{"too many", "  parallelism: 1\n  completions: 3\n", []string{"Running", "Pending"}, "active 1, failed 0, terminating 1", "", nil},
		{"suspended", "  suspend: true\n", []string{"Running"}, "active 0, failed 0, terminating 1, Suspended/JobSuspended", "", nil},
		{"resumed", "status: {conditions: [{type: Suspended, status: \"True\"}]}\n", nil, "active 1, failed 0, terminating 0, Suspended/JobResumed", "", []string{""}},
		{"the FailureTarget of an earlier sync", "status: {failed: 2, conditions: [{type: FailureTarget, status: \"True\", reason: R}]}\n", []string{"Running ending counted"},
			"active 0, failed 2, terminating 1, FailureTarget/R", "", nil},
		{"when the last pod has ended", "status: {failed: 2, conditions: [{type: FailureTarget, status: \"True\", reason: R}]}\n", nil,
			"active 0, failed 2, terminating 0, FailureTarget/R, Failed/R", "", nil},

		{"the first indexes that lack a pod", indexed, []string{"Running @1", "Succeeded @2"}, "active 3, failed 0, terminating 0", "2", []string{"0", "3"}},
		{"the index of a pod that is to end", indexed, []string{"Running @0", "Running ending @1", "Running @2", "Running @3"}, "active 4, failed 1, terminating 1", "", []string{"1"}},
		{"not before it has failed", indexed + "  podReplacementPolicy: Failed\n", []string{"Running @0", "Running ending @1", "Running @3"},
			"active 3, failed 0, terminating 1", "", []string{"2"}},
		{"two of an index, and none", indexed, []string{"Running @0", "Running @0", "Running", "Running @9"}, "active 1, failed 0, terminating 3", "", nil},
		{"success of an index counted once", indexed + "status: {completedIndexes: \"1\", succeeded: 1}\n", []string{"Succeeded @1", "Running @0", "Running @2", "Running @3"},
			"active 3, failed 0, terminating 0", "1", nil},
		{"a success policy", indexed + "  successPolicy: {rules: [{succeededIndexes: \"1\"}]}\n", []string{"Succeeded @1", "Running @0"},
			"active 0, failed 0, terminating 1, SuccessCriteriaMet/SuccessPolicy", "1", nil},

		{"a failure of an index", perIndex, []string{"Running @0", "Failed @1", "Running @2", "Running @3"}, "active 4, failed 0, terminating 0", "/", []string{"1×1"}},
		{"an index that has failed for good", perIndex, []string{"Running @0", "Failed @1 ×1", "Running @2", "Running @3"}, "active 3, failed 1, terminating 0", "/1", nil},
		{"all others have succeeded", perIndex + "status: {completedIndexes: 1-3}\n", []string{"Failed @0 ×1"},
			"active 0, failed 1, terminating 0, FailureTarget/FailedIndexes, Failed/FailedIndexes", "1-3/0", nil},
		{"too many indexes", perIndex + "  maxFailedIndexes: 1\nstatus: {failedIndexes: \"3\"}\n", []string{"Failed @0 ×1", "Running @1"},
			"active 0, failed 2, terminating 1, FailureTarget/MaxFailedIndexesExceeded", "/0,3", nil},
		{"FailIndex", perIndex + failIndex, []string{"Running @0", "Failed disrupted @1", "Running @2", "Running @3"}, "active 3, failed 1, terminating 0", "/1", nil},
		{"an ignored failure of an index", perIndex + ignore, []string{"Running @0", "Failed disrupted @1 ×1", "Running @2", "Running @3"},
			"active 4, failed 0, terminating 0", "/", []string{"1×1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.admit(decode(t, job("Job", test.spec))...)
			for _, pod := range podsOfJob(w, test.pods...) {
				w.state = w.state.With(pod)
			}
			next, err := w.controllers.Reconcile(w.state)
			if err != nil {
				t.Fatal(err)
			}
			synced := next.Jobs[0].Status
			w.check("status", status(next.Jobs[0]), test.want)
			indexes := synced.CompletedIndexes
			if synced.FailedIndexes != nil {
				indexes += "/" + *synced.FailedIndexes
			}
			w.check("indexes", indexes, test.indexes)
			var created []string
			for _, pod := range next.Pods {
				if strings.HasPrefix(pod.Name, "sum-") {
					index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
					if failures := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; failures != "" {
						index += "×" + failures
					}
					created = append(created, index)
					w.check("is to be counted", admission.HasJobTrackingFinalizer(pod), true)
				}
			}
			w.check("created", created, test.created)
		})
	}
}

// The last failed pod of an index keeps its finalizer until its replacement continues its count.
func TestJobKeepsTheLastFailedPodOfAnIndex(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.admit(decode(t, job("Job", "  completionMode: Indexed\n  completions: 1\n  backoffLimitPerIndex: 3\n"))...)
	failed := podsOfJob(w, "Failed @0 ×1")[0]
	failed.DeletionTimestamp = ptr.To(w.state.Now)
	w.state = w.state.With(failed)
	w.settle()
	w.check("while it waits", []int{len(w.state.Pods), int(w.state.Jobs[0].Status.Failed)}, []int{1, 0})
	began := w.state.Now
	w.wait()
	if waited := w.state.Now.Sub(began.Time); waited < 15*time.Second || waited > 25*time.Second {
		t.Errorf("waited for %v, want 20 s for a second failure", waited)
	}
	w.check("then", status(w.state.Jobs[0]), "active 1, failed 1, terminating 0")
	w.check("the failed one, which somebody had deleted, is gone", w.state.Pods[0].Annotations[batchv1.JobIndexFailureCountAnnotation], "2")
}

// If nothing is remembered of a Job, its pods say how long it waits after the last of them ended: 10 s after one failure since the last
// success, 20 s after two, 40 s after three.
func TestJobWaitsAfterFailuresThatWereCountedBefore(t *testing.T) {
	for _, test := range []struct {
		name string
		pods []string // how many seconds ago each ended is in ago
		ago  []int
		want int // seconds
	}{
		{"one", []string{"Failed counted"}, []int{4}, 6},
		{"three", []string{"Failed counted", "Failed counted", "Failed counted"}, []int{90, 4, 30}, 36},
		{"one of which has yet to be counted", []string{"Failed counted", "Failed"}, []int{30, 4}, 16},
		{"long ago", []string{"Failed counted", "Failed counted"}, []int{60, 20}, 0},
		{"before a success", []string{"Failed counted", "Succeeded counted", "Failed counted"}, []int{8, 6, 4}, 6},
		{"before a success that has yet to be counted", []string{"Failed counted", "Succeeded"}, []int{4, 2}, 0},
		{"without a pod that the Job did not want", []string{"Failed counted ending"}, []int{4}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.admit(decode(t, job("Job", "  completions: 9\n"))...)
			began := w.state.Now
			for i, pod := range podsOfJob(w, test.pods...) {
				at := metav1.NewTime(began.Add(-time.Duration(test.ago[i]) * time.Second))
				pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: at}}
				w.state = w.state.With(pod)
			}
			active := func() bool {
				return slices.ContainsFunc(w.state.Pods, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning })
			}
			w.settle()
			if test.want == 0 {
				w.check("there is another at once", active(), true)
				return
			}
			w.check("there is another at once", active(), false)
			at, _ := w.controllers.Next(w.state)
			w.check("seconds until it comes", int(at.Sub(began.Time).Seconds()), test.want)
			w.wait()
			w.check("then there is", active(), true)
		})
	}
}

// A failure 2 s ago comes before a success 1 s ago, which the controller remembers even when the succeeded pod is gone.
func TestJobRemembersASuccess(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.admit(decode(t, job("Job", "  completions: 9\n"))...)
	for i, pod := range podsOfJob(w, "Failed counted", "Succeeded counted") {
		at := metav1.NewTime(w.state.Now.Add(time.Duration(i-2) * time.Second))
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: at}}
		w.state = w.state.With(pod)
	}
	next, err := w.controllers.Reconcile(w.state)
	if err != nil {
		t.Fatal(err)
	}
	more := *next.Jobs[0]
	more.Spec.Parallelism = ptr.To[int32](2)
	w.state = next.With(&more).Without(next.Pods[1])
	w.settle()
	w.check("another comes at once", status(w.state.Jobs[0]), "active 2, failed 0, terminating 0")
}

func TestJobDeadline(t *testing.T) {
	for _, test := range []struct {
		name, spec, want string
	}{
		{"past", "  activeDeadlineSeconds: 60\n", "active 0, failed 1, terminating 0, FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"},
		{"to come", "  activeDeadlineSeconds: 600\n", "active 1, failed 0, terminating 0"},
		{"suspended", "  activeDeadlineSeconds: 60\n  suspend: true\n", "active 0, failed 0, terminating 0, Suspended/JobSuspended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.apply(job("Job", test.spec))
			if at, waits := w.controllers.Next(w.state); waits {
				t.Errorf("the clock goes on to %v: a deadline alone must not end a Job, whose pods are looked at while they run", at)
			}
			later := *w.state
			later.Now = metav1.NewTime(w.state.Now.Add(time.Minute))
			w.state = &later
			w.settle()
			w.check("status", status(w.state.Jobs[0]), test.want)
		})
	}
}

// Pods that no Job will count lose their finalizer at once.
func TestJobPodsWithoutJob(t *testing.T) {
	for _, test := range []struct {
		name, spec, pod string
		want            []string // the finalizers of what is left
	}{
		{"ended", "", "Failed ending", nil},
		{"there", "", "Failed", []string{"p0[]"}},
		{"of a Job that has finished", "status: {conditions: [{type: Complete, status: \"True\"}]}\n", "Failed", []string{"p0[]"}},
		{"of a Job of another controller", "  managedBy: example.com/queue\n", "Failed", []string{"p0[batch.kubernetes.io/job-tracking]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.admit(decode(t, job("Job", test.spec))...)
			pod := podsOfJob(w, test.pod)[0]
			if test.spec == "" {
				w.state = w.state.Without(w.state.Jobs[0])
			}
			w.state = w.state.With(pod)
			w.settle()
			var left []string
			for _, pod := range w.state.Pods {
				left = append(left, fmt.Sprint(pod.Name, slices.Clone(pod.Finalizers)))
			}
			w.check("left", left, test.want)
		})
	}
}
