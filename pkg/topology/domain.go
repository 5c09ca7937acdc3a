// Package topology builds nodes and names their failure domains.
//
// Nodes come from a short description of regions, zones, additional levels such as racks, and node groups (Spec, Build), or from a kind
// configuration (FromKind). Domains groups any nodes by the value of a label key, as the scheduler does.
package topology

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Domain is a failure domain: the nodes that share a value of a label key, and so fail together.
type Domain struct {
	// Key is the label key, such as topology.kubernetes.io/zone, or several keys joined by +.
	Key string
	// Value is the shared value. It is empty if the label's value is empty, which the scheduler counts as a domain like any other.
	Value string
	// Nodes lists the domain's nodes, at least one, in the given order.
	Nodes []*v1.Node
}

// LabelCluster is the label of a federation's nodes that names their cluster.
const LabelCluster = "faultline.dev/cluster"

// keysByWord maps short names to the well-known topology keys.
var keysByWord = map[string]string{
	"cluster":  LabelCluster,
	"region":   v1.LabelTopologyRegion,
	"zone":     v1.LabelTopologyZone,
	"node":     v1.LabelHostname,
	"hostname": v1.LabelHostname,
}

// A key of several labels, such as zone+rack, has one domain for each combination of values. A key with a value, such as
// capacity-type=spot, has only the nodes with that value. No label key contains these characters.
const (
	keySeparator   = "+"
	valueSeparator = "="
)

// Key returns the topology key that a short name stands for: cluster, region, zone, node or hostname. Any other word is already a key.
// Several keys are joined by +, as in zone+rack, and a key is restricted to one value by =, as in capacity-type=spot+zone.
func Key(word string) string {
	parts := strings.Split(word, keySeparator)
	for i, part := range parts {
		key, value, chosen := strings.Cut(part, valueSeparator)
		if parts[i] = cmp.Or(keysByWord[key], key); chosen {
			parts[i] += valueSeparator + value
		}
	}
	return strings.Join(parts, keySeparator)
}

// ShortKey returns the short name for a topology key, or the key itself if it has none.
func ShortKey(key string) string {
	for _, word := range []string{"cluster", "region", "zone", "node"} {
		if keysByWord[word] == key {
			return word
		}
	}
	return key
}

// ResolveKey returns the topology key that a word stands for among the nodes. It does as Key does, and also finds the one label key that has
// the word after its domain, such as node.kubernetes.io/instance-type for instance-type. For zone and region, it returns the older label if
// no node has the new one.
func ResolveKey(nodes []*v1.Node, word string) string {
	parts := strings.Split(Key(word), keySeparator)
	for i, short := range strings.Split(word, keySeparator) {
		part, value, chosen := strings.Cut(parts[i], valueSeparator)
		if before := presentKey(nodes, part); !strings.HasPrefix(short, part) {
			part = before
		}
		found := map[string]bool{}
		for _, node := range nodes {
			for key := range node.Labels {
				if key == part || strings.HasSuffix(key, "/"+part) && !strings.HasPrefix(key, "beta.kubernetes.io/") {
					found[key] = true
				}
			}
		}
		if len(found) == 1 {
			for key := range found {
				if parts[i] = key; chosen {
					parts[i] += valueSeparator + value
				}
			}
		}
	}
	return strings.Join(parts, keySeparator)
}

// Value returns the value of the key among a node's labels. For several keys, it returns their values, joined by +. It reports false if a
// label is missing, or does not have the value that the key requires.
func Value(labels map[string]string, key string) (string, bool) {
	first, rest, several := strings.Cut(key, keySeparator)
	first, wanted, chosen := strings.Cut(first, valueSeparator)
	value, labelled := labels[first]
	labelled = labelled && (!chosen || value == wanted)
	if !labelled || !several {
		return value, labelled
	}
	more, labelled := Value(labels, rest)
	return value + keySeparator + more, labelled
}

// SplitValue splits a level such as zone=b, which is one domain of the level zone, into key and value. It reports false for other levels.
func SplitValue(level string) (key, value string, is bool) {
	if strings.Contains(level, keySeparator) {
		return "", "", false
	}
	return strings.Cut(level, valueSeparator)
}

// IsTopologyLabel reports whether a label says where a node is, such as topology.kubernetes.io/zone and topology.ebs.csi.aws.com/zone.
func IsTopologyLabel(key string) bool {
	return strings.Contains(key, "topology.") || strings.HasPrefix(key, "failure-domain.")
}

// Domains groups nodes by the value of the key. Domains are sorted by value in natural order, so that rack-2 comes before rack-10.
// Nodes that lack the label are in no domain and are returned separately.
func Domains(nodes []*v1.Node, key string) (domains []Domain, unlabelled []*v1.Node) {
	position := map[string]int{}
	for _, node := range nodes {
		value, labelled := Value(node.Labels, key)
		if !labelled {
			unlabelled = append(unlabelled, node)
			continue
		}
		i, found := position[value]
		if !found {
			i = len(domains)
			position[value] = i
			domains = append(domains, Domain{Key: key, Value: value})
		}
		domains[i].Nodes = append(domains[i].Nodes, node)
	}
	slices.SortFunc(domains, func(a, b Domain) int { return compareNatural(a.Value, b.Value) })
	return domains, unlabelled
}

// Levels returns the topology keys that at least one node has, the widest first: cluster, region, zone, the further keys in the given order
// (see Spec.LevelKeys), hostname. Further keys must be named, because a label alone does not show whether its nodes fail together.
func Levels(nodes []*v1.Node, further ...string) []string {
	keys := slices.Concat([]string{LabelCluster, presentKey(nodes, v1.LabelTopologyRegion), ZoneKey(nodes)}, further, []string{v1.LabelHostname})
	var levels []string
	for _, key := range keys {
		carried := func(node *v1.Node) bool { _, found := Value(node.Labels, key); return found }
		if !slices.Contains(levels, key) && slices.ContainsFunc(nodes, carried) {
			levels = append(levels, key)
		}
	}
	return levels
}

// MultiDomainLevels returns the levels that have more than one domain, so that the failure of one leaves nodes.
func MultiDomainLevels(nodes []*v1.Node, further ...string) (keys []string) {
	for _, key := range Levels(nodes, further...) {
		if domains, _ := Domains(nodes, key); len(domains) > 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// compareNatural compares texts, with runs of digits compared as numbers. Only identical texts are equal.
func compareNatural(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		i, j := leadingDigits(x), leadingDigits(y)
		if i == 0 || j == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		m, n := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:j], "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
			return c
		}
		x, y = x[i:], y[j:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// leadingDigits returns the number of digits at the beginning of the text.
func leadingDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
