package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// In a federation, the checks that read rules examine each member by itself, as its own scheduler does. The checks that run the scenario
// again are left out: Karmada would undo what they change in one cluster. The checks of this file examine Karmada's control plane over all
// steps.

// karmadaControl is what the steps bring into Karmada's control plane: each object once, as the last step that has it leaves it.
type karmadaControl struct {
	step            *simulation.Step // the last step
	options         federation.Options
	clusters        []*federation.Cluster // the clusters as they joined
	clusterVersions []*federation.Cluster // the clusters as they are after any step
	policies        []*federation.Policy
	overrides       []*federation.Override
	templates       []*cluster.ResourceTemplate
	bindings        map[federation.Key]*federation.Binding
	selectsTemplate map[string]bool // the policies and overrides that select a template after some step
}

// newKarmadaControl returns what the steps bring into Karmada's control plane, or nil without a federation.
func newKarmadaControl(result *simulation.Result) *karmadaControl {
	if len(result.Steps) == 0 || result.Steps[0].State.Federation == nil {
		return nil
	}
	k := &karmadaControl{step: result.Last(), bindings: map[federation.Key]*federation.Binding{}, selectsTemplate: map[string]bool{}}
	for i := range result.Steps {
		c := result.Steps[i].State.Federation.Control
		k.options = c.Options
		for _, cl := range c.Clusters {
			if !slices.ContainsFunc(k.clusters, func(other *federation.Cluster) bool { return other.Name == cl.Name }) {
				k.clusters = append(k.clusters, cl)
			}
			if !slices.Contains(k.clusterVersions, cl) {
				k.clusterVersions = append(k.clusterVersions, cl)
			}
		}
		k.policies = mergeNewer(k.policies, c.Policies, (*federation.Policy).String)
		k.overrides = mergeNewer(k.overrides, c.Overrides, (*federation.Override).String)
		k.templates = mergeNewer(k.templates, c.Templates, func(t *cluster.ResourceTemplate) federation.Key { return t.Key() })
		for _, b := range c.Bindings {
			k.bindings[b.Template.Key()] = b
		}
		for _, p := range c.Policies {
			k.markSelecting(p.String(), c.Templates, p.Selects)
		}
		for _, o := range c.Overrides {
			k.markSelecting(o.String(), c.Templates, o.Selects)
		}
	}
	return k
}

// markSelecting notes whether a policy or an override selects one of the templates that exist at the same time.
func (k *karmadaControl) markSelecting(name string, among []*cluster.ResourceTemplate, one func(*federation.Template) bool) {
	k.selectsTemplate[name] = k.selectsTemplate[name] || slices.ContainsFunc(among, func(t *cluster.ResourceTemplate) bool { return one(t.Template) })
}

// mergeNewer returns the list with newer items in place of items that have the same key.
func mergeNewer[T any, K comparable](list, newer []T, key func(T) K) []T {
	for _, item := range newer {
		if i := slices.IndexFunc(list, func(other T) bool { return key(other) == key(item) }); i >= 0 {
			list[i] = item
		} else {
			list = append(list, item)
		}
	}
	return list
}

func policyObject(p *federation.Policy) Object {
	if p.Namespace == "" {
		return Object{Kind: federation.KindClusterPolicy, Name: p.Name}
	}
	return Object{Kind: federation.KindPropagationPolicy, Namespace: p.Namespace, Name: p.Name}
}

func templateObject(t *federation.Template) Object {
	return Object{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
}

// bindingsOf returns the bindings of the policy.
func (k *karmadaControl) bindingsOf(p *federation.Policy) []*federation.Binding {
	var all []*federation.Binding
	for _, t := range k.templates {
		if b := k.bindings[t.Key()]; b != nil && b.Policy == p.String() {
			all = append(all, b)
		}
	}
	return all
}

// policySelectsNothing finds policies that select no template.
func policySelectsNothing(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		if !k.selectsTemplate[p.String()] {
			found = append(found, Finding{Object: policyObject(p), Field: "spec.resourceSelectors",
				Message: "the policy selects nothing: no object of the scenario has the apiVersion, kind, namespace, name and labels of its selectors",
				Fix:     "correct the selectors, or remove the policy"})
		}
	}
	return found
}

// workloadUnclaimed finds workloads that no policy selects.
func workloadUnclaimed(k *karmadaControl) []Finding {
	var found []Finding
	for _, t := range k.templates {
		makesPods := slices.ContainsFunc(t.Objects, func(obj cluster.Object) bool { spec, _ := cluster.PodSpec(obj); return spec != nil })
		if makesPods && k.bindings[t.Key()] == nil {
			found = append(found, Finding{Object: templateObject(t.Template), Field: "metadata",
				Message: "no policy selects it, so that Karmada brings it into no cluster",
				Fix:     fmt.Sprintf("add a resource selector with apiVersion %s, kind %s and name %s to a policy", t.APIVersion, t.Kind, t.Name)})
		}
	}
	return found
}

// spreadWithoutMaxGroups finds spread constraints that select no cluster, because they have no maxGroups.
func spreadWithoutMaxGroups(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		for i, c := range p.Spec.Placement.SpreadConstraints {
			if c.MaxGroups == 0 && !p.Spec.Placement.IgnoresSpread() {
				found = append(found, Finding{Object: policyObject(p), Field: fmt.Sprintf("spec.placement.spreadConstraints[%d].maxGroups", i),
					Message: "the spread constraint has no maxGroups, which Karmada reads as 0: it selects no cluster",
					Fix:     fmt.Sprintf("set maxGroups, to %d or more", max(1, c.MinGroups))})
			}
		}
	}
	return found
}

// workloadAffinityOff finds workload affinity that Karmada does not read, because its feature gate is off.
func workloadAffinityOff(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		if p.Spec.Placement.WorkloadAffinity != nil && !k.options.Gates.WorkloadAffinity {
			found = append(found, Finding{Object: policyObject(p), Field: "spec.placement.workloadAffinity",
				Message: "the feature gate WorkloadAffinity is off, as by default, so that workload affinity has no effect",
				Fix:     "switch it on with federation.featureGates of the scenario and in Karmada, or remove workloadAffinity"})
		}
	}
	return found
}

// affinityTerms returns the terms of a policy's workload affinity, by their field.
func affinityTerms(p *federation.Policy) map[string]*federation.GroupTerm {
	w := p.Spec.Placement.WorkloadAffinity
	all := map[string]*federation.GroupTerm{}
	if w != nil && w.Affinity != nil {
		all["affinity"] = w.Affinity
	}
	if w != nil && w.AntiAffinity != nil {
		all["antiAffinity"] = w.AntiAffinity
	}
	return all
}

var affinityTermNames = []string{"affinity", "antiAffinity"}

// groupLabelMissing finds terms whose label no workload of the policy has.
func groupLabelMissing(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		for _, name := range affinityTermNames {
			term := affinityTerms(p)[name]
			claimed := k.bindingsOf(p)
			if term == nil || len(claimed) == 0 {
				continue
			}
			if !slices.ContainsFunc(claimed, func(b *federation.Binding) bool { _, has := b.Template.Labels[term.GroupByLabelKey]; return has }) {
				found = append(found, Finding{Object: policyObject(p), Field: "spec.placement.workloadAffinity." + name + ".groupByLabelKey",
					Message: fmt.Sprintf("none of %s has the label %s in its own metadata, so that none is in a group", bindingNames(claimed), term.GroupByLabelKey),
					Fix:     "label the workloads themselves: Karmada does not read the labels of their pods"})
			}
		}
	}
	return found
}

func bindingNames(bindings []*federation.Binding) string {
	names := list.Map(bindings, func(b *federation.Binding) string { return b.Template.String() })
	return words.Few(names)
}

// groupMemberInvisible finds workloads that have the label of a group but belong to no group, because their own policy has no such term.
func groupMemberInvisible(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		for _, name := range affinityTermNames {
			term := affinityTerms(p)[name]
			if term == nil {
				continue
			}
			for _, b := range k.bindingsOf(p) {
				value, has := b.Template.Labels[term.GroupByLabelKey]
				for _, t := range k.templates {
					other := k.bindings[t.Key()]
					if !has || other == nil || t.Namespace != b.Template.Namespace || t.Labels[term.GroupByLabelKey] != value || affinityGroup(other, name) == affinityGroup(b, name) {
						continue
					}
					found = append(found, Finding{Object: templateObject(t.Template), Field: "metadata.labels[" + term.GroupByLabelKey + "]",
						Message: fmt.Sprintf("it has the label %s=%s of %s, and its own %s has no %s by that label: Karmada does not see it in the group",
							term.GroupByLabelKey, value, b.Template, other.Policy, name),
						Fix: fmt.Sprintf("give %s the same workloadAffinity.%s", other.Policy, name)})
				}
			}
		}
	}
	return found
}

func affinityGroup(b *federation.Binding, term string) string {
	if term == "affinity" {
		return b.AffinityGroup
	}
	return b.AntiAffinityGroup
}

// antiAffinityUnlimited finds policies under which the first workload of a group can take all clusters.
func antiAffinityUnlimited(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		if affinityTerms(p)["antiAffinity"] == nil || !k.options.Gates.WorkloadAffinity {
			continue
		}
		for _, b := range k.bindingsOf(p) {
			admitted := list.Count(k.clusters, b.Admits)
			if most := maxClusters(&p.Spec.Placement); b.AntiAffinityGroup != "" && admitted > 1 && most >= admitted {
				found = append(found, Finding{Object: policyObject(p), Field: "spec.placement.workloadAffinity.antiAffinity",
					Message: fmt.Sprintf("nothing limits how many clusters a workload gets, so that the first of a group, such as %s, can take all %d, and the next gets none",
						b.Template, admitted),
					Fix: "add a spread constraint by cluster with maxGroups: 1, and no static weights, which would make it void"})
				break
			}
		}
	}
	return found
}

// maxClusters returns the largest number of clusters that the placement gives a workload.
func maxClusters(p *federation.Placement) int {
	const any = 1 << 30
	if p.IgnoresSpread() {
		return any
	}
	for _, c := range p.SpreadConstraints {
		if c.SpreadByField == federation.SpreadByCluster {
			return c.MaxGroups
		}
	}
	return any
}

// weightOfNoCluster finds weights for clusters that do not exist.
func weightOfNoCluster(k *karmadaControl) []Finding {
	var found []Finding
	for _, p := range k.policies {
		r := p.Spec.Placement.ReplicaScheduling
		if r == nil || r.WeightPreference == nil {
			continue
		}
		for i, w := range r.WeightPreference.StaticWeightList {
			if !slices.ContainsFunc(k.clusterVersions, w.TargetCluster.Matches) {
				found = append(found, Finding{Object: policyObject(p), Field: fmt.Sprintf("spec.placement.replicaScheduling.weightPreference.staticWeightList[%d]", i),
					Message: fmt.Sprintf("the weight %d is for no cluster of the federation, which has %s", w.Weight, k.clusterNames()),
					Fix:     "correct targetCluster, or remove the weight"})
			}
		}
	}
	return found
}

func (k *karmadaControl) clusterNames() string {
	names := list.Map(k.clusters, func(c *federation.Cluster) string { return c.Name })
	return words.Few(names)
}

// overrideMatchesNothing finds overrides that change no object in any cluster.
func overrideMatchesNothing(k *karmadaControl) []Finding {
	var found []Finding
	for _, o := range k.overrides {
		object := Object{Kind: federation.KindOverridePolicy, Namespace: o.Namespace, Name: o.Name}
		if o.Namespace == "" {
			object.Kind = federation.KindClusterOverridePolicy
		}
		if !k.selectsTemplate[o.String()] {
			found = append(found, Finding{Object: object, Field: "spec.resourceSelectors",
				Message: "the override selects nothing: no object of the scenario has the apiVersion, kind, namespace, name and labels of its selectors",
				Fix:     "correct the selectors, or remove the override"})
			continue
		}
		for _, target := range o.Targets() {
			if target.Cluster != nil && !slices.ContainsFunc(k.clusterVersions, target.Cluster.Matches) {
				found = append(found, Finding{Object: object, Field: target.Field,
					Message: "it is for no cluster of the federation, which has " + k.clusterNames(),
					Fix:     "correct targetCluster, or remove it"})
			}
		}
	}
	return found
}

// moreReplicasAssigned finds required anti-affinity that cannot hold for the replicas that Karmada gave a cluster. Karmada adds up the
// nodes' free resources, and does not read the rules of pods.
func moreReplicasAssigned(l *inspection, s *subject) []Finding {
	b := l.bindingOf(s)
	if b == nil {
		return nil
	}
	found := replicasAboveDomains(l, s)
	for i := range found {
		found[i].Message = fmt.Sprintf("Karmada, which reads no rules of pods, gives the cluster %s, and %s", words.Count(s.replicas, "replica"), found[i].Message)
		found[i].Fix = "bound the clusters' shares with static weights, spread over more clusters, or spread the pods with topologySpreadConstraints in place of the rule"
	}
	return found
}

// bindingOf returns the binding that brings the subject into the examined cluster, or nil if there is none.
func (l *inspection) bindingOf(s *subject) *federation.Binding {
	if l.control == nil {
		return nil
	}
	for _, t := range l.control.templates {
		if slices.ContainsFunc(t.Objects, func(obj cluster.Object) bool { return cluster.RefTo(obj) == s.owner }) {
			return l.control.bindings[t.Key()]
		}
	}
	return nil
}

// countReplicasElsewhere returns the number of the subject's replicas in other clusters.
func (l *inspection) countReplicasElsewhere(s *subject) int {
	n := 0
	if b := l.bindingOf(s); b != nil {
		for _, target := range b.Targets {
			if target.Cluster != l.member {
				n += int(target.Replicas)
			}
		}
	}
	return n
}

// stepInMember returns the step with the state of one member.
func stepInMember(step *simulation.Step, m *cluster.Member) *simulation.Step {
	return &simulation.Step{Name: step.Name, State: m.State}
}

// prefixCluster adds the cluster's name to the finding's message in a federation.
func (l *inspection) prefixCluster(f Finding) Finding {
	if l.member != "" {
		f.Message = "in cluster " + l.member + ", " + strings.TrimPrefix(f.Message, "in cluster "+l.member+", ")
	}
	return f
}
