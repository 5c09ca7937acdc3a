package federation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/list"
)

// Overridden applies the overrides for the cluster to the template's JSON: first the ClusterOverridePolicies, then the OverridePolicies of
// its namespace. Within each kind it starts with the least precise; equally precise ones follow in order of their names.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/overridemanager/overridemanager.go
func Overridden(t *Template, object []byte, c *Cluster, overrides []*Override) ([]byte, error) {
	matching := list.Where(overrides, func(o *Override) bool { return o.Selects(t) })
	slices.SortStableFunc(matching, func(a, b *Override) int {
		if (a.Namespace == "") != (b.Namespace == "") {
			return cmp.Compare(a.Namespace, b.Namespace)
		}
		return cmp.Or(cmp.Compare(a.precision(t), b.precision(t)), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range matching {
		for _, rule := range o.rules() {
			if rule.TargetCluster != nil && !rule.TargetCluster.Matches(c) {
				continue
			}
			var err error
			if object, err = rule.Overriders.applyTo(object); err != nil {
				return nil, fmt.Errorf("%s for cluster %s: %w", o, c.Name, err)
			}
		}
	}
	return object, nil
}

// String returns the override's name as in a sentence: OverridePolicy flink/ha.
func (o *Override) String() string {
	if o.Namespace == "" {
		return KindClusterOverridePolicy + " " + o.Name
	}
	return KindOverridePolicy + " " + o.Namespace + "/" + o.Name
}

// Selects reports whether the override selects the template, regardless of the cluster.
func (o *Override) Selects(t *Template) bool {
	return (o.Namespace == "" || o.Namespace == t.Namespace) && o.precision(t) > notSelected
}

// rules returns the override's rules. It also reads the older form of an override, which has a single rule.
func (o *Override) rules() []OverrideRule {
	if len(o.Spec.OverrideRules) > 0 {
		return o.Spec.OverrideRules
	}
	return []OverrideRule{{o.Spec.TargetCluster, o.Spec.Overriders}}
}

// OverrideTarget is the cluster affinity of a rule, nil for all clusters, and the path of that field.
type OverrideTarget struct {
	Field   string
	Cluster *ClusterAffinity
}

// Targets returns the target clusters of each rule.
func (o *Override) Targets() []OverrideTarget {
	var targets []OverrideTarget
	for i, rule := range o.rules() {
		field := "spec.targetCluster"
		if len(o.Spec.OverrideRules) > 0 {
			field = fmt.Sprintf("spec.overrideRules[%d].targetCluster", i)
		}
		targets = append(targets, OverrideTarget{field, rule.TargetCluster})
	}
	return targets
}

func (o *Override) precision(t *Template) int {
	if len(o.Spec.ResourceSelectors) == 0 {
		return byKind
	}
	return precision(o.Spec.ResourceSelectors, t)
}

// applyTo changes the labels, and then applies the plaintext operations.
func (o *Overriders) applyTo(object []byte) ([]byte, error) {
	for i := range o.LabelsOverrider {
		operations, err := o.LabelsOverrider[i].patchOperations(object)
		if err != nil {
			return nil, err
		}
		if object, err = applyPatch(object, operations); err != nil {
			return nil, err
		}
	}
	var operations []operation
	for _, p := range o.Plaintext {
		op := p.Operator
		if op == "replace" { // only of existing paths, as in the newer version of the library that Karmada uses
			operations, op = append(operations, operation{"remove", p.Path, nil}), "add"
		}
		operations = append(operations, operation{op, p.Path, p.Value})
	}
	return applyPatch(object, operations)
}

// patchOperations returns the overrider's operations on the object's labels. It replaces and removes only existing labels.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/overridemanager/labelannotationoverrider.go
func (l *LabelOverrider) patchOperations(object []byte) ([]operation, error) {
	var labelled struct {
		Metadata struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(object, &labelled); err != nil {
		return nil, err
	}
	var operations []operation
	if l.Operator == "add" && labelled.Metadata.Labels == nil {
		operations = append(operations, operation{"add", "/metadata/labels", map[string]string{}})
	}
	for _, key := range slices.Sorted(maps.Keys(l.Value)) {
		if _, found := labelled.Metadata.Labels[key]; found || l.Operator == "add" {
			operations = append(operations, operation{l.Operator, "/metadata/labels/" + strings.ReplaceAll(key, "/", "~1"), l.Value[key]})
		}
	}
	return operations, nil
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func applyPatch(object []byte, operations []operation) ([]byte, error) {
	if len(operations) == 0 {
		return object, nil
	}
	data, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	return decoded.Apply(object)
}

// Validate returns the errors for which Karmada's webhook and CRD would reject the override.
func (o *Override) Validate() field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	errs = append(errs, o.Spec.TargetCluster.validate(spec.Child("targetCluster"))...)
	if o.Spec.TargetCluster != nil && o.Spec.OverrideRules != nil {
		errs = append(errs, field.Invalid(spec.Child("targetCluster"), o.Spec.TargetCluster, "overrideRules and targetCluster can't co-exist"))
	}
	if !o.Spec.Overriders.isEmpty() && o.Spec.OverrideRules != nil {
		errs = append(errs, field.Invalid(spec.Child("overriders"), o.Spec.Overriders, "overrideRules and overriders can't co-exist"))
	}
	errs = append(errs, o.Spec.Overriders.validate(spec.Child("overriders"))...)
	for i, rule := range o.Spec.OverrideRules {
		at := spec.Child("overrideRules").Index(i)
		errs = append(errs, rule.TargetCluster.validate(at.Child("targetCluster"))...)
		errs = append(errs, rule.Overriders.validate(at.Child("overriders"))...)
	}
	for i, selector := range o.Spec.ResourceSelectors {
		errs = append(errs, selector.validate(o.Namespace, spec.Child("resourceSelectors").Index(i))...)
	}
	return errs
}

// isEmpty reports whether the overriders are empty, so that the override may have rules. As in Karmada, field overriders do not count.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/validation/validation.go, emptyOverrides
func (o *Overriders) isEmpty() bool {
	return len(o.Plaintext) == 0 && len(o.LabelsOverrider) == 0 && len(o.AnnotationsOverrider) == 0 &&
		len(o.ImageOverrider) == 0 && len(o.CommandOverrider) == 0 && len(o.ArgsOverrider) == 0
}

func (o *Overriders) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	operator := func(at *field.Path, operator string) {
		if legal := []string{"add", "remove", "replace"}; !slices.Contains(legal, operator) {
			errs = append(errs, field.NotSupported(at.Child("operator"), operator, legal))
		}
	}
	for i, p := range o.Plaintext {
		operator(at.Child("plaintext").Index(i), p.Operator)
	}
	for i, l := range o.LabelsOverrider {
		at := at.Child("labelsOverrider").Index(i)
		operator(at, l.Operator)
		errs = append(errs, metav1validation.ValidateLabels(l.Value, at.Child("value"))...)
	}
	return errs
}
