package controller

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
)

// The functions of this file count completion indexes, as an Indexed Job does in place of pods:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/indexed_job_utils.go.

// indexes is a set of completion indexes, as sorted intervals with gaps between them. A status with a billion indexes is thus as small as
// its text.
type indexes []interval

// interval has the indexes from first to last, both included.
type interval struct{ first, last int }

// parseIndexes parses the format of status.completedIndexes, such as "1,3-5,7". As upstream, it skips parts that are no numbers or not
// below the completions.
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
	return x.union()
}

// String returns the format that parseIndexes parses.
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

// union returns the union with other intervals.
func (x indexes) union(others ...interval) indexes {
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

// countCommon returns the number of indexes that are in both sets.
func (x indexes) countCommon(others indexes) int {
	return x.total() + others.total() - x.union(others...).total()
}

// firstMissing returns the first indexes below completions that are not in the set, at most count of them.
func (x indexes) firstMissing(completions, count int) []int {
	var missing []int
	index := 0
	for _, iv := range x.union(interval{completions, completions}) {
		for ; index < min(iv.first, completions) && len(missing) < count; index++ {
			missing = append(missing, index)
		}
		index = max(index, iv.last+1)
	}
	return missing
}

// completionIndexes returns the completion indexes of the pods that have one.
func completionIndexes(pods []*v1.Pod) indexes {
	var of indexes
	for _, pod := range pods {
		if index, ok := completionIndex(pod); ok {
			of = append(of, interval{index, index})
		}
	}
	return of.union()
}

// completionIndex returns the pod's index in an Indexed Job, and whether it has one.
func completionIndex(pod *v1.Pod) (int, bool) {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	return index, err == nil && index >= 0
}

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// metSuccessPolicy returns a message about the first rule of the policy that the succeeded indexes meet; "" if they meet none:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/success_policy.go.
func metSuccessPolicy(policy *batchv1.SuccessPolicy, succeeded indexes, completions int) string {
	if policy == nil || len(succeeded) == 0 {
		return ""
	}
	for i, rule := range policy.Rules {
		met := rule.SucceededCount != nil && succeeded.total() >= int(*rule.SucceededCount)
		if rule.SucceededIndexes != nil {
			required := parseIndexes(*rule.SucceededIndexes, completions)
			common := succeeded.countCommon(required)
			met = len(required) > 0 && (common == required.total() || rule.SucceededCount != nil && common >= int(*rule.SucceededCount))
		}
		if met {
			return "Matched rules at index " + strconv.Itoa(i)
		}
	}
	return ""
}

// failureCounts returns how often the pod's index had failed before this pod: failures that count towards the limit, and ignored ones.
func failureCounts(pod *v1.Pod) (counted, ignored int) {
	return failureCount(pod, batchv1.JobIndexFailureCountAnnotation), failureCount(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// totalFailures returns how often the pod's index had failed before this pod, ignored failures included.
func totalFailures(pod *v1.Pod) int {
	counted, ignored := failureCounts(pod)
	return counted + ignored
}

// failureCount parses an annotation with a number as upstream's parseInt32 does. An invalid number counts as 0.
func failureCount(pod *v1.Pod, annotation string) int {
	count, err := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
	if err != nil || count < 0 {
		return 0
	}
	return int(count)
}
