package capacity

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/usage"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/variant"
)

// Usage is how much the pods of a workload request and use, over the pods whose use is known.
type Usage struct {
	cluster.Ref
	// Pods is the number of pods that the figures sum up.
	Pods int `json:"pods"`
	// CPU is in cores, and Memory in bytes.
	CPU    Used `json:"cpu"`
	Memory Used `json:"memory"`
}

// Used is how much of a resource is requested, and how much is used.
type Used struct {
	Requested float64 `json:"requested"`
	Used      float64 `json:"used"`
}

// Unused returns how much is requested and not used; negative if more is used.
func (u Used) Unused() float64 { return u.Requested - u.Used }

// UsageOf sums up what the running pods of the state's workloads request and use. The workload that leaves the most CPU unused comes first.
func UsageOf(state *cluster.State, used usage.Usage) []Usage {
	owner := scaledFor(state)
	position := map[cluster.Ref]int{}
	var all []Usage
	for _, pod := range state.Pods {
		containers := used[usage.Pod{Namespace: pod.Namespace, Name: pod.Name}]
		if len(containers) == 0 || cluster.IsTerminal(pod) || pod.Spec.NodeName == "" {
			continue
		}
		ref := owner(pod)
		i, found := position[ref]
		if !found {
			i = len(all)
			position[ref] = i
			all = append(all, Usage{Ref: ref})
		}
		requested := requests(pod)
		u := &all[i]
		u.Pods++
		u.CPU.Requested += requested.Cpu().AsApproximateFloat64()
		u.Memory.Requested += requested.Memory().AsApproximateFloat64()
		for _, list := range containers {
			u.CPU.Used += list.Cpu().AsApproximateFloat64()
			u.Memory.Used += list.Memory().AsApproximateFloat64()
		}
	}
	slices.SortStableFunc(all, func(a, b Usage) int { return cmp.Compare(b.CPU.Unused(), a.CPU.Unused()) })
	return all
}

// RequestAsUsed returns the scenario with requests equal to use. Each container of a workload requests the most that this container uses in any
// pod of the workload, but no more than its limits. Requests of containers whose use is not known stay. state is a state of the scenario,
// in which the pods run.
func RequestAsUsed(s *scenario.Scenario, state *cluster.State, used usage.Usage) *scenario.Scenario {
	owner := scaledFor(state)
	most := map[cluster.Ref]map[string]v1.ResourceList{}
	var owners []cluster.Ref
	for _, pod := range state.Pods {
		containers := used[usage.Pod{Namespace: pod.Namespace, Name: pod.Name}]
		if len(containers) == 0 {
			continue
		}
		ref := owner(pod)
		if most[ref] == nil {
			most[ref] = map[string]v1.ResourceList{}
			owners = append(owners, ref)
		}
		for container, list := range usagePerContainer(pod, containers) {
			if most[ref][container] == nil {
				most[ref][container] = v1.ResourceList{}
			}
			for name, quantity := range list {
				if before := most[ref][container][name]; quantity.Cmp(before) > 0 {
					most[ref][container][name] = quantity
				}
			}
		}
	}
	for _, ref := range owners {
		s = variant.Edit(s, ref, func(spec *v1.PodSpec) {
			for i := range spec.Containers {
				setRequests(&spec.Containers[i], most[ref][spec.Containers[i].Name])
			}
		})
	}
	return s
}

// setRequests sets the requests of the container, but no higher than its limits.
func setRequests(container *v1.Container, list v1.ResourceList) {
	for name, quantity := range list {
		if limit, limited := container.Resources.Limits[name]; limited && quantity.Cmp(limit) > 0 {
			quantity = limit
		}
		if container.Resources.Requests == nil {
			container.Resources.Requests = v1.ResourceList{}
		}
		container.Resources.Requests[name] = quantity
	}
}

// usagePerContainer returns what each container uses. If only the use of the whole pod is known, it is divided in proportion to the requests.
func usagePerContainer(pod *v1.Pod, used map[string]v1.ResourceList) map[string]v1.ResourceList {
	whole, is := used[""]
	if !is {
		return used
	}
	all := pod.Spec.Containers
	divided := map[string]v1.ResourceList{}
	for i := range all {
		divided[all[i].Name] = v1.ResourceList{}
	}
	for name, quantity := range whole {
		sum := 0.0
		requested := func(i int) float64 {
			of := all[i].Resources.Requests[name]
			return of.AsApproximateFloat64()
		}
		for i := range all {
			sum += requested(i)
		}
		for i := range all {
			part := 1 / float64(len(all))
			if sum > 0 {
				part = requested(i) / sum
			}
			if name == v1.ResourceCPU {
				divided[all[i].Name][name] = *resource.NewMilliQuantity(int64(float64(quantity.MilliValue())*part), resource.DecimalSI)
			} else {
				divided[all[i].Name][name] = *resource.NewQuantity(int64(float64(quantity.Value())*part), resource.BinarySI)
			}
		}
	}
	return divided
}
