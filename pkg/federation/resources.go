package federation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources add up what pods ask for as Karmada does: CPU in thousandths, all others in units.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/resource.go
type Resources map[v1.ResourceName]int64

// AddPod adds what a pod's containers ask for, then what its init containers do, restartable or not, where that is more than the sum so far,
// then the pod's overhead. Karmada does not read what the pod asks for as a whole. A sum over several pods has them all in it when an init
// container is compared, so such a container hardly counts there.
func (r Resources) AddPod(spec *v1.PodSpec) {
	for i := range spec.Containers {
		r.add(requests(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		for name, quantity := range requests(&spec.InitContainers[i]) {
			r[name] = max(r[name], amount(name, quantity))
		}
	}
	r.add(spec.Overhead)
}

func (r Resources) add(list v1.ResourceList) {
	for name, quantity := range list {
		r[name] += amount(name, quantity)
	}
}

// List returns the resources without those that nobody asks for; nil if there are none.
func (r Resources) List() v1.ResourceList {
	var list v1.ResourceList
	for name, n := range r {
		if n <= 0 {
			continue
		}
		if list == nil {
			list = v1.ResourceList{}
		}
		if name == v1.ResourceCPU {
			list[name] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		} else {
			list[name] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return list
}

// requests are those of a container. A limit stands for a request that is missing, which in templates nobody sets.
func requests(c *v1.Container) v1.ResourceList {
	asked := maps.Clone(c.Resources.Limits)
	if asked == nil {
		return c.Resources.Requests
	}
	maps.Copy(asked, c.Resources.Requests)
	return asked
}

func amount(name v1.ResourceName, quantity resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

// Count gives the template its replicas, of which each is a pod of the spec. Karmada counts the replicas of a template only if it has some, or
// if they ask for resources or for certain nodes; any other it takes for an object that has none at all, which goes to every selected cluster.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/binding.go, GenerateReplicaRequirements
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/work/v1alpha2/binding_types_helper.go, IsWorkload
func (t *Template) Count(replicas int32, spec *v1.PodSpec) {
	asked := Resources{}
	asked.AddPod(spec)
	t.Replicas, t.Requests = replicas, asked.List()
	t.Workload = replicas > 0 || t.Requests != nil || claimsNodes(spec)
}

// claimsNodes reports whether the pod asks for certain nodes.
func claimsNodes(spec *v1.PodSpec) bool {
	affinity := spec.Affinity
	return len(spec.NodeSelector) > 0 || len(spec.Tolerations) > 0 ||
		affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}
