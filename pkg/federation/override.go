package federation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Overridden returns the template's JSON as the overrides change it for the cluster: those of all namespaces before the template's, of them the
// less precise first, then by name.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/overridemanager/overridemanager.go
func Overridden(t *Template, object []byte, c *Cluster, overrides []*Override) ([]byte, error) {
	var matching []*Override
	for _, o := range overrides {
		if o.Selects(t) {
			matching = append(matching, o)
		}
	}
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
			if object, err = rule.Overriders.apply(object); err != nil {
				return nil, fmt.Errorf("%s for cluster %s: %w", o, c.Name, err)
			}
		}
	}
	return object, nil
}

// String is the override as in a sentence: OverridePolicy flink/ha.
func (o *Override) String() string {
	if o.Namespace == "" {
		return KindClusterOverridePolicy + " " + o.Name
	}
	return KindOverridePolicy + " " + o.Namespace + "/" + o.Name
}

// Selects reports whether the override is for the template, in whatever cluster.
func (o *Override) Selects(t *Template) bool {
	return (o.Namespace == "" || o.Namespace == t.Namespace) && o.precision(t) > notSelected
}

// rules are the override's, also of the form that has one.
func (o *Override) rules() []OverrideRule {
	if len(o.Spec.OverrideRules) > 0 {
		return o.Spec.OverrideRules
	}
	return []OverrideRule{{o.Spec.TargetCluster, o.Spec.Overriders}}
}

// OverrideTarget are the clusters of a rule, nil for all, and where that stands.
type OverrideTarget struct {
	Field   string
	Cluster *ClusterAffinity
}

// Targets are the clusters that each rule is for.
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

// apply carries out the operations of a JSON patch.
func (o *Overriders) apply(object []byte) ([]byte, error) {
	if len(o.Plaintext) == 0 {
		return object, nil
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	var operations []operation
	for _, p := range o.Plaintext {
		operations = append(operations, operation{p.Operator, p.Path, p.Value})
	}
	data, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	return patch.Apply(object)
}
