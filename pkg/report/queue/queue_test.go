package queue

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/queue"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
)

func ref(kind, name string) cluster.Ref {
	return cluster.Ref{Kind: kind, Namespace: "ml", Name: name}
}

func workload(job, state string, admissions ...queue.Admission) queue.Workload {
	return queue.Workload{Ref: ref("Workload", "job-"+job), Job: ref("Job", job), Queue: "team", ClusterQueue: "research", CreatedAt: 1, Pods: 4,
		Asks: map[string]string{"cpu": "8", "memory": "16Gi"}, State: state, Admissions: admissions}
}

// answer has a job of before the start, one that is preempted and admitted again, one with a topology that is done, and two that wait.
func answer() *queue.Answer {
	spot := map[string]string{"cpu": "spot", "memory": "spot"}
	done := 2500.0
	before := workload("before", "admitted", queue.Admission{Pods: 4, Flavors: spot})
	before.Before = true
	moved := workload("moved", "admitted", queue.Admission{At: 1, Pods: 4, Flavors: spot}, queue.Admission{At: 2500, Waited: 2400, Pods: 4, Flavors: spot})
	moved.Evictions = []queue.Eviction{{At: 100, Reason: "Preempted", Message: "Preempted to accommodate a workload", By: ref("Job", "racks")}}
	racks := workload("racks", "finished", queue.Admission{At: 101, Waited: 100, Pods: 4, Flavors: map[string]string{"cpu": "reserved", "memory": "spot"}, Places: map[string]int{"a/r-1": 3, "a/r-2": 1}})
	racks.FinishedAt, racks.Priority = &done, 100
	waits, lost := workload("waits", "pending"), workload("lost", "pending")
	waits.Place, waits.Reason, waits.Message = 1, "Pending", "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor spot, 2 more needed"
	lost.ClusterQueue, lost.Queue = "", "none"
	return &queue.Answer{
		Seconds: 2600, Workloads: []queue.Workload{before, moved, racks, waits, lost},
		Queues: []queue.Waits{{Namespace: "ml", Name: "team", ClusterQueue: "research", Admitted: 2, Pending: 1, Median: 0, Most95: 100}, {Namespace: "ml", Name: "none", Pending: 1}},
		Quotas: []queue.Quota{
			{ClusterQueue: "research", Cohort: "all", Flavor: "spot", Resource: "cpu", Nominal: 12, Used: 16, Borrowed: 4, Peak: 16, Mean: 9},
			{ClusterQueue: "research", Cohort: "all", Flavor: "spot", Resource: "memory", Nominal: 34359738368, Used: 34359738368, Peak: 34359738368, Mean: 17179869184},
			{ClusterQueue: "research", Cohort: "all", Flavor: "reserved", Resource: "cpu", Peak: 8, Mean: 7.5},
		},
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("node-1", "node-2"), "jobs")
	reporttest.Formats(t, Formats, New(result, answer(), nil, "v0.1.0"), "all", "queue-report", Kind)
	one := New(result, answer(), []string{"waits"}, "v0.1.0")
	one.Helps = []queue.Help{{Change: "2 more cpu in flavor spot of ClusterQueue research", Helps: true, Then: "it preempts moved"}, {Change: "1 pod at once", Then: "it waits all the same"}}
	reporttest.Formats(t, Formats, one, "one", "queue-report", Kind)
}
