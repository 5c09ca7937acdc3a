package federation

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Default sets the defaults of Karmada's webhook and CRD. A selector of a PropagationPolicy selects in the policy's own namespace.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/webhook/propagationpolicy/mutating.go
func (p *Policy) Default() {
	for i := range p.Spec.ResourceSelectors {
		if s := &p.Spec.ResourceSelectors[i]; s.Namespace == "" {
			s.Namespace = p.Namespace
		}
	}
	placement := &p.Spec.Placement
	for i := range placement.SpreadConstraints {
		c := &placement.SpreadConstraints[i]
		if c.SpreadByField == "" && c.SpreadByLabel == "" {
			c.SpreadByField = SpreadByCluster
		}
		if c.MinGroups == 0 {
			c.MinGroups = 1
		}
	}
	if r := placement.ReplicaScheduling; r != nil {
		if r.ReplicaSchedulingType == "" {
			r.ReplicaSchedulingType = Divided
		}
		if r.ReplicaSchedulingType == Divided && r.ReplicaDivisionPreference == "" {
			r.ReplicaDivisionPreference = Weighted
		}
	}
}

// TranslateProposal translates workload affinity from the form of the proposal into the released form, in place. It returns a note for each
// translation.
func (p *Policy) TranslateProposal() (notes []string, err error) {
	w := p.Spec.Placement.WorkloadAffinity
	if w == nil {
		return nil, nil
	}
	proposed := w.AffinityLabelKey != ""
	for _, term := range []*GroupTerm{w.Affinity, w.AntiAffinity} {
		proposed = proposed || term != nil && (term.RequireSameGroup != nil || term.RejectSameGroup != nil || term.AllowBootstrap != nil)
	}
	if !proposed {
		return nil, nil
	}
	if w.Affinity != nil && !ptr.Deref(w.Affinity.AllowBootstrap, true) {
		return nil, field.Invalid(placementPath().Child("workloadAffinity", "affinity", "allowBootstrap"), false,
			"a released Karmada always lets the first workload of a group in")
	}
	take := func(term *GroupTerm, wanted func(*GroupTerm) *bool) *GroupTerm {
		if term == nil || !ptr.Deref(wanted(term), true) {
			return nil
		}
		key := term.GroupByLabelKey
		if key == "" {
			key = w.AffinityLabelKey
		}
		return &GroupTerm{GroupByLabelKey: key}
	}
	p.Spec.Placement.WorkloadAffinity = &WorkloadAffinity{
		Affinity:     take(w.Affinity, func(t *GroupTerm) *bool { return t.RequireSameGroup }),
		AntiAffinity: take(w.AntiAffinity, func(t *GroupTerm) *bool { return t.RejectSameGroup }),
	}
	return []string{fmt.Sprintf("%s has workload affinity in the form of Karmada's proposal; it was read as groupByLabelKey, which the release has.", p)}, nil
}

func placementPath() *field.Path { return field.NewPath("spec", "placement") }

// Validate returns the errors for which Karmada's webhook and CRD would reject a policy that has its defaults, in the webhook's words. It
// does not check fields that have no effect in Faultline.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/validation/validation.go
func (p *Policy) Validate() field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(p.Spec.ResourceSelectors) == 0 {
		errs = append(errs, field.Required(spec.Child("resourceSelectors"), "a policy without selectors selects nothing"))
	}
	errs = append(errs, p.Spec.Placement.validate(placementPath())...)
	for i, selector := range p.Spec.ResourceSelectors {
		at := spec.Child("resourceSelectors").Index(i)
		errs = append(errs, selector.validate(p.Namespace, at)...)
		if p.Spec.Preemption == "Always" && selector.Name == "" {
			errs = append(errs, field.Invalid(at.Child("name"), "", "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"))
		}
	}
	if s := p.Spec.Suspension; s != nil && ptr.Deref(s.Dispatching, false) && s.DispatchingOnClusters != nil && len(s.DispatchingOnClusters.ClusterNames) > 0 {
		errs = append(errs, field.Invalid(spec.Child("suspension", "suspension"), s, "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"))
	}
	if s := p.Spec.SchedulePriority; s != nil && s.PriorityClassName == "" {
		errs = append(errs, field.Required(spec.Child("schedulePriority", "priorityClassName"), "name a PriorityClass"))
	}
	if f := p.Spec.Failover; f != nil && f.Application != nil && !p.Spec.PropagateDeps {
		errs = append(errs, field.Invalid(spec.Child("propagateDeps"), false, "application failover is set, propagateDeps must be true"))
	}
	if f := p.Spec.Failover; f != nil && f.Cluster != nil && !slices.Contains([]string{"", PurgeDirectly, PurgeGracefully}, f.Cluster.PurgeMode) {
		errs = append(errs, field.NotSupported(spec.Child("failover", "cluster", "purgeMode"), f.Cluster.PurgeMode, []string{PurgeDirectly, PurgeGracefully}))
	}
	return errs
}

// validate checks a selector of a policy or an override in the namespace, or "" for one without a namespace. An empty namespace in the
// selector means the policy's own.
func (s *ResourceSelector) validate(namespace string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if namespace != "" && s.Namespace != "" && s.Namespace != namespace {
		errs = append(errs, field.Invalid(at.Child("namespace"), s.Namespace, "namespace of resource selector must be the same as the namespace of the policy"))
	}
	if s.APIVersion == "" {
		errs = append(errs, field.Required(at.Child("apiVersion"), ""))
	}
	if s.Kind == "" {
		errs = append(errs, field.Required(at.Child("kind"), ""))
	}
	return append(errs, metav1validation.ValidateLabelSelector(s.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, at.Child("labelSelector"))...)
}

func (p *Placement) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.ClusterAffinity != nil && p.ClusterAffinities != nil {
		errs = append(errs, field.Invalid(at, "clusterAffinity, clusterAffinities", "clusterAffinities cannot co-exist with clusterAffinity"))
	}
	errs = append(errs, p.ClusterAffinity.validate(at.Child("clusterAffinity"))...)
	names := map[string]bool{}
	for i := range p.ClusterAffinities {
		term, at := &p.ClusterAffinities[i], at.Child("clusterAffinities")
		for _, message := range content.IsLabelKey(term.AffinityName) {
			errs = append(errs, field.Invalid(at.Index(i), term.AffinityName, message))
		}
		if names[term.AffinityName] {
			errs = append(errs, field.Invalid(at, term.AffinityName, "each affinity term in a policy must have a unique name"))
		}
		names[term.AffinityName] = true
		errs = append(errs, term.ClusterAffinity.validate(at.Index(i))...)
	}
	errs = append(errs, validateSpread(p.SpreadConstraints, at.Child("spreadConstraints"))...)
	errs = append(errs, p.WorkloadAffinity.validate(at.Child("workloadAffinity"))...)
	for i, toleration := range p.ClusterTolerations {
		if toleration.Operator == v1.TolerationOpLt || toleration.Operator == v1.TolerationOpGt {
			errs = append(errs, field.NotSupported(at.Child("clusterTolerations").Index(i).Child("operator"), toleration.Operator,
				[]string{"", string(v1.TolerationOpExists), string(v1.TolerationOpEqual)}))
		}
	}
	return append(errs, p.ReplicaScheduling.validate(at.Child("replicaScheduling"))...)
}

func (a *ClusterAffinity) validate(at *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	errs := metav1validation.ValidateLabelSelector(a.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, at.Child("labelSelector"))
	if err := a.FieldSelector.validate(); err != nil {
		errs = append(errs, field.Invalid(at.Child("fieldSelector"), "matchExpressions", err.Error()))
	}
	return errs
}

func (w *WorkloadAffinity) validate(at *field.Path) field.ErrorList {
	if w == nil {
		return nil
	}
	var errs field.ErrorList
	key := func(name string, term *GroupTerm) {
		if term == nil {
			return
		}
		for _, message := range content.IsLabelKey(term.GroupByLabelKey) {
			errs = append(errs, field.Invalid(at.Child(name, "groupByLabelKey"), term.GroupByLabelKey, message))
		}
	}
	key("affinity", w.Affinity)
	key("antiAffinity", w.AntiAffinity)
	if w.Affinity != nil && w.AntiAffinity != nil && w.Affinity.GroupByLabelKey == w.AntiAffinity.GroupByLabelKey {
		errs = append(errs, field.Invalid(at, w.Affinity.GroupByLabelKey, "affinity and antiAffinity must not use the same groupByLabelKey"))
	}
	return errs
}

func validateSpread(constraints []SpreadConstraint, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	fields := map[string]int{}
	for i, c := range constraints {
		invalid := func(message string) { errs = append(errs, field.Invalid(at.Index(i), c, message)) }
		if c.SpreadByField != "" && c.SpreadByLabel != "" {
			invalid("spreadByLabel should not co-exist with spreadByField")
		}
		if c.MinGroups < 0 {
			invalid("minGroups lower than 0 is not allowed")
		}
		if c.MaxGroups < 0 {
			invalid("maxGroups lower than 0 is not allowed")
		}
		if c.MaxGroups > 0 && c.MaxGroups < c.MinGroups {
			invalid("maxGroups lower than minGroups is not allowed")
		}
		if known := []string{SpreadByCluster, SpreadByRegion, SpreadByZone, SpreadByProvider}; c.SpreadByField != "" && !slices.Contains(known, c.SpreadByField) {
			errs = append(errs, field.NotSupported(at.Index(i).Child("spreadByField"), c.SpreadByField, known))
		}
		if c.SpreadByField != "" {
			if fields[c.SpreadByField]++; fields[c.SpreadByField] == 2 {
				errs = append(errs, field.Invalid(at, c.SpreadByField, fmt.Sprintf("multiple %s spread constraints are not allowed", c.SpreadByField)))
			}
		}
	}
	if len(fields) > 0 && fields[SpreadByCluster] == 0 {
		errs = append(errs, field.Invalid(at, constraints, "the cluster spread constraint must be enabled in one of the constraints in case of SpreadByField is enabled"))
	}
	return errs
}

func (r *ReplicaScheduling) validate(at *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	one := func(name, value string, legal ...string) {
		if value != "" && !slices.Contains(legal, value) {
			errs = append(errs, field.NotSupported(at.Child(name), value, legal))
		}
	}
	one("replicaSchedulingType", r.ReplicaSchedulingType, Divided, Duplicated)
	one("replicaDivisionPreference", r.ReplicaDivisionPreference, Aggregated, Weighted)
	if w := r.WeightPreference; w != nil {
		one("weightPreference.dynamicWeight", w.DynamicWeight, ByAvailableReplicas)
		for i := range w.StaticWeightList {
			weight, at := &w.StaticWeightList[i], at.Child("weightPreference", "staticWeightList").Index(i)
			if weight.Weight < 1 {
				errs = append(errs, field.Invalid(at.Child("weight"), weight.Weight, "should be greater than or equal to 1"))
			}
			errs = append(errs, weight.TargetCluster.validate(at.Child("targetCluster"))...)
		}
	}
	return errs
}

// IgnoredNotes returns a sentence for each setting of the policy that has no effect in Faultline.
func (p *Policy) IgnoredNotes() []string {
	var found []string
	if p.Spec.Preemption == "Always" {
		found = append(found, fmt.Sprintf("%s: preemption is not simulated: a workload keeps the policy that has claimed it.", p))
	}
	if p.Spec.ActivationPreference != "" {
		found = append(found, fmt.Sprintf("%s: activationPreference is not simulated: a policy that changes takes effect at once.", p))
	}
	if p.Spec.Failover != nil && p.Spec.Failover.Application != nil {
		found = append(found, fmt.Sprintf("%s: failover.application is not simulated: no application fails by itself.", p))
	}
	return found
}

// UnsupportedFields returns the paths of the fields that would change where the policy's workloads go, but that Faultline does not simulate.
func (p *Policy) UnsupportedFields() []string {
	var found []string
	for i, term := range p.Spec.Placement.ClusterAffinities {
		if len(term.OverflowAffinities) > 0 {
			found = append(found, placementPath().Child("clusterAffinities").Index(i).Child("overflowAffinities").String())
		}
	}
	if p.Spec.SchedulerName != "" && p.Spec.SchedulerName != "default-scheduler" {
		found = append(found, "spec.schedulerName")
	}
	if p.Spec.Suspension != nil {
		found = append(found, "spec.suspension")
	}
	if s := p.Spec.SchedulePriority; s != nil && s.PriorityClassSource != "KubePriorityClass" {
		found = append(found, "spec.schedulePriority.priorityClassSource")
	}
	return found
}
