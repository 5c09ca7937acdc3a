package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// New returns the report on these pods. more is the number of pods that are not explained. asked are nodes on which the pods might have
// been. version is Faultline's version.
func New(result *simulation.Result, pods []explain.Pod, more int, asked []string, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version), Pods: []Explanation{}, More: more}
	for i := range pods {
		e := newExplanation(&pods[i], asked)
		if state, pod := podAfter(result, e.Step, types.NamespacedName{Namespace: e.Namespace, Name: e.Name}); pod != nil {
			e.Claims, e.Admission = report.IndexClaims(state).ForPod(pod), admission.Trace(state, pod)
		}
		r.Pods = append(r.Pods, e)
	}
	return r
}

// podAfter returns the pod after the step that tried it, and the state after that step; nil if the pod is not there.
func podAfter(result *simulation.Result, step string, name types.NamespacedName) (*cluster.State, *v1.Pod) {
	for i := range result.Steps {
		if result.Steps[i].Name != step {
			continue
		}
		for _, pod := range result.Steps[i].State.Pods {
			if cluster.NameOf(pod) == name {
				return result.Steps[i].State, pod
			}
		}
	}
	return nil, nil
}

func newExplanation(pod *explain.Pod, asked []string) Explanation {
	e := Explanation{Step: pod.Step, Halted: pod.Halted, Warnings: pod.Warnings, Runs: pod.Runs, Flips: pod.Flips, Effects: pod.Effects, Fixes: pod.Fixes, Tried: pod.Tried, Notes: pod.Notes}
	if pod.Placed != nil {
		e.PodRef, e.Cycle = cluster.NewPodRef(pod.Placed.Pod, pod.Owner), pod.Placed.Cycle
		e.Node, e.Decision = pod.Placed.Node, &pod.Placed.Decision
	} else {
		e.PodRef, e.Cycle = cluster.NewPodRef(pod.Pending.Pod, pod.Owner), pod.Pending.Cycle
		e.Wait, e.Causes, e.Group = pod.Pending.Wait(), pod.Causes, newGroup(pod.Pending.Group)
	}
	if pod.Runs != "" && pod.Runs != e.Node {
		e.Cycle = e.Cycle.MarkPresent(pod.Runs)
		asked = append([]string{pod.Runs}, asked...)
	}
	e.Asked = list.Map(asked, func(node string) Asked { return Asked{Node: node, Why: e.whyNot(node)} })
	e.Verdict = e.verdict()
	e.Story = e.story()
	return e
}

// whyNot says in a sentence why the pod is not on the node.
func (e *Explanation) whyNot(node string) string {
	cycle := e.Cycle
	if cycle == nil {
		return "no node was looked at"
	}
	if node == e.Node {
		return "the pod is there"
	}
	for _, refusal := range cycle.Refusals {
		if slices.Contains(refusal.Nodes, node) {
			return fmt.Sprintf("%s refused it: %s", refusal.Plugin, refusal.Message)
		}
	}
	for _, candidate := range cycle.Candidates {
		if candidate.Node == node {
			return e.whyBehind(&candidate)
		}
	}
	switch {
	case cycle.Named != nil:
		return "the pod is for certain nodes alone, and it is none of them: " + strings.Join(cycle.Named, ", ")
	case cycle.Searched == 0:
		return "no node was looked at"
	}
	return fmt.Sprintf("it was not looked at: the search ended after %s, as enough had passed", words.Count(cycle.Searched, "node"))
}

// whyBehind says why a feasible node was not chosen.
func (e *Explanation) whyBehind(other *placement.Candidate) string {
	if e.Node == "" {
		if e.Reason != "" {
			return "it passed every filter, and a plugin failed later"
		}
		if e.Group != nil {
			return "it passed every filter, and the pod waits for the others of its pod group"
		}
		return "it passed every filter, and the pod could not be bound to it"
	}
	chosen := e.Cycle.Chosen()
	if chosen.Total == other.Total {
		return fmt.Sprintf("it has %s, too, and %s stands before it in the scheduler's order or was drawn", words.Count(int(other.Total), "point"), chosen.Node)
	}
	var parts []string
	for i, score := range other.Scores {
		if d := score.Weighted - chosen.Scores[i].Weighted; d != 0 {
			parts = append(parts, fmt.Sprintf("%s %+d", score.Plugin, d))
		}
	}
	return fmt.Sprintf("it has %s, %d fewer than %s: %s", words.Count(int(other.Total), "point"), chosen.Total-other.Total, chosen.Node, strings.Join(parts, ", "))
}

// verdict says what decided, or "" if the pod waits for something else than the plugins.
func (e *Explanation) verdict() string {
	switch {
	case e.Cycle == nil:
		return ""
	case e.Decision != nil:
		return e.Decision.Verdict(e.Node, e.Cycle.Refusals)
	case len(e.Cycle.Candidates) == 0:
		return placement.RefusedVerdict(e.Cycle.Refusals)
	}
	return ""
}
