package loader

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// noteDevices notes slices whose devices no pod can get, or which take each other's.
func noteDevices(s *scenario.Scenario) (notes []string) {
	nodes := map[string]bool{}
	for _, node := range s.Nodes() {
		nodes[node.Name] = true
	}
	var homeless []string
	type device struct{ driver, pool, name string }
	published := map[device]*resourcev1.ResourceSlice{}
	twice := map[[2]string]bool{}
	for _, obj := range s.Objects() {
		slice, ok := obj.(*resourcev1.ResourceSlice)
		if !ok {
			continue
		}
		if slice.Spec.NodeName != nil && !nodes[*slice.Spec.NodeName] {
			homeless = append(homeless, cluster.RefTo(slice).Describe()+" of node "+*slice.Spec.NodeName)
			continue
		}
		for i := range slice.Spec.Devices {
			id := device{slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name}
			other := published[id]
			published[id] = slice
			if other == nil || other.Name == slice.Name || other.Spec.Pool.Generation != slice.Spec.Pool.Generation || twice[[2]string{other.Name, slice.Name}] {
				continue
			}
			twice[[2]string{other.Name, slice.Name}] = true
			notes = append(notes, fmt.Sprintf("ResourceSlices %s and %s both publish device %s of pool %s of driver %s: to the scheduler it is one device, which only one claim gets; give each node a pool of its own",
				other.Name, slice.Name, id.name, id.pool, id.driver))
		}
	}
	if len(homeless) > 0 {
		notes = append(notes, fmt.Sprintf("no pod can use the devices of %s: there is no such node", words.Few(homeless)))
	}
	return notes
}
