package queue

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
)

// follower follows the workloads from state to state.
type follower struct {
	start     time.Time
	last      *cluster.State
	workloads map[cluster.Ref]*Workload
	order     []cluster.Ref          // as the workloads came
	jobs      map[string]cluster.Ref // by the UID of the workload
	usage     map[quotaKey]*use
}

type quotaKey struct{ queue, flavor, resource string }

// use is what is used of a quota.
type use struct{ now, peak, seconds float64 }

func (f *follower) since(t time.Time) float64 { return t.Sub(f.start).Seconds() }

// follow notes what has changed in the workloads.
func (f *follower) follow(state *cluster.State) {
	first := f.last == nil
	if first {
		f.start, f.usage, f.jobs = state.Now.Time, map[quotaKey]*use{}, map[string]cluster.Ref{}
	} else {
		passed := state.Now.Sub(f.last.Now.Time).Seconds()
		for _, u := range f.usage {
			u.seconds += u.now * passed
		}
		if sameResources(f.last, state) {
			f.last = state
			return
		}
	}
	f.last = state
	all := read[kueueWorkload](state, "Workload")
	for _, w := range all {
		f.jobs[string(w.UID)] = w.owner()
	}
	queues := map[string]string{}
	for _, q := range read[localQueue](state, "LocalQueue") {
		queues[q.Namespace+"/"+q.Name] = q.Spec.ClusterQueue
	}
	for _, w := range all {
		f.followWorkload(w, queues[w.Namespace+"/"+w.Spec.QueueName], first)
	}
	f.followUsage(all)
}

// sameResources reports whether two states have the same list of custom resources.
func sameResources(a, b *cluster.State) bool {
	return len(a.CustomResources) == len(b.CustomResources) && (len(a.CustomResources) == 0 || &a.CustomResources[0] == &b.CustomResources[0])
}

// followWorkload notes what has changed in the workload. At first, what it has it had before.
func (f *follower) followWorkload(w *kueueWorkload, clusterQueue string, first bool) {
	name := cluster.Ref{Kind: "Workload", Namespace: w.Namespace, Name: w.Name}
	now := f.since(f.last.Now.Time)
	known := f.workloads[name]
	if known == nil {
		known = &Workload{Ref: name, Job: w.owner(), CreatedAt: math.Max(0, f.since(w.CreationTimestamp.Time)), Before: first && w.reserves()}
		known.Pods, known.Asks = asks(w)
		f.workloads[name], f.order = known, append(f.order, name)
	}
	known.Queue, known.ClusterQueue = w.Spec.QueueName, clusterQueue
	if w.Spec.Priority != nil {
		known.Priority = *w.Spec.Priority
	}
	had := known.State == "admitted"
	known.State, known.Reason, known.Message = "pending", "", ""
	switch reserved := w.condition(quotaReserved); {
	case w.is(finished):
		known.State = "finished"
		if known.FinishedAt == nil && !first {
			known.FinishedAt = &now
		}
	case w.reserves():
		known.State = "admitted"
		if admission := f.admission(w, known, now); !had && !known.Before || len(known.Admissions) == 0 {
			known.Admissions = append(known.Admissions, admission)
		}
	case reserved != nil:
		known.Reason, known.Message = reserved.Reason, reserved.Message
	}
	if had && known.State == "pending" {
		known.Before = false
	}
	f.followEviction(w, known, first)
}

// followEviction notes that the workload was evicted.
func (f *follower) followEviction(w *kueueWorkload, known *Workload, first bool) {
	condition := w.condition(evicted)
	if condition == nil || condition.Status != metav1.ConditionTrue || first {
		return
	}
	e := Eviction{At: f.since(condition.LastTransitionTime.Time), Reason: condition.Reason, Message: condition.Message}
	if n := len(known.Evictions); n > 0 && known.Evictions[n-1].At == e.At {
		return
	}
	if _, uid, found := strings.Cut(condition.Message, "(UID: "); found {
		uid, _, _ = strings.Cut(uid, ",")
		e.By = f.jobs[strings.TrimSuffix(uid, ")")]
	}
	known.Evictions = append(known.Evictions, e)
}

// asks returns the number of pods that the workload asks for, and what they request together.
func asks(w *kueueWorkload) (pods int, asked map[string]string) {
	sums := map[string]resource.Quantity{}
	for i := range w.Spec.PodSets {
		set := &w.Spec.PodSets[i]
		pods += int(set.Count)
		for name, one := range resourcehelper.PodRequests(podOf(set.Template.Spec), resourcehelper.PodResourcesOptions{}) {
			one.Mul(int64(set.Count))
			sum := sums[string(name)]
			sum.Add(one)
			sums[string(name)] = sum
		}
	}
	asked = map[string]string{}
	for name, sum := range sums {
		asked[name] = sum.String()
	}
	return pods, asked
}

// admission describes what the workload has.
func (f *follower) admission(w *kueueWorkload, known *Workload, now float64) Admission {
	since := known.CreatedAt
	if n := len(known.Evictions); n > 0 {
		since = known.Evictions[n-1].At
	}
	a := Admission{At: now, Waited: math.Max(0, now-since), Flavors: map[string]string{}}
	if known.Before {
		a.At, a.Waited = 0, 0
	}
	for _, set := range w.Status.Admission.PodSetAssignments {
		maps.Copy(a.Flavors, set.Flavors)
		if set.Count != nil {
			a.Pods += int(*set.Count)
		}
		for domain, pods := range set.TopologyAssignment.domains() {
			if a.Places == nil {
				a.Places = map[string]int{}
			}
			a.Places[domain] += pods
		}
	}
	return a
}

// domains are the domains with the number of pods in each.
func (t *topologyAssignment) domains() map[string]int {
	if t == nil {
		return nil
	}
	domains := map[string]int{}
	for _, slice := range t.Slices {
		for i := range int(slice.DomainCount) {
			var values []string
			for _, level := range slice.ValuesPerLevel {
				values = append(values, level.value(i))
			}
			pods := int32(0)
			if slice.PodCounts.Universal != nil {
				pods = *slice.PodCounts.Universal
			} else if i < len(slice.PodCounts.Individual) {
				pods = slice.PodCounts.Individual[i]
			}
			domains[strings.Join(values, "/")] += int(pods)
		}
	}
	return domains
}

func (s topologyAssignmentSet) value(i int) string {
	switch {
	case s.Universal != nil:
		return *s.Universal
	case s.Individual == nil || i >= len(s.Individual.Roots):
		return ""
	}
	value := s.Individual.Roots[i]
	if s.Individual.Prefix != nil {
		value = *s.Individual.Prefix + value
	}
	if s.Individual.Suffix != nil {
		value += *s.Individual.Suffix
	}
	return value
}

// followUsage notes what the workloads use now.
func (f *follower) followUsage(all []*kueueWorkload) {
	for _, u := range f.usage {
		u.now = 0
	}
	for _, w := range all {
		if !w.reserves() {
			continue
		}
		for _, set := range w.Status.Admission.PodSetAssignments {
			for name, amount := range set.ResourceUsage {
				key := quotaKey{w.Status.Admission.ClusterQueue, set.Flavors[name], name}
				if f.usage[key] == nil {
					f.usage[key] = &use{}
				}
				f.usage[key].now += amount.AsApproximateFloat64()
			}
		}
	}
	for _, u := range f.usage {
		u.peak = math.Max(u.peak, u.now)
	}
}

// quotas returns the quotas of the last state with what was used of them.
func (f *follower) quotas() []Quota {
	var all []Quota
	seconds := f.since(f.last.Now.Time)
	for _, queue := range read[clusterQueue](f.last, "ClusterQueue") {
		for _, group := range queue.Spec.ResourceGroups {
			for _, flavor := range group.Flavors {
				for _, of := range flavor.Resources {
					q := Quota{ClusterQueue: queue.Name, Cohort: queue.Spec.CohortName, Flavor: flavor.Name, Resource: of.Name, Nominal: of.NominalQuota.AsApproximateFloat64()}
					if u := f.usage[quotaKey{queue.Name, flavor.Name, of.Name}]; u != nil {
						q.Used, q.Peak, q.Mean = u.now, u.peak, u.now
						if seconds > 0 {
							q.Mean = u.seconds / seconds
						}
						q.Borrowed = math.Max(0, u.now-q.Nominal)
					}
					all = append(all, q)
				}
			}
		}
	}
	return all
}

// waits returns the waiting times of the LocalQueues.
func (f *follower) waits(workloads []Workload) []Waits {
	byQueue := map[string]*Waits{}
	waited := map[string][]float64{}
	for _, w := range workloads {
		if w.Before {
			continue
		}
		key := w.Namespace + "/" + w.Queue
		q := byQueue[key]
		if q == nil {
			q = &Waits{Namespace: w.Namespace, Name: w.Queue, ClusterQueue: w.ClusterQueue}
			byQueue[key] = q
		}
		if w.State == "pending" {
			q.Pending++
		}
		if len(w.Admissions) > 0 {
			q.Admitted++
			waited[key] = append(waited[key], w.Admissions[0].Waited)
		}
	}
	var all []Waits
	for _, key := range slices.Sorted(maps.Keys(byQueue)) {
		q := byQueue[key]
		if waited := waited[key]; len(waited) > 0 {
			slices.Sort(waited)
			q.Median, q.Most95 = stats.Quantile(waited, 0.5), stats.Quantile(waited, 0.95)
		}
		all = append(all, *q)
	}
	slices.SortFunc(all, func(a, b Waits) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
