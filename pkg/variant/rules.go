package variant

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// keepApart sets the rules of the workloads that the change names, or of all workloads.
func (m *Maker) keepApart(ctx context.Context, p *scenario.Problems, varied *scenario.LoadedVariant, path *field.Path, change *scenario.RuleChange) {
	nodes, keys := scenario.NodeLabels(varied.Scenario.Nodes()), map[string]bool{}
	for _, set := range nodes {
		for key := range set {
			keys[key] = true
		}
	}
	for i, term := range change.Over {
		if ctx.Err() != nil {
			return
		}
		if key := topology.Key(term.TopologyKey); !keys[key] {
			p.Add(path.Child("over").Index(i).Child("topologyKey"), "%s", scenario.LabelHint(key, "node", nodes))
		}
	}
	var owners []cluster.Ref
	if change.Workload != "" {
		owner, found := varied.Scenario.FindWorkload(p, path.Child("workload"), change.Workload)
		if !found {
			return
		}
		if err := cluster.CheckChangeable(cluster.Find(varied.Scenario.Objects(), owner)); err != nil {
			p.Add(path.Child("workload"), "%s", err)
			return
		}
		owners = append(owners, owner)
		varied.AddWorkload(owner)
	} else {
		seen := map[cluster.Ref]bool{}
		for _, obj := range varied.Scenario.Objects() {
			owner := cluster.RefTo(obj)
			if slices.Contains(scenario.SeparableKinds, owner.Kind) && metav1.GetControllerOfNoCopy(obj) == nil && cluster.CheckChangeable(obj) == nil && !seen[owner] {
				seen[owner] = true
				owners = append(owners, owner)
			}
		}
	}
	for _, owner := range owners {
		if ctx.Err() != nil {
			return
		}
		*varied.Scenario = *m.keepOwnerApart(varied.Scenario, owner, change)
	}
}

// keepOwnerApart returns the scenario with the rule for the pods of the owner: by a rollout if they run, and otherwise from the start.
func (m *Maker) keepOwnerApart(s *scenario.Scenario, owner cluster.Ref, change *scenario.RuleChange) *scenario.Scenario {
	var selector *metav1.LabelSelector
	var own map[string]string
	for _, obj := range s.Objects() {
		if cluster.RefTo(obj) == owner {
			selector, own = selectorOf(obj), cluster.PodLabels(obj)
		}
	}
	by := rule.Apart{
		By: rule.Separation(change.Rule), MaxSkew: change.MaxSkew, Required: change.WhenUnsatisfiable != string(v1.ScheduleAnyway),
		MatchLabelKeys: change.MatchLabelKeys,
	}
	for _, term := range change.Over {
		by.Over = append(by.Over, rule.DomainKey{TopologyKey: topology.Key(term.TopologyKey), Weight: term.Weight})
	}
	s, rolled := beginChange(s, owner)
	f := newPodEdit(s, owner, func(spec *v1.PodSpec) {
		by := by
		if len(by.Over) == 0 && by.By != rule.NoRule {
			by.Over = domainKeysOf(rule.ApartRules(spec, own, owner.Namespace))
		}
		rule.KeepApart(spec, own, owner.Namespace, selector, by)
	})
	if rolled {
		f = f.restrictTo(owner)
	}
	return applyChange(s, m.memoizeChange(fmt.Sprint(owner, *change, rolled), f), f.changePatched)
}

// domainKeysOf returns the topology keys of the rules, each once, or the hostname if there are none.
func domainKeysOf(rules []rule.Rule) []rule.DomainKey {
	var over []rule.DomainKey
	for _, r := range rules {
		if !slices.ContainsFunc(over, func(o rule.DomainKey) bool { return o.TopologyKey == r.TopologyKey }) {
			over = append(over, rule.DomainKey{TopologyKey: r.TopologyKey, Weight: r.Weight})
		}
	}
	if len(over) == 0 {
		over = []rule.DomainKey{{TopologyKey: v1.LabelHostname}}
	}
	return over
}

// selectorOf returns a selector of the object's own pods, for rules between them. The object's own selector serves, except for a Job, whose
// selector has labels of the Job itself.
func selectorOf(obj cluster.Object) *metav1.LabelSelector {
	if job, ok := obj.(*batchv1.Job); ok {
		return &metav1.LabelSelector{MatchLabels: job.Spec.Template.Labels}
	}
	return cluster.Selector(obj)
}
