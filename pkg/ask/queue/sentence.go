package queue

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

func podOf(spec v1.PodSpec) *v1.Pod { return &v1.Pod{Spec: spec} }

// Verdict returns the answer in a sentence. With names it is about these jobs or workloads alone.
func (a *Answer) Verdict(names ...string) string {
	about := a.Find(names...)
	switch len(about) {
	case 0:
		return "No workload: no job of the cluster has a queue of Kueue."
	case 1:
		return a.Describe(about[0]) + "."
	}
	var waits []float64
	var pending []string
	admitted := 0
	for _, w := range about {
		if len(w.Admissions) > 0 {
			admitted++
			if !w.Before {
				waits = append(waits, w.Admissions[0].Waited)
			}
		}
		if w.State == "pending" {
			pending = append(pending, w.Job.Name)
		}
	}
	slices.Sort(waits)
	said := fmt.Sprintf("%d of %s are admitted", admitted, words.Count(len(about), "workload"))
	if n := len(waits); n > 0 {
		half, last := stats.Quantile(waits, 0.5), waits[n-1]
		switch {
		case last == 0:
			said += " at once"
		case half == 0:
			said += ", half of them at once, the last after " + formatSeconds(last)
		default:
			said += fmt.Sprintf(", half of them within %s, the last after %s", formatSeconds(half), formatSeconds(last))
		}
	}
	if len(pending) > 0 {
		said += fmt.Sprintf("; %s %s at the end", words.Few(pending), words.Pick(len(pending), "waits", "wait"))
	}
	return said + "."
}

// Find returns the workloads of these names, or of jobs of these names: train, job/train or workload/job-train-1a2b3. Without names it returns those
// that did not have their quota before; if all had, all.
func (a *Answer) Find(names ...string) []*Workload {
	var found, fresh []*Workload
	for i := range a.Workloads {
		w := &a.Workloads[i]
		if !w.Before {
			fresh = append(fresh, w)
		}
		for _, ref := range []cluster.Ref{w.Ref, w.Job} {
			full := strings.ToLower(ref.Kind) + "/" + ref.Name
			if len(names) == 0 || slices.Contains(names, ref.Name) || slices.Contains(names, full) || slices.Contains(names, ref.Namespace+"/"+full) {
				found = append(found, w)
				break
			}
		}
	}
	if len(names) == 0 && len(fresh) > 0 {
		return fresh
	}
	return found
}

// Describe says in a sentence without its end what becomes of the workload: "train-7 is admitted after 42 min, on reserved; it preempts batch-3".
func (a *Answer) Describe(w *Workload) string {
	name := w.Job.Name
	n := len(w.Admissions)
	switch {
	case w.State == "pending" && n == 0:
		return name + " " + w.refusal()
	case w.Before && w.State != "pending":
		return name + " has its quota since before the start"
	}
	last := w.Admissions[n-1]
	said := fmt.Sprintf("%s is admitted after %s", name, formatSeconds(last.Waited))
	if last.Waited == 0 {
		said = name + " is admitted at once"
	}
	if flavors := slices.Compact(slices.Sorted(maps.Values(last.Flavors))); len(flavors) > 0 {
		said += ", on " + words.And(flavors)
	}
	if last.Pods < w.Pods && last.Pods > 0 {
		said += fmt.Sprintf(", with %d of %s", last.Pods, words.Count(w.Pods, "pod"))
	}
	if victims := a.victims(w); len(victims) > 0 {
		said += "; it preempts " + words.Few(victims)
	}
	if k := len(w.Evictions); k > 0 {
		e := w.Evictions[k-1]
		by := ""
		if e.By.Name != "" {
			by = " by " + e.By.Name
		}
		said += fmt.Sprintf("; %s%s after %s", evictedWord(e.Reason), by, formatSeconds(e.At))
		if w.State == "pending" {
			said += ", and " + w.refusal()
		}
	}
	return said
}

func evictedWord(reason string) string {
	if reason == "Preempted" {
		return "it is preempted"
	}
	return "it is evicted (" + reason + ")"
}

// victims are the jobs that are preempted for the workload.
func (a *Answer) victims(w *Workload) []string {
	var names []string
	for _, other := range a.Workloads {
		for _, e := range other.Evictions {
			if e.By == w.Job && e.Reason == "Preempted" {
				names = append(names, other.Job.Name)
				break
			}
		}
	}
	return names
}

var beyondMost = regexp.MustCompile(`insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \(([^)]*)\) \+ current podset request \(([^)]*)\) > maximum capacity \(([^)]*)\)`)

// refusal says why the workload has no quota: "is never admitted: it asks for 96 GPUs, and its queue can have 64 of gpu at most".
func (w *Workload) refusal() string {
	if found := beyondMost.FindStringSubmatch(w.Message); found != nil {
		return fmt.Sprintf("is never admitted: it asks for %s %s, and ClusterQueue %s can have %s of flavor %s at most", found[4], found[1], w.ClusterQueue, found[5], found[2])
	}
	var missing []string
	for _, found := range unusedMissing.FindAllStringSubmatch(w.Message, -1) {
		missing = append(missing, fmt.Sprintf("%s %s of flavor %s", found[3], found[1], found[2]))
	}
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("is not admitted: ClusterQueue %s has %s too few unused", w.ClusterQueue, words.Or(missing))
	case w.ClusterQueue == "":
		return fmt.Sprintf("is never admitted: there is no LocalQueue %s in namespace %s", w.Queue, w.Namespace)
	case w.Message != "":
		return "is not admitted: " + w.Message
	}
	return fmt.Sprintf("is not admitted: Kueue has not tried it, since others are before it in ClusterQueue %s", w.ClusterQueue)
}

func formatSeconds(seconds float64) string {
	return words.FormatDuration(time.Duration(seconds * float64(time.Second)))
}
