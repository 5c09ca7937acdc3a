package run

import (
	"fmt"
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
	"github.com/faultline/faultline/pkg/world"
)

// Answer answers what the last steps of the scenario ask, by what they change for the pods of the whole cluster; "" if they ask nothing.
func Answer(result *simulation.Result) string {
	first := len(result.Steps) - result.Scenario.Asked
	if result.Scenario.Asked == 0 || result.Partial != "" || first < 1 {
		return ""
	}
	nodes := result.Steps[first-1].State.Nodes
	before, after := tallyOf(&result.Steps[first-1], nodes), tallyOf(&result.Steps[len(result.Steps)-1], nodes)
	asks := func(kind func(*scenario.LoadedStep) bool) bool {
		steps := result.Scenario.Steps
		for i := range result.Scenario.Asked {
			if kind(&steps[len(steps)-1-i]) {
				return true
			}
		}
		return false
	}
	before.with = result.Steps[len(result.Steps)-1].Autoscaling.With()
	was, is := result.Steps[first-1].State, result.Steps[len(result.Steps)-1].State
	switch {
	case asks(func(step *scenario.LoadedStep) bool { return step.ScaleBy != nil }):
		var held []world.Held
		for i := range result.Scenario.Asked {
			held = append(held, result.Steps[first+i].Held...)
		}
		return scaled(before, after, heldBack(held))
	case asks(func(step *scenario.LoadedStep) bool { return step.ReplaceNodes != nil }):
		return removed(before, after, fmt.Sprintf(": with %d in place of %s", missing(is, was), words.Count(missing(was, is), "node")), gone(was, is))
	case asks(func(step *scenario.LoadedStep) bool { return step.RemoveNodes != nil }):
		return removed(before, after, ": without "+words.Count(missing(was, is), "node"), gone(was, is))
	}
	return added(before, after, missing(is, was))
}

// missing counts the nodes of a state that another lacks.
func missing(of, from *cluster.State) int {
	there, n := from.NodesByName(), 0
	for _, node := range of.Nodes {
		if there[node.Name] == nil {
			n++
		}
	}
	return n
}

// gone counts the pods of a state that a later one lacks and that no controller replaces.
func gone(was, is *cluster.State) int {
	there := sets.New[types.UID]()
	for _, pod := range is.Pods {
		there.Insert(pod.UID)
	}
	return list.Count(was.Pods, func(pod *v1.Pod) bool {
		return metav1.GetControllerOfNoCopy(pod) == nil && !cluster.Terminal(pod) && !there.Has(pod.UID)
	})
}

// tally counts the pods that are asked for after a step. With says how many nodes an autoscaler added for the question.
type tally struct {
	bound, pending, refused int
	with                    string
}

// tallyOf leaves out what comes with nodes that are not among these.
func tallyOf(step *simulation.Step, nodes []*v1.Node) tally {
	var t tally
	comes := comesWith(nodes)
	for _, pod := range step.State.Pods {
		switch {
		case comes(pod):
		case cluster.Waits(pod):
			t.pending++
		case pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed:
			t.bound++
		}
	}
	for _, refusal := range step.Refused {
		t.refused += refusal.Pods
	}
	return t
}

func (t tally) all() int { return t.bound + t.pending + t.refused }

// others says how many nodes came, and which pods had no node before.
func (t tally) others() string {
	var parts []string
	if t.pending > 0 {
		parts = append(parts, fmt.Sprintf("%d %s Pending", t.pending, words.Pick(t.pending, "other was", "others were")))
	}
	if t.refused > 0 {
		parts = append(parts, fmt.Sprintf("%d %s refused", t.refused, words.Pick(t.refused, "was", "were")))
	}
	if len(parts) == 0 {
		return t.with
	}
	return t.with + " (" + words.And(parts) + " before)"
}

// heldBack says what autoscalers allow of the replicas that were asked for; "" if they allow all.
func heldBack(held []world.Held) string {
	switch workloads, replicas, wanted := world.HeldBack(held); workloads {
	case 0:
		return ""
	case 1:
		at := slices.IndexFunc(held, func(h world.Held) bool { return h.Replicas < h.Wanted })
		return fmt.Sprintf("a HorizontalPodAutoscaler allows %s %d of %s", held[at].Qualified(), replicas, words.Count(wanted, "replica"))
	default:
		return fmt.Sprintf("HorizontalPodAutoscalers allow %s %d of %s", words.Count(workloads, "workload"), replicas, words.Count(wanted, "replica"))
	}
}

// scaled answers whether the pods fit that workloads have more, and what holds some of them back, if anything does.
func scaled(before, after tally, held string) string {
	more, waiting, refused := after.all()-before.all(), after.pending-before.pending, after.refused-before.refused
	var short []string
	if waiting > 0 {
		short = append(short, fmt.Sprintf("%d of %s do not fit", waiting, words.Count(more, "new pod")))
		switch {
		case waiting > more:
			short[0] = fmt.Sprintf("%d more pods are Pending, to make room for %s", waiting, words.Count(more, "new pod"))
		case more == 1:
			short[0] = "the new pod does not fit"
		case waiting == 1:
			short[0] = fmt.Sprintf("1 of %s does not fit", words.Count(more, "new pod"))
		}
	}
	if refused > 0 {
		short = append(short, words.Is(refused, "new pod")+" refused by the API server")
	}
	if len(short) > 0 && held != "" {
		short = append(short, held)
	}
	switch {
	case len(short) > 0:
		if before.with != "" {
			before.with = ", even" + before.with
		}
		return "No: " + strings.Join(short, ", and ") + before.others()
	case more > 0 && held != "":
		return "Only in part: " + fits(more) + ", but " + held + before.others()
	case more > 0:
		return "Yes: " + fits(more) + before.others()
	case more < 0 && held != "":
		return words.Count(-more, "pod") + " fewer, and " + held + before.others()
	case more < 0:
		return words.Count(-more, "pod") + " fewer" + before.others()
	case held != "":
		return "No pod more: " + held + before.others()
	}
	return "No pod more: no workload's replicas change" + before.others()
}

func fits(n int) string {
	switch n {
	case 1:
		return "the new pod fits"
	case 2:
		return "both new pods fit"
	}
	return fmt.Sprintf("all %d new pods fit", n)
}

// removed answers whether the pods still run with other nodes; so many that nobody replaces are gone.
func removed(before, after tally, with string, gone int) string {
	short := after.lacking() - before.lacking()
	var lost []string
	if short > 0 {
		lost = append(lost, words.Count(short, "more pod")+" "+words.Pick(short, "has", "have")+" no node")
	}
	if gone > 0 {
		lost = append(lost, words.Is(gone, "pod")+" gone, since no controller replaces "+words.Pick(gone, "it", "them"))
	}
	if len(lost) > 0 {
		return "No" + with + " " + strings.Join(lost, ", and ") + before.others()
	}
	return "Yes" + with + " no more pods are Pending" + before.others()
}

// added answers whether the pods that had no node get one of that many more nodes.
func added(before, after tally, nodes int) string {
	with := "with " + words.Count(nodes, "more node")
	switch {
	case before.lacking() == 0 && after.lacking() == 0:
		return "No pod was Pending before, and none is " + with
	case after.lacking() == 0:
		return fmt.Sprintf("Yes: %s every pod has a node, %d of them Pending or refused before", with, before.lacking())
	}
	if after.lacking() == before.lacking() {
		return fmt.Sprintf("No: %s %s no node, as before", with, words.Has(after.lacking(), "pod"))
	}
	return fmt.Sprintf("No: %s %s no node, of %d before", with, words.Has(after.lacking(), "pod"), before.lacking())
}

func (t tally) lacking() int { return t.pending + t.refused }
