package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Variant is a named change to the scenario: the scenario as it would be if something had been different from the start.
type Variant struct {
	// Name is the variant's name on the report. No two variants have the same name, and none is called baseline.
	Name string `json:"name"`
	// Description says what the variant is about. Default: none.
	Description string `json:"description,omitempty"`
	// Cluster lists the sources of another cluster, which replaces the scenario's. Default: the scenario's.
	Cluster []Source `json:"cluster,omitempty"`
	// Nodes replace the nodes of the cluster, in order. Every pod is then placed anew, and pods of DaemonSets come with the nodes, as for
	// simulate size. Default: the cluster's own nodes, with the pods where they are.
	Nodes []NodesLike `json:"nodes,omitempty"`
	// Scheduler is another configuration of the scheduler, in place of the scenario's; feature gates cannot vary. Default: the scenario's.
	Scheduler *Scheduler `json:"scheduler,omitempty"`
	// Autoscaler is another Cluster Autoscaler, in place of the scenario's. Default: the scenario's.
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	// Patches change objects wherever the scenario has them: in the cluster, in the workloads and in every step that applies them. In a
	// federation they also change policies, and cluster/NAME as it is when it joins. Default: none.
	Patches []Patch `json:"patches,omitempty"`
	// Replicas sets numbers of replicas by workload, kind/name or namespace/kind/name. Each replaces the last number that the scenario
	// sets. Default: none.
	Replicas map[string]int32 `json:"replicas,omitempty"`
	// Rules set the rules by which the pods of workloads keep apart. Default: the rules that they have.
	Rules []RuleChange `json:"rules,omitempty"`
	// Steps lists what happens in addition, after the last step or after the step of --step. They take no files, and a federation takes no
	// join. Default: nothing.
	Steps []Step `json:"steps,omitempty"`
}

// NodesLike are nodes of a cluster of another size: first nodes that the cluster has, then new ones like them.
type NodesLike struct {
	// Count is the number of nodes, from 0 to 10000.
	Count int `json:"count" jsonschema:"minimum=0,maximum=10000"`
	// Like lists names of nodes of the cluster. The first of them stay. If there are not enough, the other nodes are new, and copy each of
	// these in turn.
	Like []string `json:"like" jsonschema:"minItems=1"`
	// Name is the prefix of the names of new nodes, followed by -new- and a number. Default: the first name of like.
	Name string `json:"name,omitempty"`
	// Type is a type of nodes, as in a catalogue: all nodes are then new, and differ from those of like in their size and instance type.
	// Default: none.
	Type *topology.NodeType `json:"type,omitempty"`
}

// RuleChange sets by which rule the pods of workloads keep apart from each other. It replaces every anti-affinity term and spread
// constraint of the workloads that is about their own pods; other rules stay.
type RuleChange struct {
	// Workload is a Deployment, ReplicaSet, StatefulSet, ReplicationController or Job as kind/name or namespace/kind/name. Default: all of these.
	Workload string `json:"workload,omitempty"`
	// Rule is none; soft, preferred anti-affinity; hard, required anti-affinity; or spread, topology spread constraints.
	Rule string `json:"rule" jsonschema:"enum=none,enum=soft,enum=hard,enum=spread"`
	// Over lists the topology keys over whose domains the pods keep apart, a term for each. Default: the keys of the replaced rules, or
	// kubernetes.io/hostname if there are none.
	Over []Term `json:"over,omitempty"`
	// MaxSkew is the maxSkew of spread constraints, 1 or more. Default: 1.
	MaxSkew int32 `json:"maxSkew,omitempty" jsonschema:"minimum=1"`
	// WhenUnsatisfiable is the whenUnsatisfiable of spread constraints. Default: DoNotSchedule.
	WhenUnsatisfiable string `json:"whenUnsatisfiable,omitempty" jsonschema:"enum=DoNotSchedule,enum=ScheduleAnyway"`
	// MatchLabelKeys lists pod labels whose values must be equal for the rule to hold between two pods, such as pod-template-hash.
	// Default: none.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}

// Term is a topology key over which pods keep apart.
type Term struct {
	// TopologyKey is a node label; cluster, region, zone and node are short for the well-known ones.
	TopologyKey string `json:"topologyKey"`
	// Weight is the weight of a soft rule's term, 1 to 100. Default: 100.
	Weight int32 `json:"weight,omitempty" jsonschema:"minimum=1,maximum=100"`
}

// Baseline is the name of the unchanged scenario among its variants.
const Baseline = "baseline"

// LoadedVariant is a changed version of the scenario.
type LoadedVariant struct {
	Name, Description string
	Scenario          *Scenario
	// Workloads are the workloads that the change names, in order of appearance; empty if it names none.
	Workloads []cluster.Ref
}

// ValidateVariants reports problems of the variants that do not depend on objects. The function resources reports whether the target of a
// patch is a custom resource.
func ValidateVariants(p *Problems, variants []Variant, resources func(Target) bool) {
	names := map[string]bool{}
	for i := range variants {
		v, path := &variants[i], field.NewPath("variants").Index(i)
		switch {
		case strings.TrimSpace(v.Name) == "":
			p.Add(path.Child("name"), "is missing; the report shows a variant by its name")
		case v.Name == Baseline:
			p.Add(path.Child("name"), "%q is what the report calls the scenario as it is; choose another name", v.Name)
		case names[v.Name]:
			p.Add(path.Child("name"), "%q is already the name of another variant; give every variant its own name", v.Name)
		}
		names[v.Name] = true
		ValidateVariant(p, path, v, resources)
	}
}

// ValidateVariant does the same for one variant.
func ValidateVariant(p *Problems, path *field.Path, v *Variant, resources func(Target) bool) {
	if s := v.Scheduler; s != nil && len(s.FeatureGates) > 0 {
		p.Add(path.Child("scheduler", "featureGates"), "cannot vary, since they hold for everything that is read; give them under scheduler of the scenario")
	}
	if s := v.Scheduler; s != nil && s.Kubernetes != "" {
		p.Add(path.Child("scheduler", "kubernetes"), "cannot vary, since it holds for everything that is read; give it under scheduler of the scenario")
	}
	for i := range v.Nodes {
		validateNodesLike(p, path.Child("nodes").Index(i), &v.Nodes[i])
	}
	for i := range v.Patches {
		ValidatePatch(p, path.Child("patches").Index(i), &v.Patches[i], resources, true)
	}
	for _, target := range slices.Sorted(maps.Keys(v.Replicas)) {
		path := path.Child("replicas").Key(target)
		validateWorkload(p, path, target, ScalableKinds...)
		validateNotNegative(p, path, int(v.Replicas[target]))
	}
	for i := range v.Rules {
		validateRule(p, path.Child("rules").Index(i), &v.Rules[i])
	}
	if v.Autoscaler != nil {
		validateAutoscaler(p, path.Child("autoscaler"), v.Autoscaler)
	}
	if len(v.Cluster) == 0 && v.Scheduler == nil && v.Autoscaler == nil && len(v.Nodes)+len(v.Patches)+len(v.Replicas)+len(v.Rules)+len(v.Steps) == 0 {
		p.Add(path, "changes nothing; give one of cluster, nodes, scheduler, autoscaler, patches, replicas, rules and steps")
	}
}

// ScalableKinds lists the kinds of workloads that can be scaled, and Apart the kinds whose pods can be kept apart.
var (
	ScalableKinds  = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}
	SeparableKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job"}
)

func validateNodesLike(p *Problems, path *field.Path, nodes *NodesLike) {
	if nodes.Count < 0 || nodes.Count > maxAddedNodes {
		p.Add(path.Child("count"), "%d is not from 0 to %d", nodes.Count, maxAddedNodes)
	}
	if len(nodes.Like) == 0 {
		p.Add(path.Child("like"), "is missing; give names of nodes that the new ones are like")
	}
	if nodes.Type != nil {
		_, invalid := nodes.Type.Size(path.Child("type"))
		for _, err := range invalid {
			p.addAt(err)
		}
	}
}

func validateRule(p *Problems, path *field.Path, change *RuleChange) {
	if change.Workload != "" {
		validateWorkload(p, path.Child("workload"), change.Workload, SeparableKinds...)
	}
	if !slices.Contains(rule.Separations, rule.Separation(change.Rule)) {
		p.Add(path.Child("rule"), "%q is not a rule; use none, soft, hard or spread", change.Rule)
	}
	if rule.Separation(change.Rule) == rule.NoRule && len(change.Over)+len(change.MatchLabelKeys) > 0 {
		p.Add(path, "rule none takes neither over nor matchLabelKeys")
	}
	if rule.Separation(change.Rule) != rule.EvenlySpread && (change.MaxSkew != 0 || change.WhenUnsatisfiable != "") {
		p.Add(path, "maxSkew and whenUnsatisfiable are only for rule spread")
	}
	if change.MaxSkew < 0 {
		p.Add(path.Child("maxSkew"), "%d is less than 1; give 1 or more", change.MaxSkew)
	}
	validateEither(p, path.Child("whenUnsatisfiable"), change.WhenUnsatisfiable, string(v1.DoNotSchedule), string(v1.ScheduleAnyway))
	listed := map[string]bool{}
	for i, term := range change.Over {
		path := path.Child("over").Index(i)
		twice := listed[topology.Key(term.TopologyKey)]
		listed[topology.Key(term.TopologyKey)] = true
		switch {
		case term.TopologyKey == "":
			p.Add(path.Child("topologyKey"), "is missing; give a node label, or region, zone or node")
		case twice:
			p.Add(path.Child("topologyKey"), "%q is listed twice", term.TopologyKey)
		}
		if term.Weight != 0 && rule.Separation(change.Rule) != rule.SoftAnti {
			p.Add(path.Child("weight"), "is only for rule soft")
		} else if term.Weight < 0 || term.Weight > 100 {
			p.Add(path.Child("weight"), "%d is out of range; give 1 to 100", term.Weight)
		}
	}
}

// NewVariant returns the scenario as a variant with the name and description of v, in which nothing is changed yet.
func NewVariant(base *Scenario, v *Variant) *LoadedVariant {
	s := *base
	s.Variants, s.Points = nil, nil
	return &LoadedVariant{Name: v.Name, Description: strings.TrimSpace(v.Description), Scenario: &s}
}

// DescribeChanges says how the changes of the scenario reach running pods: by a rollout, or because all pods are placed anew. It says nothing
// about workloads without running pods, which have their new rules from the start.
func (s *Scenario) DescribeChanges() []string {
	var said []string
	if n := len(s.RolledOut); n > 0 {
		said = append(said, fmt.Sprintf("the change of %s is a rollout, as after kubectl apply; --fresh places all pods anew", summarizeWorkloads(s.RolledOut)))
	}
	if n := len(s.PlacedAnew); n > 0 {
		why := "with --fresh"
		if !s.PlaceAnew {
			why = "as nothing rolls it out"
		}
		said = append(said, fmt.Sprintf("the pods of %s are placed anew, %s", summarizeWorkloads(s.PlacedAnew), why))
	}
	return said
}

// summarizeWorkloads returns the names of up to three workloads, or the number of more.
func summarizeWorkloads(owners []cluster.Ref) string {
	if len(owners) > 3 {
		return words.Count(len(owners), "workload")
	}
	names := list.Map(owners, cluster.Ref.Qualified)
	return words.And(names)
}

// AddWorkload adds a workload that the change names, if it is of a kind in [SeparableKinds].
func (v *LoadedVariant) AddWorkload(owner cluster.Ref) {
	if slices.Contains(SeparableKinds, owner.Kind) && !slices.Contains(v.Workloads, owner) {
		v.Workloads = append(v.Workloads, owner)
	}
}
