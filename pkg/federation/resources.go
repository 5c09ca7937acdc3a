package federation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources sums up the requests of pods as Karmada does: CPU in thousandths, all others in units.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/resource.go
type Resources map[v1.ResourceName]int64

// AddPod adds the requests of a pod's containers. Then it raises the sum to the request of each init container, restartable or not, that
// exceeds it, and adds the pod's overhead. Karmada ignores pod-level requests. In a sum over several pods, AddPod compares an init
// container with the sum of all pods so far, so that it hardly counts.
func (r Resources) AddPod(spec *v1.PodSpec) {
	for i := range spec.Containers {
		r.addRequests(requests(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		for name, quantity := range requests(&spec.InitContainers[i]) {
			r[name] = max(r[name], amount(name, quantity))
		}
	}
	r.addRequests(spec.Overhead)
}

func (r Resources) addRequests(list v1.ResourceList) {
	for name, quantity := range list {
		r[name] += amount(name, quantity)
	}
}

// List returns the resources that are not zero, or nil if there are none.
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

// requests returns the container's requests. A limit replaces a missing request, because nobody defaults the requests of templates.
func requests(c *v1.Container) v1.ResourceList {
	asked := maps.Clone(c.Resources.Limits)
	if asked == nil {
		return c.Resources.Requests
	}
	maps.Copy(asked, c.Resources.Requests)
	return asked
}

// amount returns the quantity in Karmada's units: CPU in thousandths, all others in units.
func amount(name v1.ResourceName, quantity resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

// SetReplicas sets the template's replicas, each a pod with the spec. Karmada counts a template's replicas only if it has some, or if they
// request resources or select nodes. It treats any other template as an object without replicas, and propagates it to every selected
// cluster.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/binding.go, GenerateReplicaRequirements
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/work/v1alpha2/binding_types_helper.go, IsWorkload
func (t *Template) SetReplicas(replicas int32, spec *v1.PodSpec) {
	asked := Resources{}
	asked.AddPod(spec)
	t.Replicas, t.Requests = replicas, asked.List()
	t.Workload = replicas > 0 || t.Requests != nil || claimsNodes(spec)
}

// claimsNodes reports whether the pod selects nodes.
func claimsNodes(spec *v1.PodSpec) bool {
	affinity := spec.Affinity
	return len(spec.NodeSelector) > 0 || len(spec.Tolerations) > 0 ||
		affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}
