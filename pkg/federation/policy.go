package federation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Policy is a PropagationPolicy or, without a namespace, a ClusterPropagationPolicy. It has all fields, even those without an effect in
// Faultline, so that files can be decoded strictly.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/policy/v1alpha1/propagation_types.go
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec PolicySpec `json:"spec"`
}

// Kinds of policies.
const (
	PolicyGroup               = "policy.karmada.io"
	PolicyAPIVersion          = PolicyGroup + "/v1alpha1"
	KindPropagationPolicy     = "PropagationPolicy"
	KindClusterPolicy         = "ClusterPropagationPolicy"
	KindOverridePolicy        = "OverridePolicy"
	KindClusterOverridePolicy = "ClusterOverridePolicy"
)

// IsKarmada reports whether the API version is one of Karmada's.
func IsKarmada(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.HasSuffix(group, ".karmada.io")
}

// PolicySpec selects resource templates and determines where they go.
type PolicySpec struct {
	ResourceSelectors           []ResourceSelector `json:"resourceSelectors"`
	Placement                   Placement          `json:"placement,omitempty"`
	Priority                    *int32             `json:"priority,omitempty"`
	Preemption                  string             `json:"preemption,omitempty"`
	SchedulerName               string             `json:"schedulerName,omitempty"`
	Failover                    *Failover          `json:"failover,omitempty"`
	ActivationPreference        string             `json:"activationPreference,omitempty"`
	Suspension                  *Suspension        `json:"suspension,omitempty"`
	SchedulePriority            *SchedulePriority  `json:"schedulePriority,omitempty"`
	Association                 bool               `json:"association,omitempty"`
	PropagateDeps               bool               `json:"propagateDeps,omitempty"`
	DependentOverrides          []string           `json:"dependentOverrides,omitempty"`
	ConflictResolution          string             `json:"conflictResolution,omitempty"`
	PreserveResourcesOnDeletion *bool              `json:"preserveResourcesOnDeletion,omitempty"`
}

// ResourceSelector selects resource templates, by name or by label.
type ResourceSelector struct {
	APIVersion    string                `json:"apiVersion"`
	Kind          string                `json:"kind"`
	Namespace     string                `json:"namespace,omitempty"`
	Name          string                `json:"name,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// Placement determines to which clusters a workload goes.
type Placement struct {
	ClusterAffinity    *ClusterAffinity      `json:"clusterAffinity,omitempty"`
	ClusterAffinities  []ClusterAffinityTerm `json:"clusterAffinities,omitempty"`
	ClusterTolerations []v1.Toleration       `json:"clusterTolerations,omitempty"`
	SpreadConstraints  []SpreadConstraint    `json:"spreadConstraints,omitempty"`
	ReplicaScheduling  *ReplicaScheduling    `json:"replicaScheduling,omitempty"`
	WorkloadAffinity   *WorkloadAffinity     `json:"workloadAffinity,omitempty"`
}

// ClusterAffinityTerm is a named group of clusters. Karmada takes the first group that fits.
type ClusterAffinityTerm struct {
	AffinityName    string `json:"affinityName"`
	ClusterAffinity `json:",inline"`
	// OverflowAffinities are not simulated; policies that have them are errors.
	OverflowAffinities []ClusterAffinityTerm `json:"overflowAffinities,omitempty"`
}

// Fields by which constraints group clusters.
const (
	SpreadByCluster  = "cluster"
	SpreadByRegion   = "region"
	SpreadByZone     = "zone"
	SpreadByProvider = "provider"
)

// SpreadConstraint bounds how many groups of clusters are selected. A MaxGroups of 0 selects none.
type SpreadConstraint struct {
	SpreadByField string `json:"spreadByField,omitempty"`
	SpreadByLabel string `json:"spreadByLabel,omitempty"`
	MaxGroups     int    `json:"maxGroups,omitempty"`
	MinGroups     int    `json:"minGroups,omitempty"`
}

// Values of ReplicaScheduling.
const (
	Duplicated = "Duplicated"
	Divided    = "Divided"
	Aggregated = "Aggregated"
	Weighted   = "Weighted"
	// ByAvailableReplicas is the only dynamic weight.
	ByAvailableReplicas = "AvailableReplicas"
)

// ReplicaScheduling determines how replicas are divided among the selected clusters.
type ReplicaScheduling struct {
	ReplicaSchedulingType     string            `json:"replicaSchedulingType,omitempty"`
	ReplicaDivisionPreference string            `json:"replicaDivisionPreference,omitempty"`
	WeightPreference          *WeightPreference `json:"weightPreference,omitempty"`
}

// WeightPreference weighs clusters.
type WeightPreference struct {
	StaticWeightList []StaticWeight `json:"staticWeightList,omitempty"`
	DynamicWeight    string         `json:"dynamicWeight,omitempty"`
}

// StaticWeight is the weight of the clusters that the affinity selects.
type StaticWeight struct {
	TargetCluster ClusterAffinity `json:"targetCluster"`
	Weight        int64           `json:"weight"`
}

// WorkloadAffinity keeps the workloads of a group together, or apart. Each term is hard.
type WorkloadAffinity struct {
	Affinity     *GroupTerm `json:"affinity,omitempty"`
	AntiAffinity *GroupTerm `json:"antiAffinity,omitempty"`

	// The next field is in the form of the proposal, which [Policy.TranslateProposal] translates.

	AffinityLabelKey string `json:"affinityLabelKey,omitempty"`
}

// GroupTerm names a label of the resource template. The label's value is the template's group.
type GroupTerm struct {
	GroupByLabelKey string `json:"groupByLabelKey,omitempty"`

	// The next fields are in the form of the proposal, which [Policy.TranslateProposal] translates.

	RequireSameGroup *bool `json:"requireSameGroup,omitempty"`
	RejectSameGroup  *bool `json:"rejectSameGroup,omitempty"`
	AllowBootstrap   *bool `json:"allowBootstrap,omitempty"`
}

// Failover determines how a binding moves away when a cluster or the application fails.
type Failover struct {
	Application *ApplicationFailover `json:"application,omitempty"`
	Cluster     *ClusterFailover     `json:"cluster,omitempty"`
}

// ApplicationFailover is read but has no effect: in Faultline, applications do not fail by themselves.
type ApplicationFailover struct {
	DecisionConditions *struct {
		TolerationSeconds *int32 `json:"tolerationSeconds,omitempty"`
	} `json:"decisionConditions,omitempty"`
	PurgeMode          string `json:"purgeMode,omitempty"`
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`
	StatePreservation  any    `json:"statePreservation,omitempty"`
}

// ClusterFailover determines what happens to the copy in a cluster that fails.
type ClusterFailover struct {
	PurgeMode         string `json:"purgeMode,omitempty"`
	StatePreservation any    `json:"statePreservation,omitempty"`
}

// Purge modes.
const (
	PurgeDirectly   = "Directly"
	PurgeGracefully = "Gracefully"
)

// Suspension stops Karmada from dispatching a workload to members.
type Suspension struct {
	Dispatching           *bool           `json:"dispatching,omitempty"`
	DispatchingOnClusters *SuspendedNames `json:"dispatchingOnClusters,omitempty"`
}

// SuspendedNames lists the clusters to which Karmada dispatches nothing.
type SuspendedNames struct {
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// SchedulePriority names the PriorityClass by which bindings queue.
type SchedulePriority struct {
	PriorityClassSource string `json:"priorityClassSource"`
	PriorityClassName   string `json:"priorityClassName"`
}

// Override is an OverridePolicy or, without a namespace, a ClusterOverridePolicy. It changes a template for some clusters.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/policy/v1alpha1/override_types.go
type Override struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec OverrideSpec `json:"spec"`
}

// OverrideSpec selects templates. Without selectors it selects all.
type OverrideSpec struct {
	ResourceSelectors []ResourceSelector `json:"resourceSelectors,omitempty"`
	OverrideRules     []OverrideRule     `json:"overrideRules,omitempty"`
	TargetCluster     *ClusterAffinity   `json:"targetCluster,omitempty"`
	Overriders        Overriders         `json:"overriders,omitempty"`
}

// OverrideRule changes a template for the clusters that its affinity selects. Without an affinity it applies to all clusters.
type OverrideRule struct {
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`
	Overriders    Overriders       `json:"overriders"`
}

// Overriders holds changes to a template. Plaintext and label overriders can change how many pods there are and where they go. The others
// cannot, and have no effect in Faultline.
type Overriders struct {
	Plaintext            []PlaintextOverrider `json:"plaintext,omitempty"`
	LabelsOverrider      []LabelOverrider     `json:"labelsOverrider,omitempty"`
	ImageOverrider       []any                `json:"imageOverrider,omitempty"`
	CommandOverrider     []any                `json:"commandOverrider,omitempty"`
	ArgsOverrider        []any                `json:"argsOverrider,omitempty"`
	AnnotationsOverrider []any                `json:"annotationsOverrider,omitempty"`
	FieldOverrider       []any                `json:"fieldOverrider,omitempty"`
}

// PlaintextOverrider is an operation of a JSON patch: add, remove or replace.
type PlaintextOverrider struct {
	Path     string `json:"path"`
	Operator string `json:"operator"`
	Value    any    `json:"value,omitempty"`
}

// LabelOverrider changes labels of the template itself.
type LabelOverrider struct {
	Operator string            `json:"operator"`
	Value    map[string]string `json:"value"`
}

// schedulingType returns how the placement schedules replicas. The default is Duplicated.
func (p *Placement) schedulingType() string {
	if p.ReplicaScheduling == nil {
		return Duplicated
	}
	return p.ReplicaScheduling.ReplicaSchedulingType
}

// String returns the policy's name as in a sentence: PropagationPolicy flink/ha.
func (p *Policy) String() string {
	if p.Namespace == "" {
		return KindClusterPolicy + " " + p.Name
	}
	return KindPropagationPolicy + " " + p.Namespace + "/" + p.Name
}

func (p *Policy) priority() int32 { return ptr.Deref(p.Spec.Priority, 0) }
