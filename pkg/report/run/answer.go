package run

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Answer answers what the last steps of the scenario ask, by what they change for the pods of the whole cluster; "" if they ask nothing.
func Answer(result *simulation.Result) string {
	first := len(result.Steps) - result.Scenario.Asked
	if result.Scenario.Asked == 0 || result.Partial != "" || first < 1 {
		return ""
	}
	before, after := tallyOf(&result.Steps[first-1]), tallyOf(&result.Steps[len(result.Steps)-1])
	return scaled(before, after)
}

// tally counts the pods that are asked for after a step.
type tally struct{ bound, pending, refused int }

func tallyOf(step *simulation.Step) tally {
	var t tally
	for _, pod := range step.State.Pods {
		switch {
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

// others says which pods had no node before.
func (t tally) others() string {
	var parts []string
	if t.pending > 0 {
		parts = append(parts, fmt.Sprintf("%d %s Pending", t.pending, words.Pick(t.pending, "other was", "others were")))
	}
	if t.refused > 0 {
		parts = append(parts, fmt.Sprintf("%d %s refused", t.refused, words.Pick(t.refused, "was", "were")))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + words.And(parts) + " before)"
}

// scaled answers whether the pods fit that workloads have more.
func scaled(before, after tally) string {
	more, waiting, refused := after.all()-before.all(), after.pending-before.pending, after.refused-before.refused
	var short []string
	if waiting > 0 {
		short = append(short, fmt.Sprintf("%d of %s do not fit", waiting, words.Count(more, "new pod")))
		if waiting > more {
			short[0] = fmt.Sprintf("%d more pods are Pending, to make room for %s", waiting, words.Count(more, "new pod"))
		} else if more == 1 {
			short[0] = "the new pod does not fit"
		} else if waiting == 1 {
			short[0] = fmt.Sprintf("1 of %s does not fit", words.Count(more, "new pod"))
		}
	}
	if refused > 0 {
		short = append(short, words.Is(refused, "new pod")+" refused by the API server")
	}
	switch {
	case len(short) > 0:
		return "No: " + strings.Join(short, ", and ") + before.others()
	case more > 0:
		return "Yes: " + fits(more) + before.others()
	case more < 0:
		return words.Count(-more, "pod") + " fewer" + before.others()
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
