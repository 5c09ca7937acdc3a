package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// dumpedPods returns the pods of the first step that come from a running cluster or have a node, by their UIDs. The pods of manifests have UIDs
// by now, too.
func dumpedPods(s *scenario.Scenario) map[types.UID]*v1.Pod {
	objects := s.Workloads
	if len(s.Steps) > 0 {
		objects = slices.Concat(objects, s.Steps[0].Objects)
	}
	pods := map[types.UID]*v1.Pod{}
	for _, obj := range objects {
		if pod, is := obj.(*v1.Pod); is && (cluster.FromDump(pod) || pod.Spec.NodeName != "") {
			pods[pod.UID] = pod
		}
	}
	return pods
}

func podsByUID(state *cluster.State) map[types.UID]*v1.Pod {
	return list.IndexBy(state.Pods, func(pod *v1.Pod) types.UID { return pod.UID })
}

// daemonOfNewNode returns a function that reports whether a DaemonSet made a pod for a node that is not among these.
func daemonOfNewNode(nodes []*v1.Node) func(*v1.Pod) bool {
	known := sets.New[string]()
	for _, node := range nodes {
		known.Insert(node.Name)
	}
	return func(pod *v1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(pod)
		return by != nil && by.Kind == "DaemonSet" && pod.Spec.NodeName != "" && !known.Has(pod.Spec.NodeName)
	}
}

// clusterBefore is a cluster before a question: its pods by UID, its nodes, how many pods were refused, and its workloads.
type clusterBefore struct {
	pods      map[types.UID]*v1.Pod
	nodes     []*v1.Node
	refused   int
	workloads map[cluster.Ref]cluster.Object
}

func newClusterBefore(state *cluster.State, pods map[types.UID]*v1.Pod) clusterBefore {
	return clusterBefore{pods: pods, nodes: state.Nodes, refused: countRefusedPods(state), workloads: scalableByOwner(state)}
}

func countRefusedPods(state *cluster.State) int {
	n := 0
	for _, refusal := range state.Refused {
		n += refusal.Pods
	}
	return n
}

// scalableByOwner returns the objects that have replicas, by the outermost owner of their pods: the ReplicaSet of a Rollout is listed by the
// Rollout.
func scalableByOwner(state *cluster.State) map[cluster.Ref]cluster.Object {
	all := map[cluster.Ref]cluster.Object{}
	for _, obj := range state.Scalable() {
		ref := cluster.RefTo(obj)
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			ref = cluster.Ref{Kind: owner.Kind, Namespace: ref.Namespace, Name: owner.Name}
		}
		all[ref] = obj
	}
	return all
}

// askedWorkloads returns the workloads whose pods the step asks for: the target of its action, and those that it applies. If the first step
// applies a dump, the objects of the dump do not count.
func askedWorkloads(step *scenario.LoadedStep, dump bool) map[cluster.Ref]bool {
	asked := map[cluster.Ref]bool{}
	if step.Apply != nil {
		for _, obj := range step.Objects {
			if !dump || !cluster.FromDump(obj) && !cluster.IsAssumed(obj) {
				asked[cluster.RefTo(obj)] = true
			}
		}
	}
	for _, target := range step.Targets() {
		if ref, err := target.Ref(); err == nil {
			asked[ref] = true
		}
	}
	return asked
}

// newChange compares the pods before the steps with those after the last one. asked are the workloads that the question is about.
func newChange(was clusterBefore, steps []simulation.Step, asked map[cluster.Ref]bool) *Change {
	c, comes, state := &Change{}, daemonOfNewNode(was.nodes), steps[len(steps)-1].State
	ownerOf := state.Owners()
	c.Refused = max(0, countRefusedPods(state)-was.refused)
	pending := func(pod *v1.Pod) bool { return cluster.IsActive(pod) && pod.Spec.NodeName == "" }
	for _, pod := range was.pods {
		if pending(pod) {
			c.WasPending++
		}
	}
	had := cluster.GroupByWorkload(slices.Collect(maps.Values(was.pods)), ownerOf)
	newly := cluster.NewlyPending(had, state)
	made := map[cluster.Ref]int{}
	for _, pod := range state.Pods {
		before, owner := was.pods[pod.UID], ownerOf(pod)
		switch {
		case !cluster.IsActive(pod) || comes(pod):
		case before == nil && asked[owner]:
			made[owner]++
			if pending(pod) {
				c.NewPending++
			}
		case before == nil:
			c.Replacements++
			if pending(pod) && newly[pod.UID] {
				c.ReplacementsPending++
			} else if pending(pod) {
				c.StillPending++
			}
		case pending(pod) && pending(before):
			c.StillPending++
		}
	}
	c.countAsked(was.workloads, scalableByOwner(state), asked, made, had)
	c.countLost(had, state, asked)
	c.countEvicted(steps, ownerOf, asked)
	return c
}

// countAsked counts the pods that were asked for: per workload, those that its controller has made or, if it is more, the replicas that it
// now wants beyond those before.
func (c *Change) countAsked(was, is map[cluster.Ref]cluster.Object, asked map[cluster.Ref]bool, made map[cluster.Ref]int, had map[cluster.Ref]cluster.WorkloadPods) {
	for ref := range asked {
		n := made[ref]
		if obj := is[ref]; obj != nil {
			more, _ := cluster.Replicas(obj)
			if before := was[ref]; before != nil {
				wanted, _ := cluster.Replicas(before)
				more -= wanted
			} else { // a dump's objects come with the step
				more -= int32(len(had[ref].Placed) + len(had[ref].Waiting))
			}
			n = max(n, int(more))
		}
		c.New += n
		c.NewPending += n - made[ref]
	}
	c.NewPending = max(0, c.NewPending-c.Refused)
	c.New = max(c.New, c.NewPending+c.Refused)
}

// countLost counts the pods of other workloads that ran before and are not replaced by a running pod.
func (c *Change) countLost(had map[cluster.Ref]cluster.WorkloadPods, state *cluster.State, asked map[cluster.Ref]bool) {
	after := state.PodsByWorkload()
	for owner, crew := range had {
		if owner.Kind == "Pod" && !asked[owner] && len(after[owner].Waiting) == 0 {
			c.Gone += crew.CountLost(owner, after[owner])
		}
	}
	for _, s := range cluster.Shortfalls(had, state) {
		if s.Lost > 0 && !asked[s.Ref] {
			c.Lost = append(c.Lost, PodsOf{s.Ref, s.Lost})
			c.Pending += s.Lost
		}
	}
	slices.SortFunc(c.Lost, PodsOf.compare)
	c.ReplacementsPending = max(0, c.ReplacementsPending-c.Pending)
}

// countEvicted counts the pods of other workloads that were preempted, by workload.
func (c *Change) countEvicted(steps []simulation.Step, ownerOf func(*v1.Pod) cluster.Ref, asked map[cluster.Ref]bool) {
	pods := map[cluster.Ref]int{}
	for i := range steps {
		for _, preempted := range steps[i].Preempted {
			if owner := ownerOf(preempted.Victim); !asked[owner] {
				pods[owner]++
			}
		}
	}
	for owner, n := range pods {
		c.Evicted = append(c.Evicted, PodsOf{owner, n})
	}
	slices.SortFunc(c.Evicted, PodsOf.compare)
}

// compare sorts the workload with the most pods first.
func (p PodsOf) compare(other PodsOf) int {
	return cmp.Or(cmp.Compare(other.Pods, p.Pods), p.Ref.Compare(other.Ref))
}

// formatPodsOf returns "16 pods (11 of search/deployment/search-bff and 5 of deployment/web)", or "5 pods of deployment/web" for one
// workload.
func formatPodsOf(all []PodsOf) string {
	n := 0
	for _, p := range all {
		n += p.Pods
	}
	if len(all) == 1 {
		if all[0].Kind == "Pod" {
			return all[0].Qualified()
		}
		return fmt.Sprintf("%s of %s", words.Count(n, "pod"), all[0].Qualified())
	}
	return fmt.Sprintf("%s (%s)", words.Count(n, "pod"), words.Few(list.Map(all, func(p PodsOf) string { return fmt.Sprintf("%d of %s", p.Pods, p.Qualified()) })))
}

// Short returns the number of pods that have no node, of those that the step asks for and those that ran before.
func (c *Change) Short() int { return c.NewPending + c.Refused + c.Pending + c.Gone }

// Text answers a question about a cluster that has pods: "No: 5 of 12 new pods fit (7 others were Pending before)". with says how many
// nodes came or went.
func (c *Change) Text(with string) string {
	line := c.describeAsked(with)
	if len(c.Evicted) > 0 {
		line += ", evicting " + formatPodsOf(c.Evicted)
		if c.evictedAreLost() {
			line += words.Pick(c.Pending, ", which has no node then", ", which have no node then")
		}
	}
	return line + c.describeLost() + c.describeOthers()
}

// evictedAreLost reports whether the preempted pods are exactly the pods that ran before and now have no node.
func (c *Change) evictedAreLost() bool {
	return len(c.Evicted) > 0 && slices.Equal(c.Evicted, c.Lost)
}

// describeAsked says how many of the requested pods fit.
func (c *Change) describeAsked(with string) string {
	fit := c.New - c.NewPending - c.Refused
	var line string
	switch {
	case c.New == 0 && c.Pending+c.Gone > 0:
		return "No" + with
	case c.New == 0 && c.ReplacementsPending > 0:
		return fmt.Sprintf("No: %d of %s that controllers make anew %s not fit", c.ReplacementsPending, words.Count(c.Replacements, "pod"), words.Pick(c.ReplacementsPending, "does", "do")) + with
	case c.New == 0:
		return "Nothing is newly Pending" + with
	case c.New == 1 && fit == 1:
		line = "Yes: the new pod fits"
	case fit == c.New:
		line = fmt.Sprintf("Yes: %d of %d new pods fit", fit, c.New)
	case c.New == 1 && c.Refused == 1:
		line = "No: the new pod is refused by the API server"
	case c.New == 1:
		line = "No: the new pod does not fit"
	default:
		line = fmt.Sprintf("No: %d of %d new pods %s", fit, c.New, words.Pick(fit, "fits", "fit"))
		if c.Refused > 0 {
			line += fmt.Sprintf(", and %s refused by the API server", words.Is(c.Refused, "new pod"))
		}
	}
	if fit < c.New && with != "" {
		line += ", even"
	}
	return line + with
}

// describeLost says how many pods that ran have no node or are gone.
func (c *Change) describeLost() string {
	var lost []string
	if c.Pending > 0 && !c.evictedAreLost() {
		lost = append(lost, fmt.Sprintf("%s that ran %s no node", formatPodsOf(c.Lost), words.Pick(c.Pending, "has", "have")))
	}
	if c.Gone > 0 {
		lost = append(lost, words.Is(c.Gone, "pod")+" gone, since no controller replaces "+words.Pick(c.Gone, "it", "them"))
	}
	switch {
	case len(lost) == 0:
		return ""
	case c.New == 0:
		return ": " + strings.Join(lost, ", and ")
	}
	return ", and " + strings.Join(lost, ", and ")
}

// describeOthers says how many pods that were Pending before still are, and how many new pods of other workloads are Pending.
func (c *Change) describeOthers() string {
	var old []string
	if c.StillPending > 0 {
		old = append(old, fmt.Sprintf("%d %s Pending before", c.StillPending, words.Pick(c.StillPending, "other was", "others were")))
	}
	if got := c.WasPending - c.StillPending; got > 0 {
		old = append(old, fmt.Sprintf("%d that %s Pending before %s", got, words.Pick(got, "was", "were"), words.Pick(got, "no longer is", "no longer are")))
	}
	if n := c.ReplacementsPending; n > 0 && c.New+c.Pending+c.Gone > 0 {
		old = append(old, fmt.Sprintf("%d that controllers make anew %s, too", n, words.Pick(n, "is", "are")))
	}
	if len(old) == 0 {
		return ""
	}
	return " (" + words.And(old) + ")"
}
