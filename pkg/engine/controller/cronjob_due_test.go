package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// It is Tuesday, 2024-10-22, half past eight. The nodes have 10 CPU and 100 Gi.
func TestFindBusiestHour(t *testing.T) {
	type change func(*batchv1.CronJob)
	job := func(name, schedule, cpu, memory string, pods int32, changes ...change) *batchv1.CronJob {
		c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "1"}}
		c.Spec = batchv1.CronJobSpec{Schedule: schedule, ConcurrencyPolicy: batchv1.AllowConcurrent}
		c.Spec.JobTemplate.Spec = batchv1.JobSpec{Parallelism: &pods, Template: v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}}}}}}}
		for _, change := range changes {
			change(c)
		}
		return c
	}
	in := func(zone string) change { return func(c *batchv1.CronJob) { c.Spec.TimeZone = &zone } }
	suspended := func(c *batchv1.CronJob) { c.Spec.Suspend = ptr.To(true) }
	forbid := func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }
	limited := func(c *batchv1.CronJob) {
		r := &c.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Resources
		r.Limits, r.Requests = r.Requests, nil
	}
	for name, test := range map[string]struct {
		jobs []*batchv1.CronJob
		want string
	}{
		"none":         {nil, "2024-10-22 09:00 []"},
		"never due":    {[]*batchv1.CronJob{job("a", "0 0 30 2 *", "1", "1Gi", 1)}, "2024-10-22 09:00 []"},
		"no schedule":  {[]*batchv1.CronJob{job("a", "often", "1", "1Gi", 1)}, "2024-10-22 09:00 []"},
		"one":          {[]*batchv1.CronJob{job("a", "15 3 * * *", "1", "1Gi", 1)}, "2024-10-23 03:00 [a]"},
		"two together": {[]*batchv1.CronJob{job("large", "0 5 * * *", "3", "1Gi", 1), job("b", "10 7 * * *", "2", "1Gi", 1), job("c", "50 7 * * *", "2", "1Gi", 1)}, "2024-10-23 07:00 [b c]"},
		// 40 of 100 Gi are more than 3 of 10 CPU.
		"memory":        {[]*batchv1.CronJob{job("cpu", "0 5 * * *", "3", "1Gi", 1), job("memory", "0 6 * * *", "1", "40Gi", 1)}, "2024-10-23 06:00 [memory]"},
		"several pods":  {[]*batchv1.CronJob{job("one", "0 5 * * *", "3", "1Gi", 1), job("four", "0 6 * * *", "1", "1Gi", 4)}, "2024-10-23 06:00 [four]"},
		"limits":        {[]*batchv1.CronJob{job("a", "0 5 * * *", "3", "1Gi", 1), job("b", "0 6 * * *", "4", "1Gi", 1, limited)}, "2024-10-23 06:00 [b]"},
		"day of month":  {[]*batchv1.CronJob{job("daily", "0 2 * * *", "1", "1Gi", 1), job("monthly", "30 2 1 * *", "1", "1Gi", 1)}, "2024-11-01 02:00 [daily monthly]"},
		"every minute":  {[]*batchv1.CronJob{job("often", "* * * * *", "1", "1Gi", 1), job("daily", "0 2 * * *", "1", "1Gi", 1)}, "2024-10-23 02:00 [often daily]"},
		"a duration":    {[]*batchv1.CronJob{job("a", "@every 30m", "1", "1Gi", 1)}, "2024-10-22 09:00 [a]"},
		"a suspended":   {[]*batchv1.CronJob{job("a", "0 5 * * *", "3", "1Gi", 1, suspended), job("b", "0 6 * * *", "1", "1Gi", 1)}, "2024-10-23 06:00 [b]"},
		"one runs":      {[]*batchv1.CronJob{job("runs", "0 5 * * *", "3", "1Gi", 1, forbid), job("b", "0 6 * * *", "1", "1Gi", 1)}, "2024-10-23 06:00 [b]"},
		"summer's time": {[]*batchv1.CronJob{job("a", "0 3 * * *", "1", "1Gi", 1, in("Europe/Berlin"))}, "2024-10-23 01:00 [a]"},
		// On Sunday the clocks go back: 03:00 in Berlin is 02:00 then.
		"winter's time": {[]*batchv1.CronJob{job("berlin", "0 3 * * *", "1", "1Gi", 1, in("Europe/Berlin")), job("utc", "30 2 * * *", "1", "1Gi", 1)}, "2024-10-27 02:00 [berlin utc]"},
		"the first":     {[]*batchv1.CronJob{job("a", "0 5 * * *", "1", "1Gi", 1), job("b", "0 4 * * *", "1", "1Gi", 1)}, "2024-10-23 04:00 [b]"},
	} {
		state := (&cluster.State{}).With(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")}}})
		state.Now = metav1.NewTime(time.Date(2024, 10, 22, 8, 30, 0, 0, time.UTC))
		for _, c := range test.jobs {
			state = state.With(c)
			if c.Name == "runs" {
				state = state.With(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "runs-1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, cronJobKind)}}})
			}
		}
		hour := FindBusiestHour(state)
		var names []string
		for _, c := range hour.CronJobs {
			names = append(names, c.Name)
		}
		if diff := cmp.Diff(test.want, hour.Begin.Format("2006-01-02 15:04 ")+fmt.Sprint(names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
