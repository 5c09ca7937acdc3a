package federation

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Cluster is a member cluster, with the fields that Karmada's scheduler reads.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/cluster/v1alpha1/types.go
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ClusterSpec   `json:"spec,omitempty"`
	Status ClusterStatus `json:"status,omitempty"`
}

// The API version and kind of clusters.
const (
	ClusterAPIVersion = "cluster.karmada.io/v1alpha1"
	KindCluster       = "Cluster"
)

// ClusterSpec holds a cluster's location and taints.
type ClusterSpec struct {
	Provider string     `json:"provider,omitempty"`
	Region   string     `json:"region,omitempty"`
	Zones    []string   `json:"zones,omitempty"`
	Taints   []v1.Taint `json:"taints,omitempty"`
}

// ClusterStatus is the status that Karmada has collected from a cluster.
type ClusterStatus struct {
	// APIEnablements are the APIs that the cluster serves; nil means all.
	APIEnablements []APIEnablement `json:"apiEnablements,omitempty"`
	// ResourceSummary sums up the cluster's nodes and pods; nil means no room.
	ResourceSummary *ResourceSummary `json:"resourceSummary,omitempty"`
}

// APIEnablement lists the kinds of one API version that a cluster serves.
type APIEnablement struct {
	GroupVersion string        `json:"groupVersion"`
	Resources    []APIResource `json:"resources,omitempty"`
}

// APIResource is a kind of an API.
type APIResource struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// ResourceSummary is a cluster's resources: the allocatable resources of its nodes, ready or not, the requests of the pods on them, and the
// requests of the pods without a node.
type ResourceSummary struct {
	Allocatable v1.ResourceList `json:"allocatable,omitempty"`
	Allocated   v1.ResourceList `json:"allocated,omitempty"`
	Allocating  v1.ResourceList `json:"allocating,omitempty"`
}

// serves reports whether the cluster has the kind.
func (c *Cluster) serves(apiVersion, kind string) bool {
	if c.Status.APIEnablements == nil {
		return true
	}
	return slices.ContainsFunc(c.Status.APIEnablements, func(api APIEnablement) bool {
		return api.GroupVersion == apiVersion && slices.ContainsFunc(api.Resources, func(r APIResource) bool { return r.Kind == kind })
	})
}

// ClusterAffinity selects the clusters that match all of its fields.
type ClusterAffinity struct {
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	FieldSelector *FieldSelector        `json:"fieldSelector,omitempty"`
	ClusterNames  []string              `json:"clusterNames,omitempty"`
	// Exclude lists the names of clusters that are not selected, even if they match the other fields.
	Exclude []string `json:"exclude,omitempty"`
}

// FieldSelector selects clusters by provider, region and zone.
type FieldSelector struct {
	MatchExpressions []v1.NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}

// Fields of a FieldSelector.
const (
	providerField = "provider"
	regionField   = "region"
	zoneField     = "zone"
)

// Matches reports whether the affinity selects the cluster.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/selector.go, ClusterMatches
func (a *ClusterAffinity) Matches(c *Cluster) bool {
	if slices.Contains(a.Exclude, c.Name) {
		return false
	}
	if a.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(a.LabelSelector)
		if err != nil || !selector.Matches(labels.Set(c.Labels)) {
			return false
		}
	}
	if a.FieldSelector != nil && !a.FieldSelector.matches(c) {
		return false
	}
	return len(a.ClusterNames) == 0 || slices.Contains(a.ClusterNames, c.Name)
}

func (s *FieldSelector) matches(c *Cluster) bool {
	fields := labels.Set{}
	if c.Spec.Provider != "" {
		fields[providerField] = c.Spec.Provider
	}
	if c.Spec.Region != "" {
		fields[regionField] = c.Spec.Region
	}
	for _, expression := range s.MatchExpressions {
		if expression.Key == zoneField {
			if !matchesZones(&expression, c.Spec.Zones) {
				return false
			}
			continue
		}
		operator := selection.In
		if expression.Operator == v1.NodeSelectorOpNotIn {
			operator = selection.NotIn
		}
		requirement, err := labels.NewRequirement(expression.Key, operator, expression.Values)
		if err != nil || !requirement.Matches(fields) {
			return false
		}
	}
	return true
}

// matchesZones reports whether the zones match the expression: In requires a common zone, NotIn forbids one.
func matchesZones(expression *v1.NodeSelectorRequirement, zones []string) bool {
	common := slices.ContainsFunc(zones, func(zone string) bool { return slices.Contains(expression.Values, zone) })
	return common == (expression.Operator == v1.NodeSelectorOpIn)
}

// validate returns the error for which the webhook would reject a field selector.
func (s *FieldSelector) validate() error {
	if s == nil {
		return nil
	}
	for _, expression := range s.MatchExpressions {
		if !slices.Contains([]string{providerField, regionField, zoneField}, expression.Key) {
			return fmt.Errorf("unsupported key %q, must be provider, region, or zone", expression.Key)
		}
		if expression.Operator != v1.NodeSelectorOpIn && expression.Operator != v1.NodeSelectorOpNotIn {
			return fmt.Errorf("unsupported operator %q, must be In or NotIn", expression.Operator)
		}
	}
	return nil
}
