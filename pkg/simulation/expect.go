package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Expectation is what a scenario expected of a step, what was seen, and whether that is it.
type Expectation struct {
	Want, Got string
	Met       bool
	// Field is its place under the step's expect, as names and positions.
	Field []any
}

// judge compares the step with what is expected of it.
func judge(expect *scenario.Expect, step *Step) []Expectation {
	if expect == nil {
		return nil
	}
	var judged []Expectation
	if expect.Pending != nil {
		judged = append(judged, Expectation{
			Want: plural(*expect.Pending, "pod") + " Pending",
			Got:  fmt.Sprint(len(step.Pending)),
			Met:  len(step.Pending) == *expect.Pending, Field: []any{"pending"},
		})
	}
	if expect.Message != "" {
		judged = append(judged, judgeMessage(expect.Message, step))
	}
	for i, domains := range expect.Domains {
		for _, e := range judgeDomains(domains, step.State) {
			e.Field = append([]any{"domains", i}, e.Field...)
			judged = append(judged, e)
		}
	}
	if expect.Rollouts != nil {
		var open []string
		for _, rollout := range step.Rollouts {
			if !rollout.Complete {
				open = append(open, strings.ToLower(rollout.Kind)+"/"+rollout.Name)
			}
		}
		want, got := "every rollout complete", "every one is"
		if !*expect.Rollouts {
			want = "a rollout that does not complete"
		}
		if len(open) > 0 {
			got = "not complete: " + strings.Join(open, ", ")
		}
		judged = append(judged, Expectation{Want: want, Got: got, Met: (len(open) == 0) == *expect.Rollouts, Field: []any{"rollouts"}})
	}
	return judged
}

func judgeMessage(text string, step *Step) Expectation {
	e := Expectation{Want: fmt.Sprintf("a Pending pod's message contains %q", text), Got: "no pod is Pending", Field: []any{"message"}}
	for _, pending := range step.Pending {
		e.Got = pending.Message
		if strings.Contains(pending.Message, text) {
			e.Met = true
			break
		}
	}
	return e
}

func judgeDomains(expect scenario.Domains, state *cluster.State) []Expectation {
	counts := countDomains(state, expect.TopologyKey, expect.Selector)
	var parts []string
	least, most := -1, 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
		if least < 0 || counts[name] < least {
			least = counts[name]
		}
		most = max(most, counts[name])
	}
	got := strings.Join(parts, ", ")
	of := "pods by " + expect.TopologyKey
	if expect.Selector != "" {
		of = expect.Selector + " " + of
	}
	var judged []Expectation
	add := func(field string, met bool, format string, args ...any) {
		judged = append(judged, Expectation{Want: of + ": " + fmt.Sprintf(format, args...), Got: got, Met: met, Field: []any{field}})
	}
	if expect.Min != nil {
		add("min", least >= *expect.Min, "at least %d in each", *expect.Min)
	}
	if expect.Max != nil {
		add("max", most <= *expect.Max, "at most %d in each", *expect.Max)
	}
	if expect.Skew != nil {
		add("skew", most-max(least, 0) <= *expect.Skew, "skew at most %d", *expect.Skew)
	}
	for _, name := range slices.Sorted(maps.Keys(expect.Exactly)) {
		add("exactly", counts[name] == expect.Exactly[name], "exactly %d in %s", expect.Exactly[name], name)
	}
	return judged
}

// countDomains counts the running pods in each domain, empty ones included.
func countDomains(state *cluster.State, key, selector string) map[string]int {
	matches, err := labels.Parse(selector)
	if err != nil {
		matches = labels.Nothing() // Loading the scenario has made sure that it parses.
	}
	domains, _ := topology.Domains(state.Nodes, key)
	counts := map[string]int{}
	domainOf := map[string]string{}
	for _, domain := range domains {
		counts[domain.Value] = 0
		for _, node := range domain.Nodes {
			domainOf[node.Name] = domain.Value
		}
	}
	for _, pod := range state.Pods {
		if domain, found := domainOf[pod.Spec.NodeName]; found && !cluster.Terminal(pod) && matches.Matches(labels.Set(pod.Labels)) {
			counts[domain]++
		}
	}
	return counts
}
