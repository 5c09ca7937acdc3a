package explain

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
)

func TestWhyNoPodsOfJob(t *testing.T) {
	ended := func(how batchv1.JobConditionType) func(*batchv1.Job) {
		return func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: v1.ConditionTrue}}
		}
	}
	suspend := func(job *batchv1.Job) { job.Spec.Suspend = new(true) }
	for want, change := range map[string]func(*batchv1.Job){
		"":               func(*batchv1.Job) {},
		"it is complete": ended(batchv1.JobComplete),
		"it has failed":  ended(batchv1.JobFailed),
		`it is suspended; simulate run --patch job/train='{"spec":{"suspend":false}}' resumes it`: suspend,
		"it is suspended and waits for quota in Kueue's queue team; simulate queue --workload train says why": func(job *batchv1.Job) {
			suspend(job)
			job.Labels = map[string]string{cause.QueueLabel: "team"}
		},
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train"}}
		change(job)
		if got := whyNoPodsOfJob(job); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
