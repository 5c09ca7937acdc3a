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
	of    map[string][]*resourcev1.ResourceSlice // the slices of each node
	drawn map[string]int                         // how many devices share an attribute and its value
}

func devicesOf(all []*resourcev1.ResourceSlice) *devices {
	d := &devices{of: map[string][]*resourcev1.ResourceSlice{}, drawn: map[string]int{}}
	for _, slice := range all {
		if slice.Spec.NodeName == nil {
			continue
		}
		d.of[*slice.Spec.NodeName] = append(d.of[*slice.Spec.NodeName], slice)
		for i := range slice.Spec.Devices {
			for name, value := range slice.Spec.Devices[i].Attributes {
				d.drawn[attribute(slice, name, value)]++
			}
		}
	}
	return d
}

func attribute(slice *resourcev1.ResourceSlice, name resourcev1.QualifiedName, value resourcev1.DeviceAttribute) string {
	return fmt.Sprint(slice.Spec.Driver, " ", name, " ", value.String())
}

// kinds describes the node's devices, so that two nodes with equal devices get equal strings: the same drivers, capacities and attributes.
// An attribute value that only one device has, such as a serial number, is left out.
func (d *devices) kinds(node *v1.Node) []string {
	var kinds []string
	for _, slice := range d.of[node.Name] {
		for i := range slice.Spec.Devices {
			says := []string{slice.Spec.Driver}
			for name, value := range slice.Spec.Devices[i].Attributes {
				if drawn := attribute(slice, name, value); d.drawn[drawn] > 1 {
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

// behind returns the extended resources with which pods request devices of the class.
func behind(class *resourcev1.DeviceClass) []v1.ResourceName {
	names := []v1.ResourceName{v1.ResourceName(resourcev1.ResourceDeviceClassPrefix + class.Name)}
	if class.Spec.ExtendedResourceName != nil {
		names = append(names, v1.ResourceName(*class.Spec.ExtendedResourceName))
	}
	return names
}
