package controller

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
)

// An Indexed Job counts completion indexes, not pods:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/indexed_job_utils.go.

// indexes are completion indexes as intervals that are in order and apart, so that a status with a billion of them is as small
// as its text.
type indexes []interval

type interval struct{ first, last int }

// parseIndexes reads the format of status.completedIndexes, "1,3-5,7", and leaves out what is no number, or not below the
// completions, as upstream does.
func parseIndexes(text string, completions int) indexes {
	var x indexes
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if to = min(to, completions-1); err == nil && err2 == nil && from <= to {
			x = append(x, interval{from, to})
		}
	}
	return x.and()
}

// String is the format that parseIndexes reads.
func (x indexes) String() string {
	var parts []string
	for _, iv := range x {
		switch iv.last - iv.first {
		case 0:
			parts = append(parts, strconv.Itoa(iv.first))
		case 1:
			parts = append(parts, strconv.Itoa(iv.first), strconv.Itoa(iv.last))
		default:
			parts = append(parts, strconv.Itoa(iv.first)+"-"+strconv.Itoa(iv.last))
		}
	}
	return strings.Join(parts, ",")
}

// and returns the union with others.
func (x indexes) and(others ...interval) indexes {
	all := slices.Concat(x, others)
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
	var union indexes
	for _, iv := range all {
		if n := len(union); n > 0 && iv.first <= union[n-1].last+1 {
			union[n-1].last = max(union[n-1].last, iv.last)
		} else {
			union = append(union, iv)
		}
	}
	return union
}

func (x indexes) total() int {
	total := 0
	for _, iv := range x {
		total += iv.last - iv.first + 1
	}
	return total
}

func (x indexes) has(index int) bool {
	_, found := slices.BinarySearchFunc(x, index, func(iv interval, index int) int {
		switch {
		case iv.last < index:
			return -1
		case iv.first > index:
			return 1
		}
		return 0
	})
	return found
}

// common counts the indexes that are in both.
func (x indexes) common(others indexes) int {
	return x.total() + others.total() - x.and(others...).total()
}

// lacking returns the first indexes below the completions that are not among x, at most so many.
func (x indexes) lacking(completions, count int) []int {
	var missing []int
	index := 0
	for _, iv := range x.and(interval{completions, completions}) {
		for ; index < min(iv.first, completions) && len(missing) < count; index++ {
			missing = append(missing, index)
		}
		index = max(index, iv.last+1)
	}
	return missing
}

// indexesOf returns the completion indexes of the pods that have one.
func indexesOf(pods []*v1.Pod) indexes {
	var of indexes
	for _, pod := range pods {
		if index, ok := completionIndex(pod); ok {
			of = append(of, interval{index, index})
		}
	}
	return of.and()
}

// completionIndex is the pod's index in an Indexed Job.
func completionIndex(pod *v1.Pod) (int, bool) {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	return index, err == nil && index >= 0
}

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// metSuccessPolicy says which rule of the policy the succeeded indexes meet; "" is none:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/success_policy.go.
func metSuccessPolicy(policy *batchv1.SuccessPolicy, succeeded indexes, completions int) string {
	if policy == nil || len(succeeded) == 0 {
		return ""
	}
	for i, rule := range policy.Rules {
		met := rule.SucceededCount != nil && succeeded.total() >= int(*rule.SucceededCount)
		if rule.SucceededIndexes != nil {
			required := parseIndexes(*rule.SucceededIndexes, completions)
			common := succeeded.common(required)
			met = len(required) > 0 && (common == required.total() || rule.SucceededCount != nil && common >= int(*rule.SucceededCount))
		}
		if met {
			return "Matched rules at index " + strconv.Itoa(i)
		}
	}
	return ""
}

// failureCounts reads how often the pod's index had failed before the pod, counted and ignored.
func failureCounts(pod *v1.Pod) (counted, ignored int) {
	return failureCount(pod, batchv1.JobIndexFailureCountAnnotation), failureCount(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// failures is how often it had failed in all.
func failures(pod *v1.Pod) int {
	counted, ignored := failureCounts(pod)
	return counted + ignored
}

// failureCount is upstream's parseInt32: 0 where somebody has written nonsense.
func failureCount(pod *v1.Pod, annotation string) int {
	count, err := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
	if err != nil || count < 0 {
		return 0
	}
	return int(count)
}
