// Command ordered writes a copy of Kueue's module that decides the same for the same input, in logical time. The copy has one clock, which the
// decider sets; where Kueue takes the order of a Go map, the copy takes an order that the seed gives; what Kueue does at once in several
// goroutines, the copy does one after the other. And since nobody can step Kueue's scheduler from outside, the copy exports a cycle of it, and
// the constructors of the controllers for topologies: see add. Nothing else is changed: [edits] has every line.
package main

import (
	"embed"
	"fmt"
	"os"
	"strings"

	"github.com/faultline/faultline/deciders/kit/ordered"
)

//go:embed add
var add embed.FS

// added are the files that the copy has more.
var added = map[string]string{
	"add/clock.txt":       "pkg/util/wait/logical.go",
	"add/core.txt":        "pkg/controller/core/stepped.go",
	"add/definitions.txt": "apis/kueue/v1beta2/definitions.go",
	"add/hierarchy.txt":   "pkg/cache/hierarchy/ordered.go",
	"add/job.txt":         "pkg/controller/jobs/job/webhook_new.go",
	"add/pod.txt":         "pkg/controller/jobs/pod/webhook_new.go",
	"add/queue.txt":       "pkg/cache/queue/stepped.go",
	"add/resources.txt":   "pkg/resources/ordered.go",
	"add/scheduler.txt":   "pkg/scheduler/stepped.go",
	"add/tas.txt":         "pkg/controller/tas/stepped.go",
}

const (
	importClock     = "\t\"k8s.io/utils/clock\"\n"
	importLogical   = importClock + "\n\tlogical \"sigs.k8s.io/kueue/pkg/util/wait\"\n"
	importWorkload  = "\t\"sigs.k8s.io/kueue/pkg/workload\"\n"
	importHierarchy = "\t\"sigs.k8s.io/kueue/pkg/cache/hierarchy\"\n"
)

var edits = []ordered.Edit{
	{File: "pkg/cache/queue/cluster_queue.go", Times: 1, Old: importClock, New: importLogical},
	{File: "pkg/cache/queue/cluster_queue.go", Times: 1, Old: "realClock = clock.RealClock{}", New: "realClock = logical.Clock"},
	{File: "pkg/controller/core/workload_controller.go", Times: 1, Old: importClock, New: importLogical},
	{File: "pkg/controller/core/workload_controller.go", Times: 1, Old: "realClock = clock.RealClock{}", New: "realClock = logical.Clock"},
	{File: "pkg/controller/core/workload_controller.go", Times: 1, Old: "time.Until(e.ObjectNew.Status.RequeueState.RequeueAt.Time)", New: "e.ObjectNew.Status.RequeueState.RequeueAt.Sub(r.clock.Now())"},
	{File: "pkg/controller/tas/node_controller.go", Times: 1, Old: importClock, New: importLogical},
	{File: "pkg/controller/tas/node_controller.go", Times: 1, Old: "clock.RealClock{}", New: "logical.Clock"},
	{File: "pkg/controller/jobs/pod/pod_controller.go", Times: 1, Old: importClock, New: importLogical},
	{File: "pkg/controller/jobs/pod/pod_controller.go", Times: 1, Old: "= clock.RealClock{}", New: "= logical.Clock"},
	{File: "pkg/cache/hierarchy/cohort.go", Times: 1, Old: "return c.childCqs.UnsortedList()", New: "return orderedQueues(c.childCqs)"},
	{File: "pkg/cache/hierarchy/cohort.go", Times: 1, Old: "return c.childCohorts.UnsortedList()", New: "return orderedCohorts(c.childCohorts)"},
	{File: "pkg/cache/queue/manager.go", Times: 1, Old: "\tfor cqName, cq := range m.hm.ClusterQueues() {\n", New: "\tall := m.hm.ClusterQueues()\n\tfor _, cqName := range hierarchy.Ordered(all) {\n\t\tcq := all[cqName]\n"},
	{File: "pkg/cache/queue/second_pass_queue.go", Times: 1, Old: importWorkload, New: importHierarchy + importWorkload},
	{File: "pkg/cache/queue/second_pass_queue.go", Times: 1, Old: "\tfor _, v := range q.queued {\n", New: "\tfor _, key := range hierarchy.Ordered(q.queued) {\n\t\tv := q.queued[key]\n"},
	{File: "pkg/scheduler/fair_sharing_iterator.go", Times: 1, Old: "\tschdcache \"sigs.k8s.io/kueue/pkg/cache/scheduler\"\n", New: importHierarchy + "\tschdcache \"sigs.k8s.io/kueue/pkg/cache/scheduler\"\n"},
	{File: "pkg/scheduler/fair_sharing_iterator.go", Times: 1, Old: "\tfor cq := range f.cqToEntry {\n\t\treturn cq\n\t}\n\treturn nil\n",
		New: "\tbyName := map[kueue.ClusterQueueReference]*schdcache.ClusterQueueSnapshot{}\n\tfor cq := range f.cqToEntry {\n\t\tbyName[cq.GetName()] = cq\n\t}\n\tfor _, name := range hierarchy.Ordered(byName) {\n\t\treturn byName[name]\n\t}\n\treturn nil\n"},
	{File: "pkg/resources/requests.go", Times: 1, Old: "\tfor k, v := range r {\n\t\tfn(k, v)\n\t}\n", New: "\tfor k, v := range orderedRequests(r) {\n\t\tfn(k, v)\n\t}\n"},
	{File: "pkg/resources/requests.go", Times: 1, Old: "for k, v := range r {\n\t\t\tif !yield(k, v)", New: "for k, v := range orderedRequests(r) {\n\t\t\tif !yield(k, v)"},

	// The scheduler would wait for ever: pods become ready only when it has decided.
	{File: "pkg/scheduler/scheduler.go", Times: 1, Old: "waitForPodsReadyIfNeeded(ctx context.Context, log logr.Logger, e *entry) {\n\tif workload.NeedsSecondPass(e.Obj) {\n\t\treturn\n\t}\n\tif s.cache.PodsReadyForAllAdmittedWorkloads(log) {\n\t\treturn\n\t}\n",
		New: "waitForPodsReadyIfNeeded(ctx context.Context, log logr.Logger, e *entry) bool {\n\tif workload.NeedsSecondPass(e.Obj) {\n\t\treturn false\n\t}\n\tif s.cache.PodsReadyForAllAdmittedWorkloads(log) {\n\t\treturn false\n\t}\n"},
	{File: "pkg/scheduler/scheduler.go", Times: 1, Old: "\ts.cache.WaitForPodsReady(ctx)\n\tlog.V(5).Info(\"Finished waiting for all admitted workloads to be in the PodsReady condition\")\n", New: "\treturn true\n"},
	{File: "pkg/scheduler/scheduler.go", Times: 1, Old: "\ts.waitForPodsReadyIfNeeded(ctx, log, e)\n", New: "\tif s.waitForPodsReadyIfNeeded(ctx, log, e) {\n\t\te.quotaReservedReason = kueue.WorkloadQuotaReservedReasonWaitingForPodsReady\n\t\te.markSkipped(\"waiting for all admitted workloads to be in PodsReady condition\")\n\t\treturn\n\t}\n"},

	{File: "pkg/scheduler/preemption/preemption.go", Times: 1, Old: "const parallelPreemptions = 8", New: "const parallelPreemptions = 1"},
	{File: "pkg/util/parallelize/parallelize.go", Times: 1, Old: "const maxParallelism = 8", New: "const maxParallelism = 1"},
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "ordered:", err)
		os.Exit(1)
	}
}

func write() error {
	c := ordered.Copy{
		Module: "sigs.k8s.io/kueue", Keep: []string{"apis", "client-go", "pkg"}, Extensions: []string{".go", ".mod"}, Edits: edits,
		Add: map[string][]byte{}, Also: map[string]string{},
	}
	for from, to := range added {
		content, err := add.ReadFile(from)
		if err != nil {
			return err
		}
		c.Add[to] = content
	}
	for _, kind := range strings.Fields("admissionchecks clusterqueues cohorts localqueues resourceflavors topologies workloadpriorityclasses workloads") {
		file := "kueue.x-k8s.io_" + kind + ".yaml"
		c.Also["config/components/crd/bases/"+file] = "apis/kueue/v1beta2/definitions/" + file
	}
	return c.Write()
}
