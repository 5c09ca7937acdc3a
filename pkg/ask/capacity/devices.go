package capacity

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// devices indexes the devices that drivers publish for the nodes of a cluster.
type devices struct {
	byNode          map[string][]*resourcev1.ResourceSlice // the slices of each node
	attributeCounts map[string]int                         // how many devices share an attribute and its value
}

func indexDevices(all []*resourcev1.ResourceSlice) *devices {
	d := &devices{byNode: map[string][]*resourcev1.ResourceSlice{}, attributeCounts: map[string]int{}}
	for _, slice := range all {
		if slice.Spec.NodeName == nil {
			continue
		}
		d.byNode[*slice.Spec.NodeName] = append(d.byNode[*slice.Spec.NodeName], slice)
		for i := range slice.Spec.Devices {
			for name, value := range slice.Spec.Devices[i].Attributes {
				d.attributeCounts[attributeKey(slice, name, value)]++
			}
		}
	}
	return d
}

func attributeKey(slice *resourcev1.ResourceSlice, name resourcev1.QualifiedName, value resourcev1.DeviceAttribute) string {
	return fmt.Sprint(slice.Spec.Driver, " ", name, " ", value.String())
}

// describeDevices describes the node's devices, so that two nodes with equal devices get equal strings: the same drivers, capacities and attributes.
// An attribute value that only one device has, such as a serial number, is left out.
func (d *devices) describeDevices(node *v1.Node) []string {
	var kinds []string
	for _, slice := range d.byNode[node.Name] {
		for i := range slice.Spec.Devices {
			says := []string{slice.Spec.Driver}
			for name, value := range slice.Spec.Devices[i].Attributes {
				if drawn := attributeKey(slice, name, value); d.attributeCounts[drawn] > 1 {
					says = append(says, drawn)
				}
			}
			for name, capacity := range slice.Spec.Devices[i].Capacity {
				says = append(says, fmt.Sprint(name, " ", capacity.Value.String()))
			}
			slices.Sort(says[1:])
			kinds = append(kinds, strings.Join(says, " "))
		}
	}
	slices.Sort(kinds)
	return kinds
}

// classResources returns the extended resources with which pods request devices of the class.
func classResources(class *resourcev1.DeviceClass) []v1.ResourceName {
	names := []v1.ResourceName{v1.ResourceName(resourcev1.ResourceDeviceClassPrefix + class.Name)}
	if class.Spec.ExtendedResourceName != nil {
		names = append(names, v1.ResourceName(*class.Spec.ExtendedResourceName))
	}
	return names
}
