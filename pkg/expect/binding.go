package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// judgeBinding judges what Karmada has decided about a workload.
func judgeBinding(expect *scenario.ExpectedBinding, step *simulation.Step, add func(field string, e Judged)) {
	i := slices.IndexFunc(step.Decisions, func(d world.Decision) bool { return expect.Matches(d.Binding.Template) })
	if i < 0 {
		add("target", Judged{Want: expect.Target + " to be propagated", Got: "no binding", Why: noBindingReason(expect, step)})
		return
	}
	b := step.Decisions[i].Binding
	of, got, why := b.Template.String(), describeTargets(b), ""
	if !b.Scheduled() {
		why = strings.TrimSuffix(b.Message, ".")
	}
	if expect.Clusters != nil {
		is := map[string]int{}
		for _, target := range b.Targets {
			is[target.Cluster] = int(target.Replicas)
		}
		wanted := list.Map(slices.Sorted(maps.Keys(expect.Clusters)), func(name string) string { return formatTarget(name, expect.Clusters[name]) })
		add("clusters", Judged{Want: of + " in " + strings.Join(wanted, ", "), Got: got, Met: maps.Equal(is, expect.Clusters), Why: why})
	}
	if wanted := expect.NotScheduled; wanted != nil {
		e := Judged{Want: of + " not scheduled", Got: got, Met: !b.Scheduled() == *wanted, Why: why}
		if !*wanted {
			e.Want = of + " scheduled"
		}
		if !b.Scheduled() {
			e.Got = "not scheduled"
		}
		add("notScheduled", e)
	}
	if expect.Message != "" {
		add("message", Judged{Want: fmt.Sprintf("%s with a message that contains %q", of, expect.Message), Got: fmt.Sprintf("%q", b.Message),
			Met: strings.Contains(b.Message, expect.Message)})
	}
}

// noBindingReason says why a workload has no binding.
func noBindingReason(expect *scenario.ExpectedBinding, step *simulation.Step) string {
	if fed := step.State.Federation; fed != nil {
		for _, t := range fed.Control.Templates {
			if expect.Matches(t.Template) {
				return "no policy selects it"
			}
		}
	}
	return "it is not there at this step"
}

// describeTargets returns "in m1 (2), m2 (1)", or "in no cluster".
func describeTargets(b *federation.Binding) string {
	if len(b.Targets) == 0 {
		return "in no cluster"
	}
	names := list.Map(b.Targets, func(target federation.Target) string { return formatTarget(target.Cluster, int(target.Replicas)) })
	slices.Sort(names)
	return "in " + strings.Join(names, ", ")
}

// formatTarget returns "m1 (2)", or "m1" without a number of replicas.
func formatTarget(cluster string, replicas int) string {
	if replicas == 0 {
		return cluster
	}
	return fmt.Sprintf("%s (%d)", cluster, replicas)
}
