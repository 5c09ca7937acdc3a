package advice

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// strategy is a rolling update strategy that removes an old pod before its successor runs.
type strategy struct {
	words          string
	maxUnavailable intstr.IntOrString
}

// strategies are tried in this order if a rollout does not finish.
var strategies = []strategy{
	{"maxUnavailable 1 and maxSurge 0", intstr.FromInt32(1)},
	{"maxUnavailable 25% and maxSurge 0", intstr.FromString("25%")},
}

// makePatch returns the JSON merge patch that gives the workload the rule and the strategy, if any; nil if that changes nothing. A strategic
// merge patch would not work, since it appends to some lists instead of replacing them.
func makePatch(workload cluster.Object, p *proposal, s *strategy) (json.RawMessage, error) {
	before, err := manifest.Encode(workload)
	if err != nil {
		return nil, err
	}
	changed := workload.DeepCopyObject().(cluster.Object)
	if !p.keepsRules {
		template, _ := cluster.Template(changed)
		rule.KeepApart(&template.Spec, template.Labels, workload.GetNamespace(), cluster.Selector(changed), p.rules...)
	}
	if p.replicas > 0 {
		*cluster.ReplicasOf(changed) = &p.replicas
	}
	if template, _ := cluster.Template(changed); p.refine != nil {
		for i := range template.Spec.TopologySpreadConstraints {
			if c := &template.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == v1.DoNotSchedule {
				p.refine(c)
			}
		}
	}
	if d, ok := changed.(*appsv1.Deployment); ok && s != nil {
		none := intstr.FromInt32(0)
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &s.maxUnavailable, MaxSurge: &none}
	}
	after, err := manifest.Encode(changed)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	return patch, nil
}

// patchVariant returns the variant of the scenario with the patch.
func patchVariant(owner cluster.Ref, name string, patch json.RawMessage) *scenario.Variant {
	return &scenario.Variant{Name: name, Patches: []scenario.Patch{{
		Target: scenario.Target{Target: owner.String(), Namespace: owner.Namespace}, Type: "merge", Patch: runtime.RawExtension{Raw: patch},
	}}}
}

// rulesAfter returns the rules that keep the workload's pods apart once the patch is applied; a nil patch changes nothing.
func rulesAfter(workload cluster.Object, owner cluster.Ref, patch json.RawMessage) ([]rule.Rule, error) {
	if patch != nil {
		var err error
		if workload, err = patchVariant(owner, "", patch).Patches[0].Apply(workload); err != nil {
			return nil, err
		}
	}
	template, _ := cluster.Template(workload)
	return rule.ApartRules(&template.Spec, template.Labels, workload.GetNamespace()), nil
}

// setRules stores the rules that the workload has with the candidate's patch.
func (c *Candidate) setRules(rules []rule.Rule) {
	c.apartRules, c.Rules = rules, []string{}
	for _, r := range rules {
		c.Rules = append(c.Rules, r.String())
	}
}
