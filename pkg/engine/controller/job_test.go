package controller

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/input/admission"
)

func job(kind, spec string) string {
	return `
apiVersion: batch/v1
kind: ` + kind + `
metadata: {name: sum}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}
` + spec
}

func TestJobPods(t *testing.T) {
	tests := []struct {
		name, spec string
		pods       int
	}{
		{"one by default", "", 1},
		{"no more than completions", "  parallelism: 5\n  completions: 3\n", 3},
		{"no more than parallelism", "  parallelism: 2\n  completions: 3\n", 2},
		{"a work queue", "  parallelism: 4\n", 4},
		{"suspended", "  parallelism: 4\n  suspend: true\n", 0},
		{"less what has succeeded", "  parallelism: 4\n  completions: 5\nstatus: {succeeded: 3}\n", 2},
		{"a work queue that has begun to empty", "  parallelism: 4\nstatus: {succeeded: 1}\n", 0},
		{"complete", "status: {succeeded: 1, conditions: [{type: Complete, status: \"True\"}]}\n", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.apply(job("Job", test.spec))
			w.check("pods", len(w.state.Pods), test.pods)
			w.check("active", w.state.Jobs[0].Status.Active, int32(test.pods))
		})
	}
}

func TestJobSuspendedLaterLosesItsPods(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(job("Job", "  parallelism: 2\n"))
	w.apply(job("Job", "  parallelism: 2\n  suspend: true\n"))
	w.check("pods", len(w.state.Pods), 0)
}

func TestIndexedJob(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(job("Job", "  parallelism: 3\n  completions: 3\n  completionMode: Indexed\n"))
	w.state = admission.Delete(w.state, w.state.Pods[1])
	w.settle()
	w.waitOut()
	var hosts []string
	for _, pod := range w.state.Pods {
		hosts = append(hosts, pod.Spec.Hostname)
		if !strings.HasPrefix(pod.Name, pod.Spec.Hostname+"-") {
			t.Errorf("pod %s of index %s", pod.Name, pod.Spec.Hostname)
		}
		w.check("label", pod.Labels["batch.kubernetes.io/job-name"], "sum")
	}
	w.check("hosts: the index that was lost is made again", hosts, []string{"sum-0", "sum-2", "sum-1"})
}

func TestCronJobRunsOnRequest(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}}}
`)
	w.check("by itself", len(w.state.Pods), 0)
	for range 2 {
		next, made, err := RunCronJob(w.state, w.state.CronJobs[0])
		if err != nil {
			t.Fatal(err)
		}
		w.check("owner", made.OwnerReferences[0].UID, w.state.CronJobs[0].UID)
		w.state = next
	}
	w.settle()
	w.check("two runs", len(w.state.Pods), 4)
	w.state = admission.Delete(w.state, w.state.CronJobs[0])
	w.check("all goes with the CronJob", []int{len(w.state.Jobs), len(w.state.Pods)}, []int{0, 0})
}
