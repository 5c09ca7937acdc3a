package controller

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// BusyHour is a clock hour in UTC, with the CronJobs that are due in it, in order of arrival.
type BusyHour struct {
	Begin    time.Time
	CronJobs []*batchv1.CronJob
}

// busyHours is the number of hours of which the busiest is found: 31 days, so that each day of a month is among them.
const busyHours = 31 * 24

// FindBusiestHour returns the clock hour, of the 31 days from the next full hour on, in which the pods of the CronJobs that are due request the
// largest share of what all nodes have, of CPU or of memory, whichever share is larger; the first of equal hours. A CronJob counts once, also if
// it is due several times in the hour. CronJobs that are suspended do not count, nor those whose concurrencyPolicy allows one Job and that have
// one. The hour has no CronJobs if none is ever due.
func FindBusiestHour(s *cluster.State) BusyHour {
	begin := s.Now.UTC().Truncate(time.Hour)
	if begin.Before(s.Now.Time) {
		begin = begin.Add(time.Hour)
	}
	has := v1.ResourceList{}
	for _, node := range s.Nodes {
		for _, name := range measuredResources {
			sum := has[name]
			sum.Add(node.Status.Allocatable[name])
			has[name] = sum
		}
	}
	due := make([][]*batchv1.CronJob, busyHours)
	shares := make([][len(measuredResources)]float64, busyHours)
	hoursOf := map[string][]int{}
	for _, cronJob := range s.CronJobs {
		if ptr.Deref(cronJob.Spec.Suspend, false) || cronJob.Spec.ConcurrencyPolicy != batchv1.AllowConcurrent && hasUnfinishedJob(s, cronJob) {
			continue
		}
		schedule := formatSchedule(cronJob)
		hours, known := hoursOf[schedule]
		if !known {
			hours = findDueHours(schedule, begin)
			hoursOf[schedule] = hours
		}
		requests := requestsOfRun(cronJob)
		for _, hour := range hours {
			due[hour] = append(due[hour], cronJob)
			for i, name := range measuredResources {
				shares[hour][i] += requests[name] / max(1e-9, has.Name(name, "").AsApproximateFloat64())
			}
		}
	}
	busiest, most := 0, -1.0
	for hour := range due {
		if share := max(shares[hour][0], shares[hour][1]); len(due[hour]) > 0 && share > most {
			busiest, most = hour, share
		}
	}
	return BusyHour{begin.Add(time.Duration(busiest) * time.Hour), due[busiest]}
}

// measuredResources are the resources by which hours are compared.
var measuredResources = [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

// formatSchedule returns the schedule with its time zone, as the CronJob controller parses it: pkg/controller/cronjob/cronjob_controllerv2.go.
// The controller manager's own time zone is UTC here.
func formatSchedule(cronJob *batchv1.CronJob) string {
	if strings.Contains(cronJob.Spec.Schedule, "TZ") {
		return cronJob.Spec.Schedule
	}
	if zone := cronJob.Spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err == nil {
			return fmt.Sprintf("TZ=%s %s", *zone, cronJob.Spec.Schedule)
		}
	}
	return "TZ=UTC " + cronJob.Spec.Schedule
}

// findDueHours returns the hours from the beginning on in which the schedule is due; none for a schedule that does not parse, or is never due.
func findDueHours(schedule string, begin time.Time) (hours []int) {
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return nil
	}
	for at := begin.Add(-time.Second); ; {
		at = parsed.Next(at)
		hour := int(at.Sub(begin) / time.Hour)
		if at.IsZero() || hour >= busyHours {
			return hours
		}
		hours = append(hours, hour)
		at = begin.Add(time.Duration(hour+1)*time.Hour - time.Second)
	}
}

// PodsOfRun returns the number of pods that a Job of the CronJob starts with.
func PodsOfRun(cronJob *batchv1.CronJob) int {
	job := &cronJob.Spec.JobTemplate.Spec
	if ptr.Deref(job.Suspend, false) {
		return 0
	}
	pods := ptr.Deref(job.Parallelism, 1)
	if job.Completions != nil {
		pods = min(pods, *job.Completions)
	}
	return int(pods)
}

// requestsOfRun returns what all pods of a Job of the CronJob request of the measured resources. A limit is a request, as for the API server, if
// there is no other.
func requestsOfRun(cronJob *batchv1.CronJob) map[v1.ResourceName]float64 {
	pod := &v1.Pod{Spec: cronJob.Spec.JobTemplate.Spec.Template.Spec}
	requests, limits := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}), resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})
	sum := map[v1.ResourceName]float64{}
	for _, name := range measuredResources {
		of := requests
		if _, requested := requests[name]; !requested {
			of = limits
		}
		sum[name] = float64(PodsOfRun(cronJob)) * of.Name(name, "").AsApproximateFloat64()
	}
	return sum
}

// hasUnfinishedJob reports whether a Job of the CronJob still runs.
func hasUnfinishedJob(s *cluster.State, cronJob *batchv1.CronJob) bool {
	return list.Count(s.Jobs, func(job *batchv1.Job) bool { return metav1.IsControlledBy(job, cronJob) && !jobutil.IsJobFinished(job) }) > 0
}
