package topology

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// maxNodes is the largest number of nodes that Build creates. Kubernetes itself is tested up to 5,000.
const maxNodes = 100_000

// PriceAnnotation on a node is its price per hour, a decimal number of at least 0 in any currency.
const PriceAnnotation = "faultline.dev/price-per-hour"

// Spec describes a synthetic cluster: regions hold zones, zones hold additional levels such as racks, and the innermost of these hold node
// groups. Every level may be left out. 5,000 nodes in the racks of nine zones take four lines:
//
//	regions: [{name: eu}, {name: us}, {name: ap}]
//	zones: [{count: 3}]
//	levels: [{key: rack, count: 8}]
//	nodeGroups: [{name: worker, total: 5000, cpu: 16, memory: 64Gi}]
//
// Zones, levels and node groups that are listed at an outer place apply to every inner place that lists none of its own. Labels add up from
// the outside in. The inner value wins, even over the topology labels that come from names.
//
// A name may hold placeholders in braces: {region}, {zone} and {<level>} stand for the names around it, {group} for the
// name of the node group, and {index} counts up from 1 among names that would otherwise be equal.
type Spec struct {
	// Regions are the regions of the cluster. A cluster without regions has its zones, or its node groups, at the top.
	Regions []Region `json:"regions,omitempty"`
	// Zones are the zones of every region that lists none, or of the cluster if it has no regions.
	Zones []Zone `json:"zones,omitempty"`
	// Levels are the additional levels, outermost first, in every zone that lists none.
	Levels []Level `json:"levels,omitempty"`
	// NodeGroups are the node groups in every innermost domain that lists none.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// Labels are set on every node.
	Labels map[string]string `json:"labels,omitempty"`
}

// Region is one region, or several equal ones.
type Region struct {
	// Name is the value of the label topology.kubernetes.io/region. It may hold {index}; the default is region-{index}.
	Name string `json:"name,omitempty"`
	// Count makes that many regions, whose names differ by {index}. The default is 1.
	Count *int `json:"count,omitempty"`
	// Zones are the zones of the region, which replace the zones listed further out.
	Zones []Zone `json:"zones,omitempty"`
	// Levels are the additional levels in each zone of the region, which replace the levels listed further out.
	Levels []Level `json:"levels,omitempty"`
	// NodeGroups are the node groups in each innermost domain of the region, which replace the groups listed further out.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// Labels are set on every node of the region.
	Labels map[string]string `json:"labels,omitempty"`
}

// Zone is one zone, or several equal ones.
type Zone struct {
	// Name is the value of the label topology.kubernetes.io/zone, unique in the cluster. It may hold {region} and {index};
	// the default is {region}-{index}, or zone-{index} without regions.
	Name string `json:"name,omitempty"`
	// Count makes that many zones, whose names differ by {index}. The default is 1.
	Count *int `json:"count,omitempty"`
	// Levels are the additional levels in the zone, which replace the levels listed further out.
	Levels []Level `json:"levels,omitempty"`
	// NodeGroups are the node groups in each innermost domain of the zone, which replace the groups listed further out.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// Labels are set on every node of the zone.
	Labels map[string]string `json:"labels,omitempty"`
}

// Level is an additional kind of failure domain between zone and node, such as racks or power feeds.
type Level struct {
	// Key is the label key, such as rack or example.com/rack. The part after the slash is its placeholder: {rack}.
	Key string `json:"key"`
	// Count is the number of these domains in each domain around them. The default is 1.
	Count *int `json:"count,omitempty"`
	// Name is the value of the label, unique in the cluster. It may hold the placeholders of the domains around it and
	// {index}; the default is the name of the domain around it, the key and {index}, as in eu-1-rack-7.
	Name string `json:"name,omitempty"`
}

// NodeGroup is a number of equal nodes. Give their number as either count or total.
type NodeGroup struct {
	// Name is the name of the group, for the names of its nodes. The default is node.
	Name string `json:"name,omitempty"`
	// Count is the number of nodes in each innermost domain that has this group.
	Count *int `json:"count,omitempty"`
	// Total is the number of nodes in all innermost domains that have this group, spread over them as evenly as possible.
	Total *int `json:"total,omitempty"`
	// NamePattern names the nodes. It may hold the placeholders of the domains around them, {group} and {index}; the default
	// is {group}-{index} after the name of the innermost domain, as in eu-1-rack-7-worker-3. Names are put in lower case.
	NamePattern string `json:"namePattern,omitempty"`
	// CPU of a node; the default is 4.
	CPU Quantity `json:"cpu,omitempty"`
	// Memory of a node; the default is 16Gi.
	Memory Quantity `json:"memory,omitempty"`
	// Pods is the number of pods that a node can hold; the default is 110.
	Pods Quantity `json:"pods,omitempty"`
	// EphemeralStorage of a node; the default is 100Gi.
	EphemeralStorage Quantity `json:"ephemeralStorage,omitempty"`
	// Resources are additional resources of a node, such as nvidia.com/gpu or hugepages-2Mi.
	Resources map[string]Quantity `json:"resources,omitempty"`
	// Devices are devices of each node that pods get by ResourceClaims; what a device plugin offers belongs under resources. For each
	// driver, a node publishes a pool with the node's name.
	Devices []Devices `json:"devices,omitempty"`
	// PricePerHour is the price of a node per hour, in any currency; reports add it up. By default it is not known.
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	// Labels are set on the nodes of the group. Every node also has kubernetes.io/hostname, which is its name and cannot be
	// changed, kubernetes.io/os (linux) and kubernetes.io/arch (amd64).
	Labels map[string]string `json:"labels,omitempty"`
	// WithoutLabels are label keys that the nodes of the group lack, such as topology.kubernetes.io/zone for nodes that were
	// never given their zone.
	WithoutLabels []string `json:"withoutLabels,omitempty"`
	// Taints are set on the nodes of the group.
	Taints []v1.Taint `json:"taints,omitempty"`
}

// Quantity is a resource quantity as written, such as 4, 500m or 16Gi, with or without quotes. The decoder accepts any text; Validate
// checks it, so that an error has its path.
type Quantity string

// Wanted describes the values of a Quantity for errors.
func (Quantity) Wanted() string { return "a quantity such as 4 or 500m" }

// UnmarshalJSON accepts a string or a number.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	var number json.Number
	if json.Unmarshal(data, &number) == nil && data[0] != '"' {
		*q = Quantity(number)
		return nil
	}
	return json.Unmarshal(data, (*string)(q))
}

// LevelKeys returns the label keys of the additional levels in the spec, in order of first appearance.
func (s *Spec) LevelKeys() []string {
	var keys []string
	add := func(levels []Level) {
		for _, level := range levels {
			if !slices.Contains(keys, level.Key) {
				keys = append(keys, level.Key)
			}
		}
	}
	add(s.Levels)
	addZones := func(zones []Zone) {
		for _, zone := range zones {
			add(zone.Levels)
		}
	}
	addZones(s.Zones)
	for _, region := range s.Regions {
		add(region.Levels)
		addZones(region.Zones)
	}
	return keys
}

// Price returns the node's price per hour from its annotation, or false if it has none. It returns an error if the annotation is not a
// decimal number of at least 0.
func Price(node *v1.Node) (float64, bool, error) {
	given, found := node.Annotations[PriceAnnotation]
	if !found {
		return 0, false, nil
	}
	price, err := strconv.ParseFloat(given, 64)
	if err != nil || !(price >= 0) || math.IsInf(price, 0) {
		return 0, false, fmt.Errorf("node %s: the annotation %s is %q; give a decimal number of at least 0, such as 0.38", node.Name, PriceAnnotation, given)
	}
	return price, true, nil
}
