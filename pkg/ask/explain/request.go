package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

const mebi = 1 << 20

// requestingPart is a part of a pod that requests a resource: a container, an init container, a sidecar, or the pod itself.
type requestingPart struct {
	name      string // in a sentence, such as "in sidecar proxy"
	resources func(*v1.PodSpec) *v1.ResourceRequirements
	now       resource.Quantity
	least     int64 // the smallest request to try, in units
}

// requestLess returns the attempts that find, for each resource that is short and for each part that requests it, how much the part can
// request.
func (p *pendingPod) requestLess() []attempt {
	if p.spec == nil || p.fromCustomResource || !p.refusedBy("NodeResourcesFit", "DynamicResources") {
		return nil
	}
	var attempts []attempt
	for _, name := range p.shortResources() {
		unit := unitOf(name)
		parts := append(p.requestingParts(name, unit), p.defaultedParts(name)...)
		for _, part := range parts[:min(len(parts), maxPerDomain)] {
			word := string(name)
			if name == v1.ResourceCPU {
				word = "CPU"
			}
			now := unit.amount(part.now)
			if now <= part.least {
				continue
			}
			attempts = append(attempts, p.mostNear("request less "+word+part.name, part.least, now, now-p.excess(name, unit), func(amount int64) candidate {
				quantity := unit.quantity(amount)
				return candidate{
					change: fmt.Sprintf("request at most %s %s%s (now %s)", quantity.String(), word, part.name, part.now.String()),
					edit:   func(spec *v1.PodSpec) { lowerRequest(part.resources(spec), name, quantity) },
				}
			}))
		}
	}
	return attempts
}

// askForSimilar returns the attempts that ask for a resource that nodes have, in place of one that no node has: an extended resource of a similar name, since
// one of both names is a mistake, or one of the same vendor, or huge pages of another size.
func (p *pendingPod) askForSimilar() []attempt {
	if p.spec == nil || p.fromCustomResource || p.refusalUnclear() || !p.refusedBy("NodeResourcesFit") {
		return nil
	}
	var attempts []attempt
	for _, name := range p.shortResources() {
		if slices.ContainsFunc(p.nodes, func(node *v1.Node) bool { return offers(node, name) }) {
			continue
		}
		others, price := cause.SimilarResources(name, p.nodes), []string(nil)
		if len(others) == 0 || !v1helper.IsExtendedResourceName(name) {
			others, price = cause.RelatedResources(name, p.nodes), []string{"its containers have to work with these"}
		}
		all := list.Map(others[:min(len(others), maxPerDomain)], func(other v1.ResourceName) candidate {
			return candidate{change: fmt.Sprintf("ask for %s in place of %s", other, name), price: price, edit: func(spec *v1.PodSpec) { renameResource(spec, name, other) }}
		})
		attempts = append(attempts, p.attemptFirst(all)...)
	}
	return attempts
}

// renameResource lets the pod's containers ask for the other resource: as much of it or, of huge pages, as many pages as hold as much. Volumes of huge
// pages of the one size become volumes of the other.
func renameResource(spec *v1.PodSpec, name, other v1.ResourceName) {
	unit := unitOf(other)
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, amounts := range []v1.ResourceList{containers[i].Resources.Requests, containers[i].Resources.Limits} {
				if amount, given := amounts[name]; given {
					delete(amounts, name)
					amounts[other] = unit.quantity(unit.amount(amount))
				}
			}
		}
	}
	medium := func(name v1.ResourceName) v1.StorageMedium {
		return v1.StorageMediumHugePagesPrefix + v1.StorageMedium(strings.TrimPrefix(string(name), v1.ResourceHugePagesPrefix))
	}
	for i := range spec.Volumes {
		if dir := spec.Volumes[i].EmptyDir; dir != nil && v1helper.IsHugePageResourceName(name) && dir.Medium == medium(name) {
			dir.Medium = medium(other)
		}
	}
}

// excess is by how much the pod requests more of the resource than any node that it wants has free.
func (p *pendingPod) excess(name v1.ResourceName, unit unit) int64 {
	over := resourcehelper.PodRequests(p.pod, resourcehelper.PodResourcesOptions{})[name]
	over.Sub(p.occupancy.MostFree(name, p.matchingOpenNodes()))
	return unit.amount(over)
}

// shortResources returns the resources that are short on nodes; CPU and memory if the refusal does not say.
func (p *pendingPod) shortResources() []v1.ResourceName {
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	if p.refusalUnclear() {
		return names
	}
	for _, r := range p.pending.Reasons {
		name, insufficient := strings.CutPrefix(r.Message, "Insufficient ")
		if insufficient && !slices.Contains(names, v1.ResourceName(name)) {
			names = append(names, v1.ResourceName(name))
		}
	}
	names = slices.DeleteFunc(names, func(name v1.ResourceName) bool { return !p.lacksResource(name) })
	if !p.refusedBy("DynamicResources") {
		return names
	}
	for _, name := range slices.Sorted(maps.Keys(resourcehelper.PodRequests(p.pod, resourcehelper.PodResourcesOptions{}))) {
		if cause.ClassOf(p.step.State, name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// unit is the step by which a request is reduced.
type unit struct {
	amount   func(resource.Quantity) int64 // rounded up
	quantity func(int64) resource.Quantity
}

// unitOf returns the unit of the resource: 1m for CPU, 1Mi for resources in bytes, a page for huge pages, and 1 for anything else.
func unitOf(name v1.ResourceName) unit {
	switch {
	case name == v1.ResourceCPU:
		return unit{func(q resource.Quantity) int64 { return q.MilliValue() },
			func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }}
	case name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage:
		return bytesIn(mebi)
	case v1helper.IsHugePageResourceName(name):
		if page, err := v1helper.HugePageSizeFromResourceName(name); err == nil && page.Sign() > 0 {
			return bytesIn(page.Value())
		}
	}
	return unit{func(q resource.Quantity) int64 { return q.Value() },
		func(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }}
}

// bytesIn returns the unit of so many bytes.
func bytesIn(size int64) unit {
	return unit{func(q resource.Quantity) int64 { return (q.Value() + size - 1) / size },
		func(n int64) resource.Quantity { return *resource.NewQuantity(n*size, resource.BinarySI) }}
}

// requestingParts returns the parts that request the resource, the largest request first. A pod-level request counts in place of the containers'
// requests, and is at least their sum. A part can go without a resource that is counted in pieces, such as GPUs, if another part requests
// some.
func (w *stuckWorkload) requestingParts(name v1.ResourceName, unit unit) []requestingPart {
	const least = 1
	if w.spec.Resources != nil {
		if now, given := w.spec.Resources.Requests[name]; given {
			sum := resourcehelper.AggregateContainerRequests(&v1.Pod{Spec: *w.spec}, resourcehelper.PodResourcesOptions{})[name]
			return []requestingPart{{" for the whole pod", func(spec *v1.PodSpec) *v1.ResourceRequirements { return spec.Resources }, now, max(least, unit.amount(sum))}}
		}
	}
	var all []requestingPart
	template := w.templateSpec()
	several := len(w.spec.Containers)+len(w.spec.InitContainers) > 1
	add := func(kind string, i int, list func(*v1.PodSpec) []v1.Container) {
		container := &list(w.spec)[i]
		now := requestOf(&container.Resources, name)
		if now.IsZero() || template != nil && indexOf(list(template), container.Name) < 0 { // a webhook adds it, and the template cannot change it
			return
		}
		words := ""
		if several {
			words = " in " + kind + " " + container.Name
		}
		all = append(all, requestingPart{words, func(spec *v1.PodSpec) *v1.ResourceRequirements {
			containers := list(spec)
			if at := indexOf(containers, container.Name); at >= 0 {
				return &containers[at].Resources
			}
			return nil
		}, now, least})
	}
	for i := range w.spec.Containers {
		add("container", i, func(spec *v1.PodSpec) []v1.Container { return spec.Containers })
	}
	for i := range w.spec.InitContainers {
		kind := "init container"
		if policy := w.spec.InitContainers[i].RestartPolicy; policy != nil && *policy == v1.ContainerRestartPolicyAlways {
			kind = "sidecar"
		}
		add(kind, i, func(spec *v1.PodSpec) []v1.Container { return spec.InitContainers })
	}
	if len(all) > 1 && v1helper.IsExtendedResourceName(name) {
		for i := range all {
			all[i].least = 0
		}
	}
	slices.SortStableFunc(all, func(a, b requestingPart) int { return b.now.Cmp(a.now) })
	return all
}

// templateSpec returns the spec of the pods as the workload has it, without what webhooks add; nil if the workload is not there.
func (w *stuckWorkload) templateSpec() *v1.PodSpec {
	if w.object == nil {
		return nil
	}
	spec, _ := cluster.PodSpec(w.object)
	return spec
}

// indexOf returns the index of the container of that name; -1 if there is none.
func indexOf(containers []v1.Container, name string) int {
	return slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == name })
}

// defaultedParts returns the containers that request the resource although their template does not, since a LimitRange gives them a default.
func (p *pendingPod) defaultedParts(name v1.ResourceName) []requestingPart {
	var all []requestingPart
	for i := range p.spec.Containers {
		if i >= len(p.pod.Spec.Containers) {
			break
		}
		given, now := requestOf(&p.spec.Containers[i].Resources, name), requestOf(&p.pod.Spec.Containers[i].Resources, name)
		if given.IsZero() && !now.IsZero() && p.spec.Resources == nil {
			all = append(all, requestingPart{" in container " + p.spec.Containers[i].Name, func(spec *v1.PodSpec) *v1.ResourceRequirements {
				if at := indexOf(spec.Containers, p.spec.Containers[i].Name); at >= 0 {
					return &spec.Containers[at].Resources
				}
				return nil
			}, now, 1})
		}
	}
	return all
}

// requestOf returns what a pod with these resources requests: its limit, unless a request is given.
func requestOf(of *v1.ResourceRequirements, name v1.ResourceName) resource.Quantity {
	if request, given := of.Requests[name]; given {
		return request
	}
	return of.Limits[name]
}

// lowerRequest lowers the request if it is larger, or sets it where there is none. If the resource cannot be overcommitted, it also lowers the limit.
func lowerRequest(of *v1.ResourceRequirements, name v1.ResourceName, most resource.Quantity) {
	if of == nil {
		return
	}
	if request := requestOf(of, name); !request.IsZero() && request.Cmp(most) <= 0 {
		return
	}
	if of.Requests == nil {
		of.Requests = v1.ResourceList{}
	}
	of.Requests[name] = most
	if _, limited := of.Limits[name]; limited && !v1helper.IsOvercommitAllowed(name) {
		of.Limits[name] = most
	}
}
