package loader

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// noteDevices notes three kinds of devices: devices of a node that does not exist, devices of a pool that the scheduler ignores, and
// devices with the same name in one pool.
func noteDevices(s *scenario.Scenario) (notes []string) {
	nodes := list.KeySet(s.Nodes(), func(node *v1.Node) string { return node.Name })
	pools, homeless := groupDevicePools(s.Objects(), nodes)
	var incomplete, outdated []string
	for _, pool := range pools {
		used := pool.gatherUsage(s.Nodes())
		if used.incomplete != "" {
			incomplete = append(incomplete, used.incomplete)
		}
		for _, slice := range pool.slices {
			if !used.slices[slice] && used.incomplete == "" && slice.Spec.Pool.Generation < pool.newestGeneration() {
				outdated = append(outdated, slice.Name)
			}
		}
		if used.invalid != "" {
			notes = append(notes, used.invalid)
		} else if twice := pool.noteDuplicateDevice(used.slices); twice != "" {
			notes = append(notes, twice)
		}
	}
	if len(incomplete) > 0 {
		notes = append(notes, fmt.Sprintf("no pod can get a device of %s: the scheduler waits until there are as many ResourceSlices as their resourceSliceCount says", words.Few(incomplete)))
	}
	if len(outdated) > 0 {
		notes = append(notes, fmt.Sprintf("the scheduler ignores %s %s: there is a newer generation of their pool", words.Pick(len(outdated), "ResourceSlice", "ResourceSlices"), words.Few(outdated)))
	}
	if len(homeless) > 0 {
		notes = append(notes, fmt.Sprintf("no pod can use the devices of %s: there is no such node", words.Few(homeless)))
	}
	return notes
}

// devicePool is a pool of devices of one driver, with the slices of all its generations.
type devicePool struct {
	driver, name string
	slices       []*resourcev1.ResourceSlice
}

// groupDevicePools returns the pools of the ResourceSlices among the objects, and a description of each slice whose node does not exist. If two
// slices have the same name, the later one counts.
func groupDevicePools(objects []cluster.Object, nodes map[string]bool) (pools []*devicePool, homeless []string) {
	last := map[string]*resourcev1.ResourceSlice{}
	for _, obj := range objects {
		if slice, ok := obj.(*resourcev1.ResourceSlice); ok {
			last[slice.Name] = slice
		}
	}
	known := map[[2]string]*devicePool{}
	for _, obj := range objects {
		slice, ok := obj.(*resourcev1.ResourceSlice)
		if !ok || last[slice.Name] != slice {
			continue
		}
		if slice.Spec.NodeName != nil && !nodes[*slice.Spec.NodeName] {
			homeless = append(homeless, cluster.RefTo(slice).Describe()+" of node "+*slice.Spec.NodeName)
			continue
		}
		id := [2]string{slice.Spec.Driver, slice.Spec.Pool.Name}
		if known[id] == nil {
			known[id] = &devicePool{driver: slice.Spec.Driver, name: slice.Spec.Pool.Name}
			pools = append(pools, known[id])
		}
		known[id].slices = append(known[id].slices, slice)
	}
	return pools, homeless
}

func (p *devicePool) String() string { return fmt.Sprintf("pool %s of driver %s", p.name, p.driver) }

func (p *devicePool) newestGeneration() (generation int64) {
	for _, slice := range p.slices {
		generation = max(generation, slice.Spec.Pool.Generation)
	}
	return generation
}

// poolUsage lists the slices of a pool that the scheduler uses, and the problem of the pool on a node.
type poolUsage struct {
	slices              map[*resourcev1.ResourceSlice]bool
	incomplete, invalid string // the problem on a node; "" if there is none
}

// gatherUsage finds the slices that the scheduler uses. It walks over the nodes as GatherPools does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go,
// which upstream does not export.
func (p *devicePool) gatherUsage(nodes []*v1.Node) poolUsage {
	local := list.KeySet(p.slices, func(slice *resourcev1.ResourceSlice) string { return ptr.Deref(slice.Spec.NodeName, "") })
	if !local[""] { // only these nodes have slices of the pool
		nodes = list.Where(nodes, func(node *v1.Node) bool { return local[node.Name] })
	}
	used := poolUsage{slices: map[*resourcev1.ResourceSlice]bool{}}
	for _, node := range nodes {
		var here []*resourcev1.ResourceSlice // the slices of the newest generation on the node
		for _, slice := range p.slices {
			if !sliceReachesNode(slice, node) || len(here) > 0 && slice.Spec.Pool.Generation < here[0].Spec.Pool.Generation {
				continue
			}
			if len(here) > 0 && slice.Spec.Pool.Generation > here[0].Spec.Pool.Generation {
				here = nil
			}
			here = append(here, slice)
		}
		if len(here) == 0 {
			continue
		}
		if wanted := here[0].Spec.Pool.ResourceSliceCount; int64(len(here)) != wanted {
			generation := here[0].Spec.Pool.Generation
			if generation < p.newestGeneration() {
				continue
			}
			all := list.Count(p.slices, func(slice *resourcev1.ResourceSlice) bool { return slice.Spec.Pool.Generation == generation })
			if int64(all) != wanted {
				used.incomplete = fmt.Sprintf("%s on node %s (%d of %d)", p, node.Name, all, wanted)
				continue
			}
		}
		if one, other, device := findDuplicateDevice(here); device != "" {
			used.invalid = fmt.Sprintf("no pod on node %s gets a device of %s: ResourceSlices %s and %s both publish device %s; give each device a name of its own",
				node.Name, p, one.Name, other.Name, device)
			continue
		}
		for _, slice := range here {
			used.slices[slice] = true
		}
	}
	return used
}

// noteDuplicateDevice returns a note if slices of different nodes publish a device of the same name, and "" otherwise.
func (p *devicePool) noteDuplicateDevice(used map[*resourcev1.ResourceSlice]bool) string {
	one, other, device := findDuplicateDevice(list.Where(p.slices, func(slice *resourcev1.ResourceSlice) bool { return used[slice] }))
	if device == "" {
		return ""
	}
	return fmt.Sprintf("ResourceSlices %s and %s both publish device %s of %s: to the scheduler it is one device, which only one claim gets; give each node a pool of its own",
		one.Name, other.Name, device, p)
}

// findDuplicateDevice returns two slices that publish a device of the same name, and the name; "" if there are none.
func findDuplicateDevice(all []*resourcev1.ResourceSlice) (one, other *resourcev1.ResourceSlice, device string) {
	published := map[string]*resourcev1.ResourceSlice{}
	for _, slice := range all {
		for i := range slice.Spec.Devices {
			name := slice.Spec.Devices[i].Name
			if published[name] != nil {
				return published[name], slice, name
			}
			published[name] = slice
		}
	}
	return nil, nil, ""
}

// sliceReachesNode reports whether the node can use the devices of a slice, or some of them.
func sliceReachesNode(slice *resourcev1.ResourceSlice, node *v1.Node) bool {
	if !ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		return matchesNode(node, slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector)
	}
	return slices.ContainsFunc(slice.Spec.Devices, func(d resourcev1.Device) bool { return matchesNode(node, d.NodeName, d.AllNodes, d.NodeSelector) })
}

// matchesNode reports whether a slice or a device is for the node, by its node name, allNodes or node selector.
func matchesNode(node *v1.Node, name *string, all *bool, selector *v1.NodeSelector) bool {
	switch {
	case ptr.Deref(name, "") != "":
		return *name == node.Name
	case ptr.Deref(all, false):
		return true
	}
	required := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}
	return selector != nil && cluster.Attracts(node, &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: required}}})
}
