package topology

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Catalogue lists the available types of nodes, from which the cheapest mix is found.
type Catalogue struct {
	// Types are the types, at least one.
	Types []NodeType `json:"types"`
}

// NodeType is a type of nodes, such as a cloud's instance type.
type NodeType struct {
	// Name is the value of the label node.kubernetes.io/instance-type on its nodes.
	Name string `json:"name"`
	// CPU of a node.
	CPU Quantity `json:"cpu"`
	// Memory of a node.
	Memory Quantity `json:"memory"`
	// Pods is the number of pods that a node can hold. Default: that of the nodes that it replaces.
	Pods Quantity `json:"pods,omitempty"`
	// Zones are the zones in which the type is available. Default: all.
	Zones []string `json:"zones,omitempty"`
	// PricePerHour is the price of a node per hour, in any currency, 0 or more.
	PricePerHour *float64 `json:"pricePerHour"`
}

// FindType returns the type with that name, or nil if there is none.
func (c *Catalogue) FindType(name string) *NodeType {
	if c == nil {
		return nil
	}
	for i := range c.Types {
		if c.Types[i].Name == name {
			return &c.Types[i]
		}
	}
	return nil
}

// Size returns the cpu, the memory and, if it is given, the number of pods of a node. The errors have fields below the path.
func (t *NodeType) Size(path *field.Path) (v1.ResourceList, field.ErrorList) {
	b := newBuilder(1)
	size := b.parseResources(&NodeGroup{CPU: t.CPU, Memory: t.Memory, Pods: t.Pods}, path)
	maps.DeleteFunc(size, func(name v1.ResourceName, _ resource.Quantity) bool {
		return name != v1.ResourceCPU && name != v1.ResourceMemory && (name != v1.ResourcePods || t.Pods == "")
	})
	return size, b.errs
}

// Validate returns all problems of the catalogue.
func (c *Catalogue) Validate() field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("types")
	if len(c.Types) == 0 {
		errs = append(errs, field.Required(path, "list at least one type of nodes, with name, cpu, memory and pricePerHour"))
	}
	for i := range c.Types {
		t, path := &c.Types[i], path.Index(i)
		if t.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), "the name of the type, such as m5.xlarge"))
		} else if slices.ContainsFunc(c.Types[:i], func(other NodeType) bool { return other.Name == t.Name }) {
			errs = append(errs, field.Duplicate(path.Child("name"), t.Name))
		}
		if t.CPU == "" {
			errs = append(errs, field.Required(path.Child("cpu"), "the cpu of a node, such as 4"))
		}
		if t.Memory == "" {
			errs = append(errs, field.Required(path.Child("memory"), "the memory of a node, such as 16Gi"))
		}
		if t.PricePerHour == nil {
			errs = append(errs, field.Required(path.Child("pricePerHour"), "what a node costs in an hour, such as 0.192; the cheapest mix cannot be found without"))
		} else if *t.PricePerHour < 0 {
			errs = append(errs, field.Invalid(path.Child("pricePerHour"), *t.PricePerHour, "must be 0 or more"))
		}
		_, invalid := t.Size(path)
		errs = append(errs, invalid...)
	}
	return errs
}

// Resize gives a node another size. The part of its capacity that is reserved, and so not allocatable, stays reserved: a node with 4 CPUs,
// of which 3.5 are allocatable, has 7.5 allocatable CPUs of 8.
func Resize(node *v1.Node, size v1.ResourceList) {
	for name, quantity := range size {
		left := quantity.DeepCopy()
		if capacity, has := node.Status.Capacity[name]; has {
			left.Sub(capacity)
			left.Add(node.Status.Allocatable[name])
			node.Status.Capacity[name] = quantity
		}
		if left.Sign() < 0 {
			left.Set(0)
		}
		node.Status.Allocatable[name] = left
	}
}
