package stackable

import (
	"cmp"
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/input/operator"
)

// The default affinities select these labels of pods: crates/stackable-operator/src/v2/kvp/label.rs of the library.
const (
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	componentLabel = "app.kubernetes.io/component"
	roleGroupLabel = "app.kubernetes.io/role-group"
)

// rule returns the terms of a default affinity for a role of a cluster. All are preferred, over hosts, and in the pods' own namespace.
type rule func(c *cluster, r *role) []v1.WeightedPodAffinityTerm

// placing holds the rules of a role's default affinity (together) and anti-affinity (apart).
type placing struct{ together, apart []rule }

// sameCluster returns a rule that selects the cluster's pods of any role: affinity_between_cluster_pods of the library's
// commons/affinity.rs.
func sameCluster(weight int32) rule {
	return func(c *cluster, _ *role) []v1.WeightedPodAffinityTerm {
		return []v1.WeightedPodAffinityTerm{operator.HostAffinityTerm(weight, map[string]string{nameLabel: c.affinityName(), instanceLabel: c.resource.Name})}
	}
}

// sameRole returns a rule that selects the cluster's pods of the role, in any role group.
func sameRole(weight int32) rule {
	return func(c *cluster, r *role) []v1.WeightedPodAffinityTerm {
		return otherComponent(r.component, weight)(c, r)
	}
}

// otherComponent returns a rule that selects the cluster's pods of another role.
func otherComponent(name string, weight int32) rule {
	return func(c *cluster, _ *role) []v1.WeightedPodAffinityTerm {
		return []v1.WeightedPodAffinityTerm{roleTerm(c.affinityName(), c.resource.Name, name, weight)}
	}
}

// roleTerm returns a term for the pods of a role of a cluster: affinity_between_role_pods of the library's commons/affinity.rs.
func roleTerm(app, instance, component string, weight int32) v1.WeightedPodAffinityTerm {
	return operator.HostAffinityTerm(weight, map[string]string{nameLabel: app, instanceLabel: instance, componentLabel: component})
}

// otherProduct is a component of another product.
type otherProduct struct{ app, component, group, kind string }

var (
	dataNodes  = otherProduct{"hdfs", "datanode", "hdfs.stackable.tech", "HdfsCluster"}
	metastores = otherProduct{"hive", "metastore", "hive.stackable.tech", "HiveCluster"}
	opaServers = otherProduct{"opa", "server", "opa.stackable.tech", "OpaCluster"}
	routers    = otherProduct{"druid", "router", "druid.stackable.tech", "DruidCluster"}
)

// productWeight is the weight of every affinity to another product.
const productWeight = 50

// nearProduct returns a rule that selects pods of another product's clusters. The operators assume that the cluster has the name of the discovery
// ConfigMap, and is in their own namespace. If either is wrong, the term selects no pod, and only a warning of this rule shows it.
func nearProduct(t otherProduct, names func(c *cluster) []string) rule {
	return func(c *cluster, r *role) []v1.WeightedPodAffinityTerm {
		var terms []v1.WeightedPodAffinityTerm
		for _, name := range names(c) {
			terms = append(terms, roleTerm(t.app, name, t.component, productWeight))
			found := false
			for _, other := range c.resourcesOfKind(t.group, t.kind) {
				found = found || other.Name == name
			}
			if !found {
				c.warn("spec.%s: the affinity to %ss of %s %s selects no pod unless a cluster of that very name is in the namespace; none is given",
					r.key, t.component, t.kind, name)
			}
		}
		return terms
	}
}

// clusterSetting returns a function that finds the name of the cluster to which a field of spec.clusterConfig refers.
func clusterSetting(path ...string) func(*cluster) []string {
	return func(c *cluster) []string {
		if name := c.configText(path...); name != "" {
			return []string{name}
		}
		return nil
	}
}

func (p *product) affinityName() string { return cmp.Or(p.affinityApp, p.app) }

// collectTerms returns the terms of all rules.
func collectTerms(rules []rule, c *cluster, r *role) []v1.WeightedPodAffinityTerm {
	var terms []v1.WeightedPodAffinityTerm
	for _, rule := range rules {
		terms = append(terms, rule(c, r)...)
	}
	return terms
}

// defaultAffinity returns the operator's default affinity for a role's pods. An affinity without terms is nil.
func (c *cluster) defaultAffinity(r *role) affinity {
	p := r.placing
	if c.opts.ADR && r.adr != nil {
		p = *r.adr
	}
	var a affinity
	if terms := collectTerms(p.together, c, r); len(terms) > 0 {
		a.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
	}
	if terms := collectTerms(p.apart, c, r); len(terms) > 0 {
		a.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
	}
	return a
}

// level is an affinity and the name of the level that set it.
type level struct {
	name     string
	affinity affinity
}

// resolveAffinity takes each field as a whole from the first level that sets it, and returns the affinity and the origin of each field:
// role_utils.rs and config/merge.rs of the library. An empty object counts as set, and so removes the default; null does not.
func resolveAffinity(levels []level) (affinity, []operator.Origin) {
	var result affinity
	var origins []operator.Origin
	take := func(field string, set func(*affinity) bool, copy func(from *affinity)) {
		for i := range levels {
			if set(&levels[i].affinity) {
				copy(&levels[i].affinity)
				origins = append(origins, operator.Origin{Field: field, Level: levels[i].name})
				return
			}
		}
	}
	take("affinity.podAffinity", func(a *affinity) bool { return a.PodAffinity != nil }, func(a *affinity) { result.PodAffinity = a.PodAffinity })
	take("affinity.podAntiAffinity", func(a *affinity) bool { return a.PodAntiAffinity != nil }, func(a *affinity) { result.PodAntiAffinity = a.PodAntiAffinity })
	take("affinity.nodeAffinity", func(a *affinity) bool { return a.NodeAffinity != nil }, func(a *affinity) { result.NodeAffinity = a.NodeAffinity })
	take("nodeSelector", func(a *affinity) bool { return a.NodeSelector != nil }, func(a *affinity) { result.NodeSelector = maps.Clone(a.NodeSelector) })
	return result, origins
}

// affinity returns the affinity of a level, including the node selector of ADR026.
func (l *Level) affinity() affinity {
	a := l.Config.Affinity
	if l.NodeSelector != nil {
		a.NodeSelector = l.NodeSelector
	}
	return a
}
