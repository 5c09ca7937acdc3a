package federation

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/list"
)

// Template is a resource template in Karmada's control plane: a workload or another object that Karmada propagates.
type Template struct {
	APIVersion, Kind, Namespace, Name string
	// UID decides among clusters of equal weight. If it is "", their names decide.
	UID    string
	Labels map[string]string
	// Workload means that Karmada counts the template's replicas. Replicas is their number, which may be 0.
	Workload bool
	Replicas int32
	// Requests are the resource requests of one replica. If replicas differ, they are the maximum for each resource.
	Requests v1.ResourceList
}

// String returns the template's name as in a sentence: Deployment flink/job-a.
func (t *Template) String() string {
	if t.Namespace == "" {
		return t.Kind + " " + t.Name
	}
	return t.Kind + " " + t.Namespace + "/" + t.Name
}

// Key identifies a template in its control plane.
type Key struct{ APIVersion, Kind, Namespace, Name string }

// Key returns the key of the template.
func (t *Template) Key() Key { return Key{t.APIVersion, t.Kind, t.Namespace, t.Name} }

// Target is a cluster to which a binding is scheduled, and the replicas there. Replicas is 0 if Karmada does not count them.
type Target struct {
	Cluster  string `json:"cluster"`
	Replicas int32  `json:"replicas"`
}

// Reasons of a binding's Scheduled condition.
const (
	ReasonSuccess        = "Success"
	ReasonNoClusterFit   = "NoClusterFit"
	ReasonUnschedulable  = "Unschedulable"
	ReasonSchedulerError = "SchedulerError"
)

// Binding is a ResourceBinding: a template, the policy that claimed it, and the clusters to which it is scheduled. A Binding is immutable:
// [Scheduler.Run], [Binding.Evict] and [Binding.WithoutEvicted] return a new one.
type Binding struct {
	Template *Template
	// Policy is the name of the policy, as Policy.String writes it; Placement and Failover are the policy's.
	Policy    string
	Placement *Placement
	Failover  *Failover
	// Priority orders the queue: the highest comes first.
	Priority int32
	// AffinityGroup and AntiAffinityGroup are key=value of the template's label, or "" for no group.
	AffinityGroup, AntiAffinityGroup string

	Targets []Target
	// Evictions lists the clusters that the binding is moving away from.
	Evictions []Eviction
	// Reason and Message are the fields of the Scheduled condition. Both are "" before the first attempt.
	Reason, Message string

	affinity string     // the name of the cluster group of the last scheduling
	applied  *Placement // the placement of the last scheduling
	verdicts []Verdict  // of the last scheduling attempt
}

// Name returns the binding's name, which is unique in the template's namespace.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/names/names.go, GenerateBindingName
func (b *Binding) Name() string {
	return strings.ToLower(strings.ReplaceAll(b.Template.Name, ":", ".") + "-" + b.Template.Kind)
}

// Scheduled reports whether the last attempt to schedule the binding succeeded.
func (b *Binding) Scheduled() bool { return b.Reason == ReasonSuccess }

// On returns the binding's replicas in the cluster, and whether the cluster is a target.
func (b *Binding) On(cluster string) (int32, bool) {
	for _, target := range b.Targets {
		if target.Cluster == cluster {
			return target.Replicas, true
		}
	}
	return 0, false
}

func (b *Binding) isEvicting(cluster string) bool {
	return slices.ContainsFunc(b.Evictions, func(e Eviction) bool { return e.From == cluster })
}

// assignedReplicas returns the total number of replicas of the targets.
func (b *Binding) assignedReplicas() int32 { return sumReplicas(b.Targets) }

func sumReplicas(targets []Target) int32 {
	var sum int32
	for _, target := range targets {
		sum += target.Replicas
	}
	return sum
}

// Bind returns a binding of the template under the policy, not yet scheduled to clusters.
func Bind(t *Template, p *Policy) *Binding {
	b := &Binding{Template: t, Policy: p.String(), Placement: &p.Spec.Placement, Failover: p.Spec.Failover}
	b.AffinityGroup, b.AntiAffinityGroup = affinityGroups(t, p)
	return b
}

// Rebind returns the binding with the current template and policy. It keeps its clusters.
func (b *Binding) Rebind(t *Template, p *Policy) *Binding {
	next := Bind(t, p)
	next.Priority = b.Priority
	next.Targets, next.Evictions, next.Reason, next.Message, next.affinity, next.applied, next.verdicts = b.Targets, b.Evictions, b.Reason, b.Message, b.affinity, b.applied, b.verdicts
	return next
}

// IsCurrent reports whether the binding was made from these versions of the template and the policy.
func (b *Binding) IsCurrent(t *Template, p *Policy) bool {
	return b.Template == t && b.Policy == p.String() && b.Placement == &p.Spec.Placement
}

// Without returns the binding without the cluster, which has left the federation. It returns the binding itself if it does not have the
// cluster.
func (b *Binding) Without(cluster string) *Binding {
	if _, there := b.On(cluster); !there {
		return b
	}
	next := *b
	next.Targets = list.Without(b.Targets, func(t Target) bool { return t.Cluster == cluster })
	return &next
}

// Concerns reports whether Karmada reschedules the binding when the cluster changes: the binding's affinity selects the cluster.
func (b *Binding) Concerns(c *Cluster) bool {
	affinity := b.Placement.ClusterAffinity
	if terms := b.Placement.ClusterAffinities; affinity == nil && len(terms) > 0 {
		affinity = &terms[max(0, slices.IndexFunc(terms, func(t ClusterAffinityTerm) bool { return t.AffinityName == b.affinity }))].ClusterAffinity
	}
	return affinity == nil || affinity.Matches(c)
}

// Divided reports whether the replicas are divided among the clusters.
func (b *Binding) Divided() bool { return b.Placement.schedulingType() == Divided }

// affinityGroups returns the template's affinity groups under the policy, which derive from the template's own labels. A template without a
// namespace has none.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/detector/detector.go, getWorkloadAffinityGroups
func affinityGroups(t *Template, p *Policy) (affinity, antiAffinity string) {
	w := p.Spec.Placement.WorkloadAffinity
	if w == nil || t.Namespace == "" {
		return "", ""
	}
	of := func(term *GroupTerm) string {
		if term == nil {
			return ""
		}
		value, found := t.Labels[term.GroupByLabelKey]
		if !found {
			return ""
		}
		return fmt.Sprintf("%s=%s", term.GroupByLabelKey, value)
	}
	return of(w.Affinity), of(w.AntiAffinity)
}

// The levels of precision with which a selector selects a template.
const (
	notSelected = iota
	byKind
	byLabels
	byName
)

// precision returns how precisely the selector selects the template.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/selector.go, ResourceSelectorPriority
func (s *ResourceSelector) precision(t *Template) int {
	switch {
	case s.APIVersion != t.APIVersion || s.Kind != t.Kind || s.Namespace != "" && s.Namespace != t.Namespace:
		return notSelected
	case s.Name != "" && s.Name == t.Name:
		return byName
	case s.Name != "":
		return notSelected
	case s.LabelSelector == nil:
		return byKind
	}
	selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(t.Labels)) {
		return notSelected
	}
	return byLabels
}

// precision returns the highest precision with which one of the selectors selects the template.
func precision(selectors []ResourceSelector, t *Template) int {
	most := notSelected
	for i := range selectors {
		most = max(most, selectors[i].precision(t))
	}
	return most
}

// Selects reports whether the policy selects the template.
func (p *Policy) Selects(t *Template) bool {
	return (p.Namespace == "" || p.Namespace == t.Namespace) && precision(p.Spec.ResourceSelectors, t) > notSelected
}

// Claim returns the policy that claims the template, or nil if none selects it. A PropagationPolicy of its namespace comes before a
// ClusterPropagationPolicy; then the higher priority wins, then the more precise selector, then the first name. A claimed template keeps
// its policy as long as the policy selects it.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/detector/compare.go
func Claim(t *Template, policies []*Policy, claimed string) *Policy {
	var best *Policy
	for _, p := range policies {
		if !p.Selects(t) {
			continue
		}
		if p.String() == claimed {
			return p
		}
		if best == nil || comesBefore(p, best, t) {
			best = p
		}
	}
	return best
}

// comesBefore reports whether policy a comes before policy b for the template.
func comesBefore(a, b *Policy, t *Template) bool {
	if namespaced := a.Namespace != ""; namespaced != (b.Namespace != "") {
		return namespaced
	}
	if a.priority() != b.priority() {
		return a.priority() > b.priority()
	}
	if x, y := precision(a.Spec.ResourceSelectors, t), precision(b.Spec.ResourceSelectors, t); x != y {
		return x > y
	}
	return a.Name < b.Name
}
