package capacity

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// devices are what drivers publish of the devices of a cluster.
type devices struct {
	of    map[string][]*resourcev1.ResourceSlice // by node
	pools map[pool]int                           // the slices of each
	drawn map[string]int                         // how many devices have the attribute and its value
}

// pool is a pool of a driver in one generation.
type pool struct {
	driver, name string
	generation   int64
}

func poolOf(slice *resourcev1.ResourceSlice) pool {
	return pool{slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Pool.Generation}
}

func devicesOf(all []*resourcev1.ResourceSlice) *devices {
	d := &devices{of: map[string][]*resourcev1.ResourceSlice{}, pools: map[pool]int{}, drawn: map[string]int{}}
	for _, slice := range all {
		d.pools[poolOf(slice)]++
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

// kinds returns the same strings for nodes whose devices are alike: of the same drivers, with the same capacities and attributes. What only
// one device has, such as its serial number, makes no difference.
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

// published returns what the drivers on a new node publish, which is made like another: as many devices, in pools of its own.
func (d *devices) published(node, like *v1.Node) []cluster.Object {
	shared := map[pool]int{} // slices of other nodes
	for _, slice := range d.of[like.Name] {
		if _, counted := shared[poolOf(slice)]; !counted {
			shared[poolOf(slice)] = d.pools[poolOf(slice)]
		}
		shared[poolOf(slice)]--
	}
	var all []cluster.Object
	for _, slice := range d.of[like.Name] {
		made := slice.DeepCopy()
		made.Name, made.UID, made.OwnerReferences = renamed(slice.Name, node, like), "", nil
		made.Spec.NodeName = &node.Name
		made.Spec.Pool.Name = renamed(slice.Spec.Pool.Name, node, like)
		made.Spec.Pool.ResourceSliceCount -= int64(shared[poolOf(slice)])
		all = append(all, made)
	}
	return all
}

// behind returns the extended resources for which pods get devices of the class.
func behind(class *resourcev1.DeviceClass) []v1.ResourceName {
	names := []v1.ResourceName{v1.ResourceName(resourcev1.ResourceDeviceClassPrefix + class.Name)}
	if class.Spec.ExtendedResourceName != nil {
		names = append(names, v1.ResourceName(*class.Spec.ExtendedResourceName))
	}
	return names
}

// renamed puts the new node's name into a name, in the place of the other's or before it.
func renamed(name string, node, like *v1.Node) string {
	if strings.Contains(name, like.Name) {
		return strings.ReplaceAll(name, like.Name, node.Name)
	}
	return node.Name + "-" + name
}
