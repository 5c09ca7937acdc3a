// Package cronjob says when the CronJobs of a cluster run, and with how many pods.
package cronjob

import (
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// CronJob describes what a CronJob does at its scheduled times, which a simulation does not wait for.
type CronJob struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Schedule is the schedule as the user wrote it. TimeZone is missing if it is the controller manager's.
	Schedule string `json:"schedule"`
	TimeZone string `json:"timeZone,omitempty"`
	// When is the schedule in words, such as every day at 03:00.
	When string `json:"when"`
	// Pods is the number of pods that a run has at the same time.
	Pods int `json:"pods"`
	// Suspended means that the CronJob never runs.
	Suspended bool `json:"suspended,omitempty"`
}

// All returns the CronJobs of the state, in order of arrival.
func All(state *cluster.State) []CronJob { return list.Map(state.CronJobs, Describe) }

// Describe describes the CronJob.
func Describe(obj *batchv1.CronJob) CronJob {
	return CronJob{
		Namespace: obj.Namespace, Name: obj.Name, Schedule: obj.Spec.Schedule, TimeZone: ptr.Deref(obj.Spec.TimeZone, ""),
		When: scheduleInWords(obj.Spec.Schedule), Pods: controller.PodsOfRun(obj), Suspended: ptr.Deref(obj.Spec.Suspend, false),
	}
}

// DescribeRuns returns a sentence such as "cronjob/nightly runs every day at 03:00, with 3 pods".
func (c CronJob) DescribeRuns() string {
	when, name := c.When, cluster.Ref{Kind: "CronJob", Namespace: c.Namespace, Name: c.Name}.Qualified()
	if c.TimeZone != "" {
		when += " in " + c.TimeZone
	}
	if c.Suspended {
		return fmt.Sprintf("%s is suspended, and would run %s, with %s", name, when, words.Count(c.Pods, "pod"))
	}
	return fmt.Sprintf("%s runs %s, with %s", name, when, words.Count(c.Pods, "pod"))
}

// scheduleInWords says when a schedule is due: "every day at 03:00". It repeats a schedule that is not that simple.
func scheduleInWords(schedule string) string {
	literally := fmt.Sprintf("by the schedule %q", schedule)
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return literally
	}
	spec, is := parsed.(*cron.SpecSchedule)
	if !is {
		return literally
	}
	minutes, hours := scheduleValues(spec.Minute, 0, 59), scheduleValues(spec.Hour, 0, 23)
	days, months, weekdays := scheduleValues(spec.Dom, 1, 31), scheduleValues(spec.Month, 1, 12), scheduleValues(spec.Dow, 0, 6)
	on := ""
	switch {
	case len(months) < 12 || len(days) < 31 && len(weekdays) < 7 || len(days) > 1 && len(days) < 31:
		return literally
	case len(days) == 1:
		on = fmt.Sprintf("on day %d of every month ", days[0])
	case slices.Equal(weekdays, []int{1, 2, 3, 4, 5}):
		on = "from Monday to Friday "
	case len(weekdays) < 7:
		var names []string
		for _, day := range weekdays {
			names = append(names, time.Weekday(day).String()+"s")
		}
		on = "on " + words.And(names) + " "
	}
	const mostTimes = 3
	switch everyMinutes, everyHours := evenStep(minutes, 60), evenStep(hours, 24); {
	case everyMinutes == 1 && everyHours == 1:
		return on + "every minute"
	case everyMinutes > 0 && everyMinutes < 60 && everyHours == 1:
		return fmt.Sprintf("%severy %d minutes", on, everyMinutes)
	case everyMinutes == 60 && everyHours == 1:
		return on + "every hour"
	case len(minutes) == 1 && everyHours == 1:
		return fmt.Sprintf("%severy hour, %s after the full hour", on, words.Count(minutes[0], "minute"))
	case everyMinutes == 60 && everyHours > 1 && everyHours < 24 && len(hours) > mostTimes:
		return fmt.Sprintf("%severy %d hours", on, everyHours)
	case len(minutes) == 1 && len(hours) <= mostTimes:
		var times []string
		for _, hour := range hours {
			times = append(times, fmt.Sprintf("%02d:%02d", hour, minutes[0]))
		}
		if on == "" {
			on = "every day "
		}
		return on + "at " + words.And(times)
	}
	return literally
}

// scheduleValues returns the values of a schedule's field between first and last.
func scheduleValues(bits uint64, first, last int) (values []int) {
	for value := first; value <= last; value++ {
		if bits&(1<<value) != 0 {
			values = append(values, value)
		}
	}
	return values
}

// evenStep returns the distance between values that divide the circle evenly from 0 on; 0 if they do not. The minutes 0, 15, 30, 45 have
// distance 15.
func evenStep(values []int, circle int) int {
	if circle%len(values) != 0 {
		return 0
	}
	step := circle / len(values)
	for i, value := range values {
		if value != i*step {
			return 0
		}
	}
	return step
}
