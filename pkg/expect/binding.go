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
	i := slices.IndexFunc(step.Decisions, func(d world.Decision) bool { return expect.Is(d.Binding.Template) })
	if i < 0 {
		add("target", Judged{Want: expect.Target + " to be propagated", Got: "no binding", Why: unclaimed(expect, step)})
		return
	}
	b := step.Decisions[i].Binding
	of, got, why := b.Template.String(), targets(b), ""
	if !b.Scheduled() {
		why = strings.TrimSuffix(b.Message, ".")
	}
	if expect.Clusters != nil {
		is := map[string]int{}
		for _, target := range b.Targets {
			is[target.Cluster] = int(target.Replicas)
		}
		wanted := list.Each(slices.Sorted(maps.Keys(expect.Clusters)), func(name string) string { return share(name, expect.Clusters[name]) })
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

// unclaimed says why a workload has no binding.
func unclaimed(expect *scenario.ExpectedBinding, step *simulation.Step) string {
	if fed := step.State.Federation; fed != nil {
		for _, t := range fed.Control.Templates {
			if expect.Is(t.Template) {
				return "no policy selects it"
			}
		}
	}
	return "it is not there at this step"
}

// targets returns "in m1 (2), m2 (1)", or "in no cluster".
func targets(b *federation.Binding) string {
	if len(b.Targets) == 0 {
		return "in no cluster"
	}
	names := list.Each(b.Targets, func(target federation.Target) string { return share(target.Cluster, int(target.Replicas)) })
	slices.Sort(names)
	return "in " + strings.Join(names, ", ")
}

// share returns "m1 (2)", or "m1" without a number of replicas.
func share(cluster string, replicas int) string {
	if replicas == 0 {
		return cluster
	}
	return fmt.Sprintf("%s (%d)", cluster, replicas)
}
