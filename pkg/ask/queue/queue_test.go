package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// stateAt returns a state with the custom resources, so many seconds after the start.
func stateAt(t *testing.T, seconds int, resources ...string) *cluster.State {
	t.Helper()
	state := &cluster.State{Now: metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))}
	for _, text := range resources {
		object := unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err, text)
		}
		state.CustomResources = append(state.CustomResources, &cluster.CustomResource{Unstructured: object})
	}
	return state
}

const (
	localTeam = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team, namespace: ml}, spec: {clusterQueue: research}}`
	research  = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  cohortName: all
  resourceGroups: [{flavors: [{name: reserved, resources: [{name: cpu, nominalQuota: 6}]}]}]`
)

// workload returns the Workload of a Job with two pods of 2 CPUs each, that came so many seconds after the start, with this status.
func workload(job string, came int, status string) string {
	return fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: job-%[1]s
  namespace: ml
  uid: uid-%[1]s
  creationTimestamp: %[2]s
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %[1]s, uid: u, controller: true}]
spec:
  queueName: team
  podSets: [{name: main, count: 2, template: {spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 2}}}]}}}]
status: %[3]s`, job, start.Add(time.Duration(came)*time.Second).Format(time.RFC3339), status)
}

// admittedTo is the status of a workload whose pods have these CPUs of the flavor.
func admittedTo(flavor string, pods, cpus int, conditions string) string {
	return fmt.Sprintf(`{admission: {clusterQueue: research, podSetAssignments: [{name: main, count: %d, flavors: {cpu: %s}, resourceUsage: {cpu: %d}}]},
  conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}%s]}`, pods, flavor, cpus, conditions)
}

const (
	waitsForOne = `{conditions: [{type: QuotaReserved, status: "False", reason: Pending, lastTransitionTime: "2026-01-01T00:00:00Z",
  message: "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor reserved, 2 more needed"}]}`
	preempted = `{conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: Preempted, lastTransitionTime: "2026-01-01T00:01:00Z"},
  {type: Evicted, status: "True", reason: Preempted, lastTransitionTime: "2026-01-01T00:01:00Z",
   message: "Preempted to accommodate a workload (UID: uid-high, JobUID: u) due to prioritization in the ClusterQueue"}]}`
	isFinished = `, {type: Finished, status: "True", reason: Succeeded, message: done, lastTransitionTime: "2026-01-01T00:03:00Z"}`
)

// Before the start, low has 4 of 6 CPUs. wait and high come after 20 s; high preempts low after 60 s, is done after 180 s, when low has its quota
// again; wait is admitted with one of its two pods.
func TestFollow(t *testing.T) {
	f := &follower{workloads: map[cluster.Ref]*Workload{}}
	inFlavor := func(pods, cpus int, conditions string) string { return admittedTo("reserved", pods, cpus, conditions) }
	for _, state := range []*cluster.State{
		stateAt(t, 0, localTeam, research, workload("low", -100, inFlavor(2, 4, ""))),
		stateAt(t, 20, localTeam, research, workload("low", -100, inFlavor(2, 4, "")), workload("high", 20, waitsForOne), workload("wait", 20, `{}`)),
		stateAt(t, 60, localTeam, research, workload("low", -100, preempted), workload("high", 20, inFlavor(2, 4, "")), workload("wait", 20, waitsForOne)),
		stateAt(t, 180, localTeam, research, workload("low", -100, inFlavor(2, 4, "")), workload("high", 20, inFlavor(2, 4, isFinished)), workload("wait", 20, inFlavor(1, 2, ""))),
		stateAt(t, 200, localTeam, research, workload("low", -100, inFlavor(2, 4, "")), workload("high", 20, inFlavor(2, 4, isFinished)), workload("wait", 20, inFlavor(1, 2, ""))),
	} {
		f.follow(state)
	}
	ref := func(kind, name string) cluster.Ref { return cluster.Ref{Kind: kind, Namespace: "ml", Name: name} }
	expected := func(job string, came float64) Workload {
		return Workload{Ref: ref("Workload", "job-"+job), Job: ref("Job", job), Queue: "team", ClusterQueue: "research", CreatedAt: came, Pods: 2, Asks: map[string]string{"cpu": "4"}}
	}
	reserved := map[string]string{"cpu": "reserved"}
	done := 180.0
	low, high, wait := expected("low", 0), expected("high", 20), expected("wait", 20)
	low.State, low.Admissions = "admitted", []Admission{{Pods: 2, Flavors: reserved}, {At: 180, Waited: 120, Pods: 2, Flavors: reserved}}
	low.Evictions = []Eviction{{At: 60, Reason: "Preempted", By: high.Job, Message: "Preempted to accommodate a workload (UID: uid-high, JobUID: u) due to prioritization in the ClusterQueue"}}
	high.State, high.FinishedAt, high.Admissions = "finished", &done, []Admission{{At: 60, Waited: 40, Pods: 2, Flavors: reserved}}
	wait.State, wait.Admissions = "admitted", []Admission{{At: 180, Waited: 160, Pods: 1, Flavors: reserved}}
	want := &Answer{
		Seconds:   200,
		Workloads: []Workload{low, high, wait},
		Queues:    []Waits{{Namespace: "ml", Name: "team", ClusterQueue: "research", Admitted: 3, Median: 40, Most95: 160}},
		// 4 CPUs are used for 180 s, by low and then high, and 6 for the last 20 s: 840 CPU seconds in 200 s.
		Quotas: []Quota{{ClusterQueue: "research", Cohort: "all", Flavor: "reserved", Resource: "cpu", Nominal: 6, Used: 6, Peak: 6, Mean: 4.2}},
	}
	if diff := cmp.Diff(want, f.answer()); diff != "" {
		t.Error(diff)
	}
}

// Kueue takes the highest priority first, then the workload that came or was evicted first; each ClusterQueue has places of its own.
func TestSetPlaces(t *testing.T) {
	waits := func(queue string, priority int32, came float64, evicted ...float64) Workload {
		w := Workload{ClusterQueue: queue, Priority: priority, CreatedAt: came, State: "pending"}
		for _, at := range evicted {
			w.Evictions = append(w.Evictions, Eviction{At: at})
		}
		return w
	}
	workloads := []Workload{waits("a", 0, 10), waits("a", 0, 5, 30), waits("a", 7, 40), waits("b", 0, 50), {ClusterQueue: "a", State: "admitted"}, waits("a", 0, 20)}
	setPlaces(workloads)
	var places []int
	for _, w := range workloads {
		places = append(places, w.Place)
	}
	if diff := cmp.Diff([]int{2, 4, 1, 1, 0, 3}, places); diff != "" {
		t.Error(diff)
	}
}

func TestVerdict(t *testing.T) {
	job := func(name string) cluster.Ref { return cluster.Ref{Kind: "Job", Namespace: "ml", Name: name} }
	admittedAt := func(name string, seconds ...float64) Workload {
		w := Workload{Ref: cluster.Ref{Kind: "Workload", Namespace: "ml", Name: "job-" + name}, Job: job(name), ClusterQueue: "q", Pods: 2, State: "admitted"}
		for _, at := range seconds {
			w.Admissions = append(w.Admissions, Admission{At: at, Waited: at, Pods: 2, Flavors: map[string]string{"cpu": "spot", "memory": "spot"}})
		}
		return w
	}
	waits := func(name, message string) Workload {
		w := admittedAt(name)
		w.State, w.Message = "pending", message
		return w
	}
	before := admittedAt("before", 0)
	before.Before = true
	partly := admittedAt("partly", 90)
	partly.Admissions[0].Pods = 1
	victim := admittedAt("victim", 0)
	victim.State, victim.Message = "pending", "insufficient unused quota"
	victim.Evictions = []Eviction{{At: 90, Reason: "Preempted", By: job("partly")}}
	late := admittedAt("late", 0, 300)
	late.Evictions = []Eviction{{At: 30, Reason: "NodeFailures"}}
	lost := waits("lost", "")
	lost.ClusterQueue, lost.Queue, lost.Namespace = "", "none", "ml"
	tooMuch := "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor reserved, previously considered podsets requests (0) + current podset request (9600m) > maximum capacity (8)"

	for want, test := range map[string]struct {
		workloads []Workload
		names     []string
	}{
		"No workload: no job of the cluster has a queue of Kueue.":                            {},
		"a is admitted at once, on spot.":                                                     {workloads: []Workload{admittedAt("a", 0)}},
		"before has its quota since before the start.":                                        {workloads: []Workload{before}},
		"a is admitted after 40 s, on spot.":                                                  {workloads: []Workload{before, admittedAt("a", 40), admittedAt("b", 80)}, names: []string{"job/a"}},
		"b is admitted after 1 min 20 s, on spot.":                                            {workloads: []Workload{admittedAt("a", 40), admittedAt("b", 80)}, names: []string{"ml/workload/job-b"}},
		"partly is admitted after 1 min 30 s, on spot, with 1 of 2 pods; it preempts victim.": {workloads: []Workload{partly, victim}, names: []string{"partly"}},
		"victim is admitted at once, on spot; it is preempted by partly after 1 min 30 s, and is not admitted: insufficient unused quota.": {workloads: []Workload{partly, victim}, names: []string{"victim"}},
		"late is admitted after 5 min, on spot; it is evicted (NodeFailures) after 30 s.":                                                  {workloads: []Workload{late}},
		"huge is never admitted: it asks for 9600m cpu, and ClusterQueue q can have 8 of flavor reserved at most.":                         {workloads: []Workload{waits("huge", tooMuch)}},
		"lost is never admitted: there is no LocalQueue none in namespace ml.":                                                             {workloads: []Workload{lost}},
		"tight is not admitted: ClusterQueue q has 2 cpu of flavor spot or 4 cpu of flavor reserved too few unused.": {workloads: []Workload{waits("tight",
			"couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor spot, 2 more needed, insufficient unused quota for cpu in flavor reserved, 4 more needed")}},
		"idle is not admitted: Kueue has not tried it, since others are before it in ClusterQueue q.": {workloads: []Workload{waits("idle", "")}},
		// The workload of before the start does not count.
		"2 of 3 workloads are admitted, half of them within 40 s, the last after 1 min 20 s; idle waits at the end.": {workloads: []Workload{before, admittedAt("a", 40), admittedAt("b", 80), waits("idle", "")}},
		"2 of 2 workloads are admitted at once.":                                          {workloads: []Workload{admittedAt("a", 0), admittedAt("b", 0)}},
		"2 of 2 workloads are admitted, half of them at once, the last after 1 min 20 s.": {workloads: []Workload{admittedAt("a", 0), admittedAt("b", 80)}},
		"0 of 2 workloads are admitted; idle and other wait at the end.":                  {workloads: []Workload{waits("idle", ""), waits("other", "")}},
	} {
		if got := (&Answer{Workloads: test.workloads}).Verdict(test.names...); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Kueue names what lacks in the unused quota, and what a workload asks for beyond all quota.
func TestFindMissing(t *testing.T) {
	for message, want := range map[string]string{
		"couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor spot, 2 more needed, insufficient unused quota for memory in flavor reserved, 4Gi more needed":         "map[{cpu spot}:2 {memory reserved}:4Gi]",
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor reserved, previously considered podsets requests (0) + current podset request (9600m) > maximum capacity (8)": "map[{cpu reserved}:1600m]",
		"topology \"racks\" doesn't allow to fit any of 6 pod(s)": "map[]",
	} {
		got := map[missingQuota]string{}
		for of, more := range findMissing(message) {
			got[of] = more.String()
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", message, got, want)
		}
	}
}
