package topology

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Nodes of a kubelet before 1.17 have only the labels failure-domain.beta.kubernetes.io/zone and /region. Reports take zones from these
// labels, as the node lifecycle controller does, which reads both: see GetZoneKey in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/component-helpers/node/topology/helpers.go. The scheduler reads
// only the new labels: a rule with the new key finds no label on such nodes, as in their cluster.

// betaKeys maps the label keys of zones and regions to their keys before Kubernetes 1.17.
var betaKeys = map[string]string{
	v1.LabelTopologyZone:   v1.LabelFailureDomainBetaZone,
	v1.LabelTopologyRegion: v1.LabelFailureDomainBetaRegion,
}

// PlaceKeys are the label keys of zones and regions, new and old.
var PlaceKeys = []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion}

// ZoneKey returns the label key of the nodes' zones: topology.kubernetes.io/zone, or the older key if the nodes have only that.
func ZoneKey(nodes []*v1.Node) string { return presentKey(nodes, v1.LabelTopologyZone) }

// presentKey returns the key, or the older one if the nodes have only that.
func presentKey(nodes []*v1.Node, key string) string {
	has := func(key string) bool {
		return slices.ContainsFunc(nodes, func(node *v1.Node) bool { _, found := node.Labels[key]; return found })
	}
	if before := betaKeys[key]; before != "" && !has(key) && has(before) {
		return before
	}
	return key
}

// ZoneOf returns the zone of a node with the labels, or "" if it has none.
func ZoneOf(labels map[string]string) string { return valueOrBeta(labels, v1.LabelTopologyZone) }

// RegionOf returns the region of a node with the labels, or "" if it has none.
func RegionOf(labels map[string]string) string { return valueOrBeta(labels, v1.LabelTopologyRegion) }

// valueOrBeta returns the value of the key or, if there is no such label, of the older key.
func valueOrBeta(labels map[string]string, key string) string {
	if value, found := labels[key]; found {
		return value
	}
	return labels[betaKeys[key]]
}

// OlderKeys returns the older keys by which the nodes are in zones and regions. It also returns the nodes that have only an older key while
// other nodes have the new one: these are in no zone or region.
func OlderKeys(nodes []*v1.Node) (keys []string, apart []*v1.Node) {
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion} {
		if on := presentKey(nodes, key); on != key {
			keys = append(keys, on)
			continue
		}
		for _, node := range nodes {
			_, has := node.Labels[key]
			if _, before := node.Labels[betaKeys[key]]; before && !has && !slices.Contains(apart, node) {
				apart = append(apart, node)
			}
		}
	}
	return keys, apart
}
