// Package queue says when Kueue admits the jobs of a scenario: in which order, after which time, with which flavors, and whom it preempts. A run of
// the scenario with Kueue as a decider makes the answer.
package queue

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Answer is what Kueue makes of the jobs.
type Answer struct {
	// Seconds is the time from the start to the last change.
	Seconds float64 `json:"seconds"`
	// Workloads are Kueue's workloads, in the order of their first admission; those that are never admitted come last, in the order of their
	// queues.
	Workloads []Workload `json:"workloads"`
	// Queues are the LocalQueues with workloads that wait or waited, by name.
	Queues []Waits `json:"queues,omitempty"`
	// Quotas are the quotas of the ClusterQueues, with what was used of them.
	Quotas []Quota `json:"quotas,omitempty"`
}

// Workload is a workload of Kueue.
type Workload struct {
	cluster.Ref
	// Job is what the workload stands for, such as job/train.
	Job cluster.Ref `json:"job"`
	// Queue is its LocalQueue, ClusterQueue the queue that this belongs to; empty if there is no such LocalQueue.
	Queue        string `json:"queue"`
	ClusterQueue string `json:"clusterQueue,omitempty"`
	Priority     int32  `json:"priority,omitempty"`
	// CreatedAt is when the workload came, in seconds after the start.
	CreatedAt float64 `json:"createdAt"`
	// Before means that it had its quota before the start.
	Before bool `json:"before,omitempty"`
	// Pods is the number of pods that it asks for, and Asks what they request together, by resource.
	Pods int               `json:"pods"`
	Asks map[string]string `json:"asks,omitempty"`
	// State is admitted, pending or finished, at the end.
	State string `json:"state"`
	// Place is its place among the workloads that wait in its ClusterQueue, from 1; missing if it does not wait.
	Place int `json:"place,omitempty"`
	// Reason and Message are Kueue's words on a pending workload; empty if Kueue has not tried it, since others are before it in its queue.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Admissions are the times at which it got quota, and Evictions those at which it lost it, in order.
	Admissions []Admission `json:"admissions,omitempty"`
	Evictions  []Eviction  `json:"evictions,omitempty"`
	// FinishedAt is when it was done, in seconds after the start; missing if it was not.
	FinishedAt *float64 `json:"finishedAt,omitempty"`
}

// Admission is a moment at which a workload got quota.
type Admission struct {
	// At is the time in seconds after the start, Waited that since the workload came or was evicted.
	At     float64 `json:"at"`
	Waited float64 `json:"waited"`
	// Pods is the number of pods that may run: fewer than the workload asks for if it is admitted in part.
	Pods int `json:"pods"`
	// Flavors has the flavor of each resource.
	Flavors map[string]string `json:"flavors,omitempty"`
	// Places has the number of pods in each domain that Kueue chose, such as a-1/r-2/h-3; missing if the flavor has no topology.
	Places map[string]int `json:"places,omitempty"`
}

// Eviction is a moment at which a workload lost its quota.
type Eviction struct {
	At float64 `json:"at"`
	// Reason and Message are Kueue's. By is the job for which a workload is preempted.
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	By      cluster.Ref `json:"by,omitzero"`
}

// Waits are the waiting times of a LocalQueue.
type Waits struct {
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	ClusterQueue string `json:"clusterQueue"`
	// Admitted counts the workloads that got quota after the start, Pending those that wait at the end.
	Admitted int `json:"admitted"`
	Pending  int `json:"pending"`
	// Median and Most95 are seconds from a workload's coming to its first admission: half of the admitted waited no longer than Median, and 95 of
	// 100 no longer than Most95.
	Median float64 `json:"median"`
	Most95 float64 `json:"most95"`
}

// Quota is the quota of a resource in a flavor of a ClusterQueue.
type Quota struct {
	ClusterQueue string `json:"clusterQueue"`
	Cohort       string `json:"cohort,omitempty"`
	Flavor       string `json:"flavor"`
	Resource     string `json:"resource"`
	// Nominal is the queue's own quota, Used what its workloads have at the end, and Borrowed what of that is not its own.
	Nominal  float64 `json:"nominal"`
	Used     float64 `json:"used"`
	Borrowed float64 `json:"borrowed,omitempty"`
	// Peak is the most that was used at any time, and Mean the mean over the time.
	Peak float64 `json:"peak"`
	Mean float64 `json:"mean"`
}

// Run runs the scenario, and returns what Kueue makes of its jobs.
func Run(ctx context.Context, s *scenario.Scenario, opts simulation.Options) (*simulation.Result, *Answer, error) {
	f := &follower{workloads: map[cluster.Ref]*Workload{}}
	opts.Moved = f.follow
	result, err := simulation.Run(ctx, s, opts)
	if result == nil {
		return nil, nil, err
	}
	if end := result.State(); len(result.Steps) > 0 && (f.last == nil || end.Now.After(f.last.Now.Time)) {
		f.follow(end)
	}
	return result, f.answer(), err
}

// answer returns what was followed.
func (f *follower) answer() *Answer {
	a := &Answer{}
	if f.last == nil {
		return a
	}
	a.Seconds = f.since(f.last.Now.Time)
	for _, name := range f.order {
		a.Workloads = append(a.Workloads, *f.workloads[name])
	}
	slices.SortStableFunc(a.Workloads, func(x, y Workload) int {
		return cmp.Or(cmp.Compare(firstAdmission(x), firstAdmission(y)), cmp.Compare(x.Queue, y.Queue))
	})
	setPlaces(a.Workloads)
	a.Queues, a.Quotas = f.waits(a.Workloads), f.quotas()
	return a
}

// setPlaces sets the places of the workloads that wait: Kueue takes the highest priority first, then the one that came or was evicted first.
func setPlaces(workloads []Workload) {
	var waiting []*Workload
	for i := range workloads {
		if workloads[i].State == "pending" {
			waiting = append(waiting, &workloads[i])
		}
	}
	slices.SortStableFunc(waiting, func(a, b *Workload) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.queuedAt(), b.queuedAt()))
	})
	places := map[string]int{}
	for _, w := range waiting {
		places[w.ClusterQueue]++
		w.Place = places[w.ClusterQueue]
	}
}

// queuedAt is when the workload came or was last evicted.
func (w *Workload) queuedAt() float64 {
	if n := len(w.Evictions); n > 0 {
		return w.Evictions[n-1].At
	}
	return w.CreatedAt
}

// firstAdmission orders workloads by their first admission. Those of before the start come first, those without one last.
func firstAdmission(w Workload) float64 {
	switch {
	case w.Before:
		return -1
	case len(w.Admissions) == 0:
		return math.Inf(1)
	}
	return w.Admissions[0].At
}
