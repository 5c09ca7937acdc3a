package scenario

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
)

// Cluster is a member cluster of a federation.
type Cluster struct {
	// Name is the cluster's name, a DNS label. Its nodes and pods have it before their own names: m1/node-1.
	Name string `json:"name"`
	// Labels are those of the cluster, which the cluster affinity of policies selects. Default: none.
	Labels map[string]string `json:"labels,omitempty"`
	// Provider is who runs the cluster. Default: not known.
	Provider string `json:"provider,omitempty"`
	// Region is where the cluster is, for policies. Default: not known.
	Region string `json:"region,omitempty"`
	// Zones are where the cluster is, for policies. Default: not known.
	Zones []string `json:"zones,omitempty"`
	// Taints keep workloads off the cluster whose policy does not tolerate them. Default: none.
	Taints []v1.Taint `json:"taints,omitempty"`
	// APIs are the kinds that the cluster serves, as apiVersion/kind: apps/v1/Deployment. Default: every kind.
	APIs []string `json:"apis,omitempty"`
	// Cluster lists the sources of the nodes and of whatever else is there at the start, as for a single cluster.
	Cluster []Source `json:"cluster" jsonschema:"minItems=1"`
}

// Federation says how Karmada is run.
type Federation struct {
	// FeatureGates switches Karmada's feature gates, by name. WorkloadAffinity is known. Default: as in the release, where it is off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Estimate says who reckons how many replicas a cluster has room for: karmada, by what its nodes have left together; or scheduler,
	// by asking each cluster's scheduler, which Karmada itself cannot. Default: karmada.
	Estimate string `json:"estimate,omitempty" jsonschema:"enum=karmada,enum=scheduler"`
	// Failover says whether workloads move away from a cluster that fails. Default: they do not.
	Failover Failover `json:"failover,omitempty"`
}

// Failover is what Karmada does when a cluster fails.
type Failover struct {
	// Enabled taints a failed cluster with NoExecute, and has Karmada move the workloads away from it. Default: false.
	Enabled bool `json:"enabled,omitempty"`
	// PurgeMode says what becomes of the copy in the failed cluster, where the policy does not: Gracefully keeps it until the new one is
	// healthy, 10 minutes at most; Directly removes it at once. Default: Gracefully.
	PurgeMode string `json:"purgeMode,omitempty" jsonschema:"enum=Gracefully,enum=Directly"`
	// TolerationSeconds is how long a workload stays in a cluster that has failed, where the policy does not say, from 0. Other taints only
	// policies tolerate. Default: 0.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" jsonschema:"minimum=0"`
	// EvictionRate is how many workloads a second are moved away, above 0. Default: 0.5.
	EvictionRate *float64 `json:"evictionRate,omitempty"`
}

// Karmada is what a step brings of Karmada's own, or what it deletes of it by files or targets.
type Karmada struct {
	Policies  []*federation.Policy
	Overrides []*federation.Override
	// Resources are the custom resources that apply creates or changes.
	Resources []cluster.ResourceTemplate
	// Joined is the cluster that joins; nil if none does.
	Joined *Member
}

// Member is a cluster that has been read.
type Member struct {
	*federation.Cluster
	// Objects are those of its sources, in order.
	Objects []cluster.Object
	// Shown are the objects as they are named among those of all clusters; see cluster.Federation.
	Shown []cluster.Object
}
