package expect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// judgePods judges expectations about the pods of workloads, and about nodes. before returns the cluster after an earlier step, or before
// this one.
func (j *stepJudge) judgePods(step *simulation.Step, before func(since string) *cluster.State) {
	if j.DrainLeaves != nil && len(step.Drained) > 0 {
		j.appendJudged(judgeDrainLeaves(j.DrainLeaves, step), "drainLeaves")
	}
	if j.NewlyPending != nil {
		j.appendJudged(judgeNewlyPending(j.NewlyPending, before(j.NewlyPending.Since), step), "newlyPending")
	}
	for i := range j.Workloads {
		judgeWorkload(&j.Workloads[i], step, func(field string, e Judged) { j.appendJudged(e, "workloads", i, field) })
	}
	if len(j.NodesGone) > 0 {
		there := list.Where(j.NodesGone, func(name string) bool { return step.State.Node(name) != nil })
		e := Judged{Want: words.Few(j.NodesGone) + " gone", Got: words.Few(there) + " still there", Met: len(there) == 0}
		if e.Met {
			e.Got = words.Pick(len(j.NodesGone), "it is", "all are")
		}
		j.appendJudged(e, "nodesGone")
	}
	for _, selector := range slices.Sorted(maps.Keys(j.NodeCounts)) {
		n, want, matches := 0, j.NodeCounts[selector], ParseSelector(selector)
		for _, node := range step.State.Nodes {
			if matches.Matches(labels.Set(node.Labels)) {
				n++
			}
		}
		j.appendJudged(Judged{Want: fmt.Sprintf("%s with %s", words.Count(want, "node"), cmp.Or(selector, "any labels")), Got: fmt.Sprint(n), Met: n == want}, "nodeCounts", selector)
	}
}

// judgeDrainLeaves compares the pods that drains leave on their nodes with the expected pods.
func judgeDrainLeaves(want []string, step *simulation.Step) Judged {
	var got []string
	var why []podMessage
	for _, d := range step.Drained {
		for _, p := range d.BlockingPods() {
			name := cluster.Qualify(p.Namespace, p.Name)
			got, why = append(got, name), append(why, podMessage{name, p.Reason})
		}
	}
	want = list.Map(want, func(name string) string { return strings.TrimPrefix(name, v1.NamespaceDefault+"/") })
	slices.Sort(want)
	slices.Sort(got)
	e := Judged{Want: cmp.Or(words.Few(want), "no pod") + " left by the drain", Got: "no pod is left", Met: slices.Equal(slices.Compact(want), slices.Compact(slices.Clone(got))), Why: joinByMessage(why)}
	if len(got) > 0 {
		e.Got = words.Few(got)
	}
	return e
}

// countNewlyPending counts the pods of each workload that are Pending now and were not before; see [scenario.NewlyPending].
func countNewlyPending(before, after *cluster.State) map[cluster.Ref]int {
	newly, was := map[cluster.Ref]int{}, before.PodsByWorkload()
	for owner, crew := range after.PodsByWorkload() {
		if pods := was[owner].NewlyPending(owner, crew); len(pods) > 0 {
			newly[owner] = len(pods)
		}
	}
	return newly
}

func judgeNewlyPending(expect *scenario.NewlyPending, before *cluster.State, step *simulation.Step) Judged {
	newly := countNewlyPending(before, step.State)
	owners := slices.SortedFunc(maps.Keys(newly), cluster.Ref.Compare)
	total, met, want := 0, true, map[cluster.Ref]int{}
	var got []string
	for _, owner := range owners {
		total += newly[owner]
		got = append(got, fmt.Sprintf("%d of %s", newly[owner], owner.Qualified()))
	}
	for name, n := range expect.Pods {
		if wanted, err := scenario.ParseWorkload(name); err == nil {
			i := slices.IndexFunc(owners, func(owner cluster.Ref) bool { return scenario.MatchesName(owner, wanted) && want[owner] == 0 })
			if met = met && i >= 0; i >= 0 {
				want[owners[i]] = n
				met = met && newly[owners[i]] == n
			}
		}
	}
	met = met && len(want) == len(owners)
	owner := step.State.Owners()
	e := Judged{Want: "no pod newly Pending", Got: "none", Met: met}
	e.Why = describePending(list.Where(step.Pending, func(p placement.Pending) bool { return newly[owner(p.Pod)] > 0 }))
	switch {
	case expect.AtLeast != nil:
		e.Want, e.Met = fmt.Sprintf("at least %s newly Pending", words.Count(*expect.AtLeast, "pod")), total >= *expect.AtLeast
	case len(expect.Pods) > 0:
		e.Want = "newly Pending " + words.Few(list.Map(slices.Sorted(maps.Keys(expect.Pods)), func(name string) string {
			return fmt.Sprintf("%d of %s", expect.Pods[name], strings.TrimPrefix(name, v1.NamespaceDefault+"/"))
		}))
	}
	if len(got) > 0 {
		e.Got = words.Few(got)
	}
	return e
}

// judgeWorkload judges the numbers of a workload's pods. The workload may be an outermost owner, the controller that created the pods, or a
// single pod.
func judgeWorkload(expect *scenario.WorkloadPods, step *simulation.Step, add func(field string, e Judged)) {
	wanted, err := scenario.ParseWorkload(expect.Workload)
	if err != nil {
		return // loading has reported it
	}
	owner := step.State.Owners()
	is := func(pod *v1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(pod)
		self := cluster.Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
		return scenario.MatchesName(owner(pod), wanted) || scenario.MatchesName(self, wanted) || by != nil && scenario.MatchesName(cluster.Ref{Kind: by.Kind, Namespace: pod.Namespace, Name: by.Name}, wanted)
	}
	running, pending := 0, 0
	for _, pod := range step.State.Pods {
		switch {
		case !is(pod):
		case pod.Spec.NodeName != "" && cluster.IsActive(pod):
			running++
		case cluster.IsUnscheduled(pod):
			pending++
		}
	}
	name := strings.TrimPrefix(expect.Workload, v1.NamespaceDefault+"/")
	why := describePending(list.Where(step.Pending, func(p placement.Pending) bool { return is(p.Pod) }))
	bound := func(field, words string, want *int, got int, met func(want int) bool) {
		if want != nil {
			add(field, Judged{Want: fmt.Sprintf("%s: %s", name, fmt.Sprintf(words, *want)), Got: fmt.Sprint(got), Met: met(*want), Why: why})
		}
	}
	bound("running", "%d running", expect.Running, running, func(want int) bool { return running == want })
	bound("atLeast", "at least %d running", expect.AtLeast, running, func(want int) bool { return running >= want })
	bound("atMost", "at most %d running", expect.AtMost, running, func(want int) bool { return running <= want })
	bound("pending", "%d Pending", expect.Pending, pending, func(want int) bool { return pending == want })
}
