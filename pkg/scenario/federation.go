package scenario

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
)

// Cluster is a member cluster of a federation.
type Cluster struct {
	// Name is the cluster's name, a DNS label. It is the prefix of the names of the cluster's nodes and pods: m1/node-1.
	Name string `json:"name"`
	// Labels are labels of the cluster, which the cluster affinity of policies selects. Default: none.
	Labels map[string]string `json:"labels,omitempty"`
	// Provider is the provider of the cluster. Default: not known.
	Provider string `json:"provider,omitempty"`
	// Region is the region of the cluster, for policies. Default: not known.
	Region string `json:"region,omitempty"`
	// Zones are the zones of the cluster, for policies. Default: not known.
	Zones []string `json:"zones,omitempty"`
	// Taints keep workloads off the cluster unless their policies tolerate them. Default: none.
	Taints []v1.Taint `json:"taints,omitempty"`
	// APIs are the kinds that the cluster serves, as apiVersion/kind: apps/v1/Deployment. Default: every kind.
	APIs []string `json:"apis,omitempty"`
	// Cluster lists the sources of the nodes and of all other objects at the start, as for a single cluster.
	Cluster []Source `json:"cluster" jsonschema:"minItems=1"`
}

// Federation has the options of Karmada.
type Federation struct {
	// FeatureGates switches Karmada's feature gates, by name. Only WorkloadAffinity can be switched. Default: as in the release, where it
	// is off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Estimate says who estimates how many replicas a cluster has room for: karmada, from the sum of the free resources of its nodes; or
	// scheduler, which asks each cluster's scheduler, as Karmada itself cannot. Default: karmada.
	Estimate string `json:"estimate,omitempty" jsonschema:"enum=karmada,enum=scheduler"`
	// Failover says whether workloads move away from a cluster that fails. Default: they do not.
	Failover Failover `json:"failover,omitempty"`
}

// Failover is what Karmada does when a cluster fails.
type Failover struct {
	// Enabled taints a failed cluster with NoExecute, and has Karmada move the workloads away from it. Default: false.
	Enabled bool `json:"enabled,omitempty"`
	// PurgeMode says what happens to the copy in the failed cluster if the policy does not say: Gracefully keeps it until the new copy is
	// healthy, for 10 minutes at most; Directly removes it at once. Default: Gracefully.
	PurgeMode string `json:"purgeMode,omitempty" jsonschema:"enum=Gracefully,enum=Directly"`
	// TolerationSeconds is how long a workload stays in a cluster that has failed if the policy does not say, from 0. Only policies can
	// tolerate other taints. Default: 0.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" jsonschema:"minimum=0"`
	// EvictionRate is the number of workloads that are moved away per second, above 0. Default: 0.5.
	EvictionRate *float64 `json:"evictionRate,omitempty"`
}

// Karmada has the objects of Karmada that a step applies, or that it deletes by files or targets.
type Karmada struct {
	// Policies and Overrides are the policies that the step applies or deletes.
	Policies  []*federation.Policy
	Overrides []*federation.Override
	// Resources are the custom resources that apply creates or changes.
	Resources []cluster.ResourceTemplate
	// Joined is the cluster that joins; nil if none does.
	Joined *Member
}

// Member is a cluster of a federation whose sources have been read.
type Member struct {
	*federation.Cluster
	// Objects are the objects of its sources, in order.
	Objects []cluster.Object
	// Shown are the same objects, named as in the joined state of all clusters; see cluster.Federation.
	Shown []cluster.Object
}
