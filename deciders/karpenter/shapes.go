package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// spotShare is the price of spot capacity as a share of the price on demand, as the kwok provider has it.
const spotShare = 0.7

// shapesOf makes instance types of the nodes that a cluster has: a type for each value of the label node.kubernetes.io/instance-type, with the
// resources and labels of the first such node, in all zones of the cluster. A type's price is what the kwok provider would take for it.
func shapesOf(nodes []*corev1.Node) []*cloudprovider.InstanceType {
	first := map[string]*corev1.Node{}
	zones, capacityTypes := map[string]bool{}, map[string]bool{v1.CapacityTypeOnDemand: true}
	for _, node := range nodes {
		name := node.Labels[corev1.LabelInstanceTypeStable]
		if name == "" {
			continue
		}
		if first[name] == nil {
			first[name] = node
		}
		if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
			zones[zone] = true
		}
		if capacityType := node.Labels[v1.CapacityTypeLabelKey]; capacityType == v1.CapacityTypeSpot {
			capacityTypes[capacityType] = true
		}
	}
	if len(zones) == 0 {
		return nil
	}
	var types []*cloudprovider.InstanceType
	for _, name := range slices.Sorted(maps.Keys(first)) {
		types = append(types, shapeOf(name, first[name], sorted(zones), sorted(capacityTypes)))
	}
	return types
}

func shapeOf(name string, node *corev1.Node, zones, capacityTypes []string) *cloudprovider.InstanceType {
	requirements := scheduling.NewRequirements(
		scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, name),
		scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...),
		scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...),
	)
	for _, key := range sorted(node.Labels) {
		// A provider's own labels of a type are such as karpenter.k8s.aws/instance-family.
		domain, label, _ := strings.Cut(key, "/")
		if key == corev1.LabelArchStable || key == corev1.LabelOSStable || strings.HasPrefix(domain, "karpenter.") && strings.HasPrefix(label, "instance-") {
			requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, node.Labels[key]))
			v1.WellKnownLabels.Insert(key)
		}
	}
	price := priceOfResources(node.Status.Capacity.Cpu().AsApproximateFloat64(), node.Status.Capacity.Memory().AsApproximateFloat64())
	var offerings cloudprovider.Offerings
	for _, zone := range zones {
		for _, capacityType := range capacityTypes {
			offerings = append(offerings, offering(zone, capacityType, lo.Ternary(capacityType == v1.CapacityTypeSpot, price*spotShare, price)))
		}
	}
	return &cloudprovider.InstanceType{
		Name: name, Requirements: requirements, Offerings: offerings, Capacity: node.Status.Capacity,
		Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: resources.Subtract(node.Status.Capacity, node.Status.Allocatable)},
	}
}

// priceOfResources is what the kwok provider takes for CPUs and bytes an hour: priceFromResources of kwok/tools/gen_instance_types.go.
func priceOfResources(cpus, memory float64) float64 { return 0.025*cpus + 0.001*memory/1e9 }

// offering is capacity that can be had.
func offering(zone, capacityType string, price float64) *cloudprovider.Offering {
	return &cloudprovider.Offering{
		Available: true,
		Price:     price,
		Requirements: scheduling.NewRequirements(
			scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zone),
			scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType),
		),
	}
}

// zonesOf returns the zones that the cluster's nodes and the requirements of its NodePools name.
func zonesOf(nodes []*corev1.Node, pools []*v1.NodePool) []string {
	zones := map[string]bool{}
	for _, node := range nodes {
		if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
			zones[zone] = true
		}
	}
	for _, pool := range pools {
		for _, r := range pool.Spec.Template.Spec.Requirements {
			if r.Key == corev1.LabelTopologyZone && r.Operator == corev1.NodeSelectorOpIn {
				for _, zone := range r.Values {
					zones[zone] = true
				}
			}
		}
	}
	return sorted(zones)
}

// withoutZones returns the types with no capacity in the zones.
func withoutZones(types []*cloudprovider.InstanceType, zones []string) []*cloudprovider.InstanceType {
	if len(zones) == 0 {
		return types
	}
	return lo.Map(types, func(t *cloudprovider.InstanceType, _ int) *cloudprovider.InstanceType {
		left := &cloudprovider.InstanceType{Name: t.Name, Requirements: t.Requirements, Capacity: t.Capacity, Overhead: t.Overhead}
		for _, of := range t.Offerings {
			of := *of
			of.Available = of.Available && !slices.Contains(zones, of.Zone())
			left.Offerings = append(left.Offerings, &of)
		}
		return left
	})
}

// deadZones returns the zones in which no node answers. A cloud has no capacity in a zone that has failed.
func deadZones(nodes []*corev1.Node) []string {
	answers := map[string]bool{}
	for _, node := range nodes {
		zone := node.Labels[corev1.LabelTopologyZone]
		lost := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
		answers[zone] = answers[zone] || !lost
	}
	delete(answers, "")
	return lo.Filter(sorted(answers), func(zone string, _ int) bool { return !answers[zone] })
}

// typesOf returns the instance types of NodePools and NodeClaims with such a node class: for one of kwok's, or if a file gives the types, these;
// for another provider's, the shapes of the cluster's nodes, if there are any.
func (c *cloud) typesOf(class *v1.NodeClassReference) []*cloudprovider.InstanceType {
	if c.given || len(c.shapes) == 0 || class != nil && class.Kind == "KWOKNodeClass" {
		return c.types
	}
	return c.shapes
}

// assumption says which instance types stand for those of a NodePool's provider; "" if it is kwok, or a file gives them.
func (c *cloud) assumption(pool *v1.NodePool) string {
	switch class := pool.Spec.Template.Spec.NodeClassRef; {
	case c.aws != nil && len(c.types) == 0:
		return "No instance type is offered: neither the files of --prices, nor the cluster's nodes, nor the NodePool's requirements name a zone; give aws ec2 describe-instance-type-offerings --location-type availability-zone as --prices"
	case c.aws != nil && c.aws.onDemand == nil:
		return "The prices of the instance types are not known: $0.025 for a CPU and $0.001 for a GB an hour stand for them; --prices gives those of aws pricing get-products"
	case c.given || class == nil || class.Kind == "KWOKNodeClass":
		return ""
	case len(c.shapes) == 0:
		return fmt.Sprintf("The instance types of %s are not known: the kwok provider's %d types stand for them; --instance-types gives others", class.Kind, len(c.types))
	default:
		names := lo.Map(c.shapes, func(t *cloudprovider.InstanceType, _ int) string { return t.Name })
		return fmt.Sprintf("The instance types of %s are not known: the shapes of the cluster's nodes stand for them, at $0.025 for a CPU and $0.001 for a GB an hour: %s; --instance-types gives others",
			class.Kind, strings.Join(names, ", "))
	}
}
