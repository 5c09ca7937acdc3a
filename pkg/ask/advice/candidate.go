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
	rules      []rule.Apart
	complexity int
	keepsRules bool                               // the workload's present rule
	refine     func(*v1.TopologySpreadConstraint) // changes each required constraint; nil: changes none
	plainName  string                             // for a rule per revision, the name of the same rule over all revisions
	replicas   int32                              // the number of replicas to set; 0: as many as now
}

func newProposal(name string, complexity int, by ...rule.Apart) proposal {
	return proposal{name: name, rules: by, complexity: complexity}
}

// revisionLabels are the labels that restrict a rule to pods of the same revision of a Deployment.
var revisionLabels = []string{appsv1.DefaultDeploymentUniqueLabelKey}

// listProposals returns the rules that make a difference on these nodes, simple ones first: each kind of rule over each level with more than
// one domain, and pairs of a wider level and the hostname. Over a level with one domain, no rule can keep pods apart.
func listProposals(nodes []*v1.Node, further []string, deployment bool) []proposal {
	keys := topology.MultiDomainLevels(nodes, further...)
	all := []proposal{{name: "none"}}
	for _, key := range keys {
		all = append(all, proposalsOverOne(key, deployment)...)
	}
	for _, key := range keys {
		if key != v1.LabelHostname && keys[len(keys)-1] == v1.LabelHostname {
			all = append(all, proposalsOverTwo(key, v1.LabelHostname, deployment)...)
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
			all = append(all, proposal{name: AsItIs + ", " + words, complexity: 1, keepsRules: true, refine: refine})
		}
	}
	repels := func(node *v1.Node) bool { return cluster.Repels(node, &v1.Pod{Spec: *spec}) }
	if slices.ContainsFunc(nodes, repels) {
		add("nodeTaintsPolicy Honor", func(c v1.TopologySpreadConstraint) bool {
			return ptr.Deref(c.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyIgnore
		}, func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor) })
	}
	if hash := revisionLabels[0]; deployment {
		add("per revision", func(c v1.TopologySpreadConstraint) bool { return !slices.Contains(c.MatchLabelKeys, hash) },
			func(c *v1.TopologySpreadConstraint) {
				if !slices.Contains(c.MatchLabelKeys, hash) {
					c.MatchLabelKeys = append(c.MatchLabelKeys, hash)
				}
			})
	}
	return all
}

// proposalsOverOne returns the rules over one topology key.
func proposalsOverOne(key string, deployment bool) []proposal {
	name := shortKey(key)
	all := []proposal{newProposal("soft "+name, 2, softAntiAffinity(rule.DomainKey{TopologyKey: key}))}
	for _, skew := range []int32{1, 2} {
		words := "spread " + name
		if skew > 1 {
			words = fmt.Sprintf("spread %s (maxSkew %d)", name, skew)
		}
		all = append(all, newProposal(words+" softly", 2+int(skew), topologySpread(key, skew, false)))
		all = append(all, newProposal(words, 2+int(skew), topologySpread(key, skew, true)))
	}
	all = append(all, newProposal("hard "+name, 3, hardAntiAffinity(key)))
	if !deployment {
		return all
	}
	return append(all, restrictToRevision(all[1:])...)
}

// proposalsOverTwo returns the rules that combine a wide topology key and a narrow one.
func proposalsOverTwo(wide, narrow string, deployment bool) []proposal {
	w, n := shortKey(wide), shortKey(narrow)
	weighted := func(a, b int32) proposal {
		return newProposal(fmt.Sprintf("soft %s=%d + %s=%d", w, a, n, b), 6,
			softAntiAffinity(rule.DomainKey{TopologyKey: wide, Weight: a}, rule.DomainKey{TopologyKey: narrow, Weight: b}))
	}
	strict := []proposal{
		newProposal("spread "+w+" + softly "+n, 7, topologySpread(wide, 1, true), topologySpread(narrow, 1, false)),
		newProposal("hard "+w+" + soft "+n, 7, hardAntiAffinity(wide), softAntiAffinity(rule.DomainKey{TopologyKey: narrow})),
	}
	all := append([]proposal{weighted(100, 50), weighted(50, 100)}, strict...)
	if deployment {
		all = append(all, restrictToRevision(strict)...)
	}
	return all
}

// restrictToRevision returns the same rules, restricted to the pods of one revision, so that old pods do not block new ones.
func restrictToRevision(proposals []proposal) []proposal {
	var all []proposal
	for _, p := range proposals {
		next := proposal{name: p.name + ", per revision", complexity: p.complexity + 2, plainName: p.name}
		for _, by := range p.rules {
			by.MatchLabelKeys = revisionLabels
			next.rules = append(next.rules, by)
		}
		all = append(all, next)
	}
	return all
}

func softAntiAffinity(over ...rule.DomainKey) rule.Apart {
	return rule.Apart{By: rule.SoftAnti, Over: over}
}

func hardAntiAffinity(key string) rule.Apart {
	return rule.Apart{By: rule.HardAnti, Over: []rule.DomainKey{{TopologyKey: key}}}
}

func topologySpread(key string, skew int32, required bool) rule.Apart {
	return rule.Apart{By: rule.EvenlySpread, Over: []rule.DomainKey{{TopologyKey: key}}, MaxSkew: skew, Required: required}
}

// shortKey returns the short name of a well-known topology key, or the key itself.
func shortKey(key string) string {
	for _, word := range []string{"region", "zone", "hostname"} {
		if topology.Key(word) == key {
			return word
		}
	}
	return key
}

// nameWithStrategy returns the name of the rule, followed by the strategy if there is one.
func nameWithStrategy(name string, s *strategy) string {
	if s == nil {
		return name
	}
	return name + ", " + s.words
}
