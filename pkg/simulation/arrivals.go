package simulation

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// orderArrivals returns the step with the objects of an apply in their order of arrival. With random arrivals the workloads come in an order
// that derives only from the seed and the step's name, so that earlier draws do not change it.
func (r *run) orderArrivals(spec *scenario.LoadedStep) *scenario.LoadedStep {
	if !r.scenario.Ties.Arrivals || spec.Apply == nil {
		return spec
	}
	var others, workloads []cluster.Object
	for _, obj := range spec.Objects {
		if podSpec, _ := cluster.PodSpec(obj); podSpec != nil {
			workloads = append(workloads, obj)
		} else {
			others = append(others, obj)
		}
	}
	name := fnv.New64a()
	name.Write([]byte(spec.Name))
	random := rand.New(rand.NewPCG(r.scenario.Ties.Seed, name.Sum64()))
	random.Shuffle(len(workloads), func(i, j int) { workloads[i], workloads[j] = workloads[j], workloads[i] })
	next := *spec
	next.Objects = append(others, workloads...)
	return &next
}
