package advice

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
)

// proposal is a rule to try.
type proposal struct {
	name       string
	by         []rule.Apart
	complexity int
	asItIs     bool                               // the workload's present rule
	refine     func(*v1.TopologySpreadConstraint) // changes each required constraint; nil: changes none
	plain      string                             // for a rule per revision, the name of the same rule over all revisions
	replicas   int32                              // the number of replicas to set; 0: as many as now
}

func proposalOf(name string, complexity int, by ...rule.Apart) proposal {
	return proposal{name: name, by: by, complexity: complexity}
}

// perRevision are the labels that restrict a rule to pods of the same revision of a Deployment.
var perRevision = []string{appsv1.DefaultDeploymentUniqueLabelKey}

// proposals returns the rules that make a difference on these nodes, simple ones first: each kind of rule over each level with more than
// one domain, and pairs of a wider level and the hostname. Over a level with one domain, no rule can keep pods apart.
func proposals(nodes []*v1.Node, further []string, deployment bool) []proposal {
	keys := topology.LevelsOfSeveral(nodes, further...)
	all := []proposal{{name: "none"}}
	for _, key := range keys {
		all = append(all, single(key, deployment)...)
	}
	for _, key := range keys {
		if key != v1.LabelHostname && keys[len(keys)-1] == v1.LabelHostname {
			all = append(all, pairs(key, v1.LabelHostname, deployment)...)
		}
	}
	return all
}

// refinements returns the workload's present rules with required spread constraints that count fewer nodes or pods: without the nodes whose
// taints the pods do not tolerate, if there are any, and without the pods of an old revision.
func refinements(spec *v1.PodSpec, nodes []*v1.Node, deployment bool) []proposal {
	required := list.Where(spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == v1.DoNotSchedule })
	var all []proposal
	add := func(words string, lacks func(v1.TopologySpreadConstraint) bool, refine func(*v1.TopologySpreadConstraint)) {
		if slices.ContainsFunc(required, lacks) {
			all = append(all, proposal{name: AsItIs + ", " + words, complexity: 1, asItIs: true, refine: refine})
		}
	}
	repels := func(node *v1.Node) bool { return cluster.Repels(node, &v1.Pod{Spec: *spec}) }
	if slices.ContainsFunc(nodes, repels) {
		add("nodeTaintsPolicy Honor", func(c v1.TopologySpreadConstraint) bool {
			return ptr.Deref(c.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyIgnore
		}, func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor) })
	}
	if hash := perRevision[0]; deployment {
		add("per revision", func(c v1.TopologySpreadConstraint) bool { return !slices.Contains(c.MatchLabelKeys, hash) },
			func(c *v1.TopologySpreadConstraint) {
				if !slices.Contains(c.MatchLabelKeys, hash) {
					c.MatchLabelKeys = append(c.MatchLabelKeys, hash)
				}
			})
	}
	return all
}

// single returns the rules over one topology key.
func single(key string, deployment bool) []proposal {
	name := Short(key)
	all := []proposal{proposalOf("soft "+name, 2, soft(rule.Over{TopologyKey: key}))}
	for _, skew := range []int32{1, 2} {
		words := "spread " + name
		if skew > 1 {
			words = fmt.Sprintf("spread %s (maxSkew %d)", name, skew)
		}
		all = append(all, proposalOf(words+" softly", 2+int(skew), spread(key, skew, false)))
		all = append(all, proposalOf(words, 2+int(skew), spread(key, skew, true)))
	}
	all = append(all, proposalOf("hard "+name, 3, hard(key)))
	if !deployment {
		return all
	}
	return append(all, revisions(all[1:])...)
}

// pairs returns the rules that combine a wide topology key and a narrow one.
func pairs(wide, narrow string, deployment bool) []proposal {
	w, n := Short(wide), Short(narrow)
	weighted := func(a, b int32) proposal {
		return proposalOf(fmt.Sprintf("soft %s=%d + %s=%d", w, a, n, b), 6,
			soft(rule.Over{TopologyKey: wide, Weight: a}, rule.Over{TopologyKey: narrow, Weight: b}))
	}
	strict := []proposal{
		proposalOf("spread "+w+" + softly "+n, 7, spread(wide, 1, true), spread(narrow, 1, false)),
		proposalOf("hard "+w+" + soft "+n, 7, hard(wide), soft(rule.Over{TopologyKey: narrow})),
	}
	all := append([]proposal{weighted(100, 50), weighted(50, 100)}, strict...)
	if deployment {
		all = append(all, revisions(strict)...)
	}
	return all
}

// revisions returns the same rules, restricted to the pods of one revision, so that old pods do not block new ones.
func revisions(proposals []proposal) []proposal {
	var all []proposal
	for _, p := range proposals {
		next := proposal{name: p.name + ", per revision", complexity: p.complexity + 2, plain: p.name}
		for _, by := range p.by {
			by.MatchLabelKeys = perRevision
			next.by = append(next.by, by)
		}
		all = append(all, next)
	}
	return all
}

func soft(over ...rule.Over) rule.Apart { return rule.Apart{By: rule.SoftAnti, Over: over} }

func hard(key string) rule.Apart {
	return rule.Apart{By: rule.HardAnti, Over: []rule.Over{{TopologyKey: key}}}
}

func spread(key string, skew int32, required bool) rule.Apart {
	return rule.Apart{By: rule.EvenlySpread, Over: []rule.Over{{TopologyKey: key}}, MaxSkew: skew, Required: required}
}

// Short returns the short name of a well-known topology key, or the key itself.
func Short(key string) string {
	for _, word := range []string{"region", "zone", "hostname"} {
		if topology.Key(word) == key {
			return word
		}
	}
	return key
}

// named returns the name of the rule, followed by the strategy if there is one.
func named(name string, s *strategy) string {
	if s == nil {
		return name
	}
	return name + ", " + s.words
}
