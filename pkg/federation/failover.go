package federation

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/faultline/faultline/pkg/list"
)

// Eviction is the task to move a binding away from a cluster.
type Eviction struct {
	From     string
	Replicas int32
	Purge    string
	// Since is when the eviction began.
	Since time.Time
}

// GracefulTimeout is how long Karmada keeps the copy in the old cluster if the copies in the other clusters do not become healthy.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/cmd/controller-manager/app/options/options.go, graceful-eviction-timeout
const GracefulTimeout = 10 * time.Minute

// EvictionRate is the number of bindings per second that Karmada moves away from failed clusters by default.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/cmd/controller-manager/app/options/cluster_failover.go
const EvictionRate = 0.5

// FailureThreshold is how long a cluster must fail before Karmada marks it as not ready. Karmada checks the status of each cluster every 10
// s, and the time starts with the first failed check.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/status/cluster_condition_cache.go, cluster-failure-threshold in
// https://github.com/karmada-io/karmada/blob/f8fdd02d/cmd/controller-manager/app/options/options.go
const FailureThreshold = 30 * time.Second

// Taints of a failed cluster.

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/cluster/v1alpha1/well_known_constants.go
const (
	TaintNotReady    = "cluster.karmada.io/not-ready"
	TaintUnreachable = "cluster.karmada.io/unreachable"
)

// maxTolerationSeconds is the maximum duration of a toleration in seconds: ten years, so that adding it to a time does not overflow.
const maxTolerationSeconds = 10 * 365 * 24 * 60 * 60

// ToleratedFor returns how long the binding stays in a cluster after it gets the taints: 0 if the binding does not tolerate every NoExecute
// taint, and a negative duration if it stays for good. Policies that do not mention the taints of a failed cluster tolerate them for the
// duration failed, as if they had the tolerations that the webhook of Karmada up to 1.14 added to each policy.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/taint_manager.go, needEviction
// https://github.com/karmada-io/karmada/blob/v1.14.0/pkg/webhook/propagationpolicy/mutating.go
func (b *Binding) ToleratedFor(taints []v1.Taint, failed time.Duration) time.Duration {
	tolerations := slices.Clip(b.Placement.ClusterTolerations)
	seconds := int64(failed / time.Second)
	for _, key := range []string{TaintNotReady, TaintUnreachable} {
		tolerations = append(tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	least := time.Duration(-1)
	for i := range taints {
		if taints[i].Effect != v1.TaintEffectNoExecute {
			continue
		}
		by := slices.IndexFunc(tolerations, func(t v1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taints[i], false) })
		if by < 0 {
			return 0
		}
		if seconds := tolerations[by].TolerationSeconds; seconds != nil {
			if d := time.Duration(min(max(0, *seconds), maxTolerationSeconds)) * time.Second; least < 0 || d < least {
				least = d
			}
		}
	}
	return least
}

// PurgeMode returns what happens to the binding's copy in a cluster that it moves away from: the mode of its policy, or the controller's
// mode if the policy has none.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/taint_manager.go, getPurgeMode
func (b *Binding) PurgeMode(controller string) string {
	if b.Failover != nil && b.Failover.Cluster != nil && b.Failover.Cluster.PurgeMode != "" {
		return b.Failover.Cluster.PurgeMode
	}
	if b.Failover != nil && b.Failover.Cluster != nil || controller == "" {
		return PurgeGracefully
	}
	return controller
}

// Evict returns the binding without the cluster and with an eviction task for it. It returns the same binding if it does not have the
// cluster.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/work/v1alpha2/binding_types_helper.go, GracefulEvictCluster
func (b *Binding) Evict(cluster, purge string, now time.Time) *Binding {
	replicas, there := b.On(cluster)
	if !there {
		return b
	}
	next := *b
	next.Targets = list.Without(b.Targets, func(t Target) bool { return t.Cluster == cluster })
	if !b.isEvicting(cluster) {
		next.Evictions = append(slices.Clip(b.Evictions), Eviction{From: cluster, Replicas: replicas, Purge: purge, Since: now})
	}
	return &next
}

// WithoutEvicted returns the binding without the tasks that are done: all tasks if it is scheduled and its copies are healthy, and each task older
// than GracefulTimeout. Run the scheduler between [Binding.Evict] and [Binding.WithoutEvicted], since an earlier scheduling does not count.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/gracefuleviction/evictiontask.go
func (b *Binding) WithoutEvicted(healthy bool, now time.Time) *Binding {
	done := func(e Eviction) bool {
		return b.Scheduled() && healthy || now.Sub(e.Since) > GracefulTimeout
	}
	if !slices.ContainsFunc(b.Evictions, done) {
		return b
	}
	next := *b
	next.Evictions = list.Without(b.Evictions, done)
	return &next
}

// Copies returns the clusters that have a copy of the workload: the binding's targets and, until it has moved, the clusters that it leaves
// gracefully.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/binding.go, ObtainBindingSpecExistingClusters
func (b *Binding) Copies() []Target {
	copies := slices.Clone(b.Targets)
	for _, e := range b.Evictions {
		if _, there := b.On(e.From); !there && e.Purge != PurgeDirectly {
			copies = append(copies, Target{e.From, e.Replicas})
		}
	}
	return copies
}
