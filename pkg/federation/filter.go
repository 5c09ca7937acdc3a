package federation

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// filter returns why a plugin rejects the cluster for the binding, or "".
type filter func(s *Scheduler, b *Binding, c *Cluster) string

// filters lists Karmada's plugins in the order in which they run. The first plugin that rejects a cluster gives the reason.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/registry.go
var filters = []struct {
	plugin string
	refuse filter
}{
	{"APIEnablement", refuseAPI},
	{"TaintToleration", refuseTaints},
	{"ClusterAffinity", refuseAffinity},
	{"SpreadConstraint", refuseSpread},
	{"ClusterEviction", refuseEviction},
	{"WorkloadAntiAffinity", refuseSameGroup},
	{"WorkloadAffinity", refuseOtherGroup},
}

// refuseAPI is the plugin APIEnablement. A cluster that has the workload keeps it.
func refuseAPI(_ *Scheduler, b *Binding, c *Cluster) string {
	if _, there := b.On(c.Name); there || c.serves(b.Template.APIVersion, b.Template.Kind) {
		return ""
	}
	return "cluster(s) did not have the API resource"
}

// refuseTaints is the plugin TaintToleration. A cluster that has the workload keeps it, because the taint manager evicts workloads.
func refuseTaints(_ *Scheduler, b *Binding, c *Cluster) string {
	if _, there := b.On(c.Name); there {
		return ""
	}
	repels := func(t *v1.Taint) bool {
		return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
	}
	taint, found := v1helper.FindMatchingUntoleratedTaint(klog.Background(), c.Spec.Taints, b.Placement.ClusterTolerations, repels, false)
	if !found {
		return ""
	}
	return fmt.Sprintf("cluster(s) had untolerated taint {%s}", taint.ToString())
}

// refuseAffinity is the plugin ClusterAffinity.
func refuseAffinity(_ *Scheduler, b *Binding, c *Cluster) string {
	affinity := b.Placement.ClusterAffinity
	if affinity == nil {
		for i := range b.Placement.ClusterAffinities {
			if term := &b.Placement.ClusterAffinities[i]; term.AffinityName == b.affinity {
				affinity = &term.ClusterAffinity
				break
			}
		}
	}
	if affinity == nil || affinity.Matches(c) {
		return ""
	}
	return "cluster(s) did not match the placement cluster affinity constraint"
}

// Admits reports whether the placement alone allows the cluster: one of its affinities selects the cluster, it tolerates the cluster's
// taints, and the cluster serves the kind. Admits ignores room and other workloads.
func (b *Binding) Admits(c *Cluster) bool {
	anew := &Binding{Template: b.Template, Placement: b.Placement}
	if refuseTaints(nil, anew, c) != "" || !c.serves(b.Template.APIVersion, b.Template.Kind) {
		return false
	}
	if terms := b.Placement.ClusterAffinities; b.Placement.ClusterAffinity == nil && len(terms) > 0 {
		return slices.ContainsFunc(terms, func(t ClusterAffinityTerm) bool { return t.Matches(c) })
	}
	return b.Placement.ClusterAffinity == nil || b.Placement.ClusterAffinity.Matches(c)
}

// refuseSpread is the plugin SpreadConstraint.
func refuseSpread(_ *Scheduler, b *Binding, c *Cluster) string {
	for _, constraint := range b.Placement.SpreadConstraints {
		switch {
		case constraint.SpreadByField == SpreadByProvider && c.Spec.Provider == "":
			return "cluster(s) did not have provider property"
		case constraint.SpreadByField == SpreadByRegion && c.Spec.Region == "":
			return "cluster(s) did not have region property"
		case constraint.SpreadByField == SpreadByZone && len(c.Spec.Zones) == 0:
			return "cluster(s) did not have zones property"
		}
	}
	return ""
}

// refuseEviction is the plugin ClusterEviction.
func refuseEviction(_ *Scheduler, b *Binding, c *Cluster) string {
	if b.isEvicting(c.Name) {
		return "cluster(s) is in the process of eviction"
	}
	return ""
}

// refuseSameGroup is the plugin WorkloadAntiAffinity. It rejects a cluster that has another binding of the same namespace and anti-affinity
// group. A cluster that has the workload keeps it.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/workloadantiaffinity/workload_anti_affinity.go
func refuseSameGroup(s *Scheduler, b *Binding, c *Cluster) string {
	if _, there := b.On(c.Name); there || !s.Gates.WorkloadAffinity || b.AntiAffinityGroup == "" {
		return ""
	}
	for _, peer := range s.apart[group{b.Template.Namespace, b.AntiAffinityGroup}] {
		if _, taken := peer.On(c.Name); taken && peer.Name() != b.Name() {
			return "cluster already has workload with the same anti-affinity group"
		}
	}
	return ""
}

// refuseOtherGroup is the plugin WorkloadAffinity. It rejects a cluster unless it has all other bindings of the same namespace and affinity
// group. Bindings without a cluster do not count, so that the first of a group can go anywhere.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/workloadaffinity/workload_affinity.go
func refuseOtherGroup(s *Scheduler, b *Binding, c *Cluster) string {
	if _, there := b.On(c.Name); there || !s.Gates.WorkloadAffinity || b.AffinityGroup == "" {
		return ""
	}
	for _, peer := range s.together[group{b.Template.Namespace, b.AffinityGroup}] {
		if _, taken := peer.On(c.Name); !taken && len(peer.Targets) > 0 && peer.Name() != b.Name() {
			return "ResourceBinding with the same affinity group does not target this cluster"
		}
	}
	return ""
}

// FitError means that no cluster is feasible.
type FitError struct {
	// Clusters is the number of all clusters.
	Clusters int
	// Refused maps the rejected clusters to the reasons. It lacks the clusters that are being deleted, on which no plugin runs.
	Refused map[string]string
}

// Error returns Karmada's own text. See
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/types.go
func (e *FitError) Error() string {
	why := "no cluster exists"
	if e.Clusters > 0 && len(e.Refused) > 0 {
		counts := map[string]int{}
		for _, reason := range e.Refused {
			counts[reason]++
		}
		var lines []string
		for reason, n := range counts {
			lines = append(lines, fmt.Sprintf("%d %s", n, reason))
		}
		slices.Sort(lines)
		why = strings.Join(lines, ", ")
	}
	return fmt.Sprintf("0/%d clusters are available: %s.", e.Clusters, why)
}

// fitError returns the error for a binding that fits no cluster.
func (s *Scheduler) fitError(refused []Verdict) error {
	e := &FitError{Clusters: len(s.Clusters), Refused: map[string]string{}}
	for _, v := range refused {
		e.Refused[v.Cluster] = v.Refusal
	}
	return e
}

// refusal returns the first plugin that rejects the cluster, and the reason.
func (s *Scheduler) refusal(b *Binding, c *Cluster) (plugin, reason string) {
	for i := range filters {
		if reason := filters[i].refuse(s, b, c); reason != "" {
			return filters[i].plugin, reason
		}
	}
	return "", ""
}
