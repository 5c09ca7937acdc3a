package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/words"
)

// Effect says what one rule of a workload's pods changes in a step. It compares the step as it is with the step without the rule.
type Effect struct {
	// Rule is the rule in words, and Path its place in the pod's spec.
	Rule string `json:"rule"`
	Path string `json:"path"`
	// Words say what the rule changes.
	Words string `json:"words"`
	// Decides reports whether anything differs without the rule, even in another workload.
	Decides bool `json:"decides"`
	// Moved are the pods of the workload that are elsewhere without the rule, and Others the pods of other workloads. Names change with the
	// template, so the n-th pod of a workload, in the order of arrival, is compared with its n-th pod without the rule.
	Moved  []Move `json:"moved,omitempty"`
	Others []Move `json:"others,omitempty"`
	// SameNodes means that the workload has the same number of pods on each node without the rule: moved pods only changed places.
	SameNodes bool `json:"sameNodes"`
	// Pending is the number of Pending pods of the step with the rule, and PendingWithout the number without it.
	Pending        int `json:"pending"`
	PendingWithout int `json:"pendingWithout"`
	// Credited is the number of the workload's pods for which the plugin of a preferred rule decided in the step though the rule by itself
	// changes nothing. Together are the plugins with which it decided, if it did not decide alone.
	Credited int      `json:"credited,omitempty"`
	Together []string `json:"together,omitempty"`
	// Selected is the number of the workload's own pods, out of Pods, that the selector of an anti-affinity or a spread constraint matches.
	// A rule that selects none keeps none apart. Both are 0 for other rules.
	Selected int `json:"selected"`
	Pods     int `json:"pods,omitempty"`
}

// Move is a pod that is on another node without the rule. An empty node means that the pod is Pending or does not exist.
type Move struct {
	// Pod is the pod's name with the rule, or without it if it only exists then.
	Pod  string `json:"pod"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Effects returns what each rule of the owner's pods does in the step, in the order of the spec. For each rule, the scenario runs again up
// to the step, as if the pods had never had the rule. Rules of other pods and the scheduler's default spreading are not included. Pods
// without rules have no effects. An unknown step, or a step without such pods, is an error.
func Effects(ctx context.Context, result *simulation.Result, step string, owner cluster.Ref, opts Options) ([]Effect, error) {
	with, err := findStep(result, step)
	if err != nil {
		return nil, err
	}
	spec := specOf(with.State, owner)
	if spec == nil {
		return nil, fmt.Errorf("step %q has neither %s nor a pod of it", step, owner)
	}
	upTo := result.Scenario.CutAfter(step)
	rules := rule.List(spec)
	var effects []Effect
	for i, r := range rules {
		opts.progress(i, len(rules))
		without, err := runToLastStep(ctx, variant.Edit(upTo, owner, func(spec *v1.PodSpec) { rule.Remove(spec, r) }))
		if err != nil {
			return nil, fmt.Errorf("without the %s: %w", r, err)
		}
		effects = append(effects, newEffect(r, owner, with, without))
	}
	opts.progress(len(rules), len(rules))
	return effects, nil
}

func newEffect(r rule.Rule, owner cluster.Ref, with, without *simulation.Step) Effect {
	e := Effect{Rule: r.String(), Path: r.Path, Pending: len(with.Pending), PendingWithout: len(without.Pending)}
	before, after := podsOf(with.State), podsOf(without.State)
	e.Moved = findMoves(before[owner], after[owner])
	e.SameNodes = maps.Equal(countPerNode(before[owner]), countPerNode(after[owner]))
	for _, other := range sortedOwners(before, after) {
		if other != owner {
			e.Others = append(e.Others, findMoves(before[other], after[other])...)
		}
	}
	e.Selected, e.Pods = countSelected(r, before[owner])
	e.Decides = len(e.Moved)+len(e.Others) > 0 || e.Pending != e.PendingWithout
	if !e.Decides && !r.Hard {
		e.addCredit(r.Kind.Plugin(), owner, with)
	}
	e.Words = e.text(r.Kind.Plugin())
	return e
}

// addCredit adds for which pods the plugin decided.
func (e *Effect) addCredit(plugin string, owner cluster.Ref, step *simulation.Step) {
	ownerOf := step.State.Owners()
	for _, p := range step.Placed {
		if !slices.Contains(p.Deciders, plugin) || ownerOf(p.Pod) != owner {
			continue
		}
		e.Credited++
		for _, other := range p.Deciders {
			if p.Together && other != plugin && !slices.Contains(e.Together, other) {
				e.Together = append(e.Together, other)
			}
		}
	}
}

// text says what the rule changes.
func (e *Effect) text(plugin string) string {
	if e.Selected < e.Pods {
		return fmt.Sprintf("%s; its selector matches %d of the workload's %s", e.outcome(plugin), e.Selected, words.Count(e.Pods, "pod"))
	}
	return e.outcome(plugin)
}

func (e *Effect) outcome(plugin string) string {
	if !e.Decides {
		text := "changes nothing by itself: without it every pod of the step is where it is now"
		if e.Credited > 0 {
			text += fmt.Sprintf("; %s as a whole decided for %s", plugin, words.Count(e.Credited, "pod"))
		}
		if len(e.Together) > 0 {
			text += ", together with " + words.And(e.Together)
		}
		return text
	}
	if e.SameNodes && len(e.Others) == 0 && e.Pending == e.PendingWithout {
		return fmt.Sprintf("decides only which pod is where: without it every node has as many of them, and %s changed places", words.Pick(len(e.Moved), "1 pod has", fmt.Sprintf("%d pods have", len(e.Moved))))
	}
	var parts []string
	if len(e.Moved) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the workload %s elsewhere", words.Count(len(e.Moved), "pod"), words.Pick(len(e.Moved), "is", "are")))
	}
	if len(e.Others) > 0 {
		parts = append(parts, fmt.Sprintf("%s of other workloads %s elsewhere", words.Count(len(e.Others), "pod"), words.Pick(len(e.Others), "is", "are")))
	}
	if e.Pending != e.PendingWithout {
		parts = append(parts, fmt.Sprintf("%s Pending instead of %d", words.Is(e.PendingWithout, "pod"), e.Pending))
	}
	return "decides: without it " + words.And(parts)
}

// countSelected returns how many of the pods the selector of the rule matches, and how many pods there are; 0 and 0 if the rule is not for
// keeping pods apart.
func countSelected(r rule.Rule, pods []*v1.Pod) (selected, total int) {
	if r.Kind != rule.AntiAffinity && r.Kind != rule.Spread {
		return 0, 0
	}
	selector, err := labels.Parse(r.Selector)
	if err != nil {
		return 0, 0 // not a single selector
	}
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			selected++
		}
	}
	return selected, len(pods)
}

// sortedOwners returns the owners in either map, sorted.
func sortedOwners(before, after map[cluster.Ref][]*v1.Pod) []cluster.Ref {
	all := maps.Clone(before)
	maps.Copy(all, after)
	return slices.SortedFunc(maps.Keys(all), cluster.Ref.Compare)
}

// findMoves compares the n-th pods before and after, and returns those on different nodes.
func findMoves(before, after []*v1.Pod) []Move {
	var all []Move
	for i := range max(len(before), len(after)) {
		var m Move
		if i < len(after) {
			m.Pod, m.To = after[i].Name, after[i].Spec.NodeName
		}
		if i < len(before) {
			m.Pod, m.From = before[i].Name, before[i].Spec.NodeName
		}
		if m.From != m.To {
			all = append(all, m)
		}
	}
	return all
}

func countPerNode(pods []*v1.Pod) map[string]int {
	counts := map[string]int{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			counts[pod.Spec.NodeName]++
		}
	}
	return counts
}
