package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Devices are a number of equal devices on a node.
type Devices struct {
	// Class is the name of the devices' driver, and of the DeviceClass of all its devices, such as gpu.example.com. The class is made
	// unless the input has one of this name.
	Class string `json:"class"`
	// Count is the number of these devices on each node. The default is 1.
	Count *int `json:"count,omitempty"`
	// Attributes of each device, such as model: a100, for the expressions of classes and claims.
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	// Capacity of each device, such as memory: 80Gi.
	Capacity map[string]Quantity `json:"capacity,omitempty"`
}

// Attribute is the value of an attribute: a string, a whole number, true or false.
type Attribute any

// maxDevices bounds the number of devices in a group on a node. No known driver has that many.
const maxDevices = 1024

// SyntheticCluster is a synthetic cluster: its nodes, a device class for each driver, and the ResourceSlices that the drivers publish. Each node and
// driver has one pool, named after the node, in as many slices as necessary. The name of a device is the first part of its driver's name,
// and a number from 0.
type SyntheticCluster struct {
	Nodes   []*v1.Node
	Classes []*resourcev1.DeviceClass
	Slices  []*resourcev1.ResourceSlice
}

// BuildCluster builds the whole cluster, or returns all problems of the spec. The path is the spec's path in its file.
func BuildCluster(spec *Spec, path *field.Path) (*SyntheticCluster, field.ErrorList) {
	b, errs := build(spec, path, maxNodes)
	if len(errs) > 0 {
		return nil, errs
	}
	made := &SyntheticCluster{Nodes: b.nodes, Slices: b.slices}
	known := map[string]bool{}
	for _, slice := range b.slices {
		if driver := slice.Spec.Driver; !known[driver] {
			known[driver] = true
			made.Classes = append(made.Classes, newDeviceClass(driver))
		}
	}
	return made, nil
}

// newDeviceClass returns the class of all devices of the driver.
func newDeviceClass(driver string) *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "DeviceClass"},
		ObjectMeta: metav1.ObjectMeta{Name: driver},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)},
		}}},
	}
}

// addSlices adds the slices of the group's devices on a node.
func (b *builder) addSlices(g *NodeGroup, node *v1.Node) {
	var drivers []string
	pools := map[string][]resourcev1.Device{}
	for i := range g.Devices {
		d := &g.Devices[i]
		if len(pools[d.Class]) == 0 {
			drivers = append(drivers, d.Class)
		}
		kind, _, _ := strings.Cut(d.Class, ".")
		for range validCount(d.Count, maxDevices) {
			device := b.devices[d]
			device.Name = fmt.Sprintf("%s-%d", kind, len(pools[d.Class]))
			pools[d.Class] = append(pools[d.Class], device)
		}
	}
	for _, driver := range drivers {
		parts := slices.Collect(slices.Chunk(pools[driver], resourcev1.ResourceSliceMaxDevices))
		for i, devices := range parts {
			name := node.Name + "-" + driver
			if i > 0 {
				name = fmt.Sprintf("%s-%d", name, i+1)
			}
			b.slices = append(b.slices, &resourcev1.ResourceSlice{
				TypeMeta:   metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "ResourceSlice"},
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: resourcev1.ResourceSliceSpec{
					Driver:   driver,
					NodeName: &node.Name,
					Pool:     resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: int64(len(parts))},
					Devices:  devices,
				},
			})
		}
	}
}

// checkDevices checks the devices of a group, and prepares one of each kind.
func (b *builder) checkDevices(all []Devices, path *field.Path) {
	for i := range all {
		d, path := &all[i], path.Index(i)
		switch problems := validation.IsDNS1123Subdomain(d.Class); {
		case d.Class == "":
			b.reportError(field.Required(path.Child("class"), "the name of their driver and class, such as gpu.example.com"))
		case len(problems) > 0:
			b.reportError(field.Invalid(path.Child("class"), d.Class, strings.Join(problems, "; ")))
		case len(d.Class) > resourcev1.DriverNameMaxLength:
			b.reportError(field.TooLong(path.Child("class"), d.Class, resourcev1.DriverNameMaxLength))
		}
		if d.Count != nil && (*d.Count < 1 || *d.Count > maxDevices) {
			b.reportError(field.Invalid(path.Child("count"), *d.Count, fmt.Sprintf("must be from 1 to %d", maxDevices)))
		}
		if n := len(d.Attributes) + len(d.Capacity); n > resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice {
			b.reportError(field.TooMany(path, n, resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice))
		}
		b.devices[d] = resourcev1.Device{
			Attributes: b.parseAttributes(d.Attributes, path.Child("attributes")),
			Capacity:   b.parseCapacity(d.Capacity, path.Child("capacity")),
		}
	}
}

func (b *builder) parseAttributes(given map[string]Attribute, path *field.Path) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	made := make(map[resourcev1.QualifiedName]resourcev1.DeviceAttribute, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path := path.Key(name)
		b.checkDeviceKey(name, path)
		var attribute resourcev1.DeviceAttribute
		switch value := given[name].(type) {
		case string:
			if len(value) > resourcev1.DeviceAttributeMaxValueLength {
				b.reportError(field.TooLong(path, value, resourcev1.DeviceAttributeMaxValueLength))
			}
			attribute.StringValue = &value
		case bool:
			attribute.BoolValue = &value
		case int64:
			attribute.IntValue = &value
		case float64:
			whole := int64(value)
			if float64(whole) != value {
				b.reportError(field.Invalid(path, value, "must be a string, a whole number, true or false"))
			}
			attribute.IntValue = &whole
		default:
			b.reportError(field.Invalid(path, value, "must be a string, a whole number, true or false"))
		}
		made[resourcev1.QualifiedName(name)] = attribute
	}
	return made
}

func (b *builder) parseCapacity(given map[string]Quantity, path *field.Path) map[resourcev1.QualifiedName]resourcev1.DeviceCapacity {
	made := make(map[resourcev1.QualifiedName]resourcev1.DeviceCapacity, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path := path.Key(name)
		b.checkDeviceKey(name, path)
		if astronomic.MatchString(string(given[name])) {
			b.reportError(field.Invalid(path, string(given[name]), "is out of range"))
			continue
		}
		value, err := resource.ParseQuantity(string(given[name]))
		if err != nil {
			b.reportError(field.Invalid(path, string(given[name]), "must be a quantity such as 4, 500m or 16Gi"))
		}
		made[resourcev1.QualifiedName(name)] = resourcev1.DeviceCapacity{Value: value}
	}
	return made
}

// checkDeviceKey checks the name of an attribute or a capacity, as validateQualifiedName does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/apis/resource/validation/validation.go.
func (b *builder) checkDeviceKey(name string, path *field.Path) {
	domain, id, qualified := strings.Cut(name, "/")
	if !qualified {
		domain, id = "", name
	}
	problems := validation.IsCIdentifier(id)
	if qualified {
		problems = append(problems, validation.IsDNS1123Subdomain(domain)...)
	}
	switch {
	case len(problems) > 0:
		b.reportError(field.Invalid(path, name, "must be a name such as memory, or with a domain, example.com/memory: "+strings.Join(problems, "; ")))
	case len(id) > resourcev1.DeviceMaxIDLength:
		b.reportError(field.TooLong(path, id, resourcev1.DeviceMaxIDLength))
	case len(domain) > resourcev1.DeviceMaxDomainLength:
		b.reportError(field.TooLong(path, domain, resourcev1.DeviceMaxDomainLength))
	}
}
