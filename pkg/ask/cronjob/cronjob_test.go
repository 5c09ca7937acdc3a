package cronjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestScheduleInWords(t *testing.T) {
	for schedule, want := range map[string]string{
		"0 3 * * *":     "every day at 03:00",
		"@daily":        "every day at 00:00",
		"30 6,18 * * *": "every day at 06:30 and 18:30",
		"0 3 * * 1":     "on Mondays at 03:00",
		"0 3 * * 1-5":   "from Monday to Friday at 03:00",
		"0 3 * * sat,0": "on Sundays and Saturdays at 03:00",
		"15 2 1 * *":    "on day 1 of every month at 02:15",
		"* * * * *":     "every minute",
		"*/5 * * * *":   "every 5 minutes",
		"*/5 * * * 1":   "on Mondays every 5 minutes",
		"@hourly":       "every hour",
		"5 * * * *":     "every hour, 5 minutes after the full hour",
		"0 */6 * * *":   "every 6 hours",
		"0 */8 * * *":   "every day at 00:00, 08:00 and 16:00",
		"0 */5 * * *":   `by the schedule "0 */5 * * *"`, // 20:00, and again at 00:00
		"*/7 * * * *":   `by the schedule "*/7 * * * *"`,
		"0 3 1 1 *":     `by the schedule "0 3 1 1 *"`,
		"0 3 1 * 1":     `by the schedule "0 3 1 * 1"`,
		"0 3 1,15 * *":  `by the schedule "0 3 1,15 * *"`,
		"@every 90m":    `by the schedule "@every 90m"`,
	} {
		if got := scheduleInWords(schedule); got != want {
			t.Errorf("%s: %s, want %s", schedule, got, want)
		}
	}
}

func TestCronJobs(t *testing.T) {
	job := func(name string, spec batchv1.CronJobSpec) *batchv1.CronJob {
		spec.Schedule = "0 3 * * *"
		return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec}
	}
	of := func(spec batchv1.JobSpec) batchv1.CronJobSpec {
		return batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: spec}}
	}
	zoned := of(batchv1.JobSpec{})
	zoned.TimeZone = ptr.To("Europe/Berlin")
	suspended := of(batchv1.JobSpec{})
	suspended.Suspend = ptr.To(true)
	state := (&cluster.State{}).With(
		job("one", zoned), job("three", of(batchv1.JobSpec{Parallelism: ptr.To[int32](3)})),
		job("two-of-two", of(batchv1.JobSpec{Parallelism: ptr.To[int32](3), Completions: ptr.To[int32](2)})),
		job("held", of(batchv1.JobSpec{Parallelism: ptr.To[int32](3), Suspend: ptr.To(true)})), job("off", suspended),
	)
	var got []string
	for _, c := range All(state) {
		got = append(got, c.DescribeRuns())
	}
	want := []string{
		"cronjob/one runs every day at 03:00 in Europe/Berlin, with 1 pod", "cronjob/three runs every day at 03:00, with 3 pods",
		"cronjob/two-of-two runs every day at 03:00, with 2 pods", "cronjob/held runs every day at 03:00, with 0 pods",
		"cronjob/off is suspended, and would run every day at 03:00, with 1 pod",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
