package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
)

// Headroom says where the free part of a resource is: CPU in cores, memory in bytes, others in their own unit.
type Headroom struct {
	Resource v1.ResourceName `json:"resource"`
	// Allocatable is the sum over all nodes, Requested what the pods on them request, and Free the sum of the free amounts of the nodes, of
	// which none is negative.
	Allocatable float64 `json:"allocatable"`
	Requested   float64 `json:"requested"`
	Free        float64 `json:"free"`
	// Used is the part of Free that the further replicas take that still fit.
	Used float64 `json:"used"`
	// TooSmall, OtherShort and Refused are the rest of Free, on nodes that reject the next pod: because they lack this resource, because
	// they lack another, or because of a rule, a taint or something else.
	TooSmall   float64 `json:"tooSmall"`
	OtherShort float64 `json:"otherShort"`
	Refused    float64 `json:"refused"`
}

// Pod is the largest pod, by one resource, that fits on some node that takes pods without tolerations.
type Pod struct {
	// By is the resource.
	By   v1.ResourceName `json:"by" jsonschema:"enum=cpu,enum=memory"`
	Node string          `json:"node"`
	// CPU is in cores, Memory in bytes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
}

// amounts are quantities by resource: CPU in thousandths of a core, memory in bytes, others in their own unit.
type amounts map[v1.ResourceName]int64

func (a amounts) addQuantities(list v1.ResourceList, sign int64) {
	for name, quantity := range list {
		a[name] += sign * quantityAmount(name, quantity)
	}
}

func quantityAmount(name v1.ResourceName, quantity resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func requests(pod *v1.Pod) v1.ResourceList {
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	list = maps.Clone(list)
	if list == nil {
		list = v1.ResourceList{}
	}
	list[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return list
}

// freeResources returns the free resources of each node, and the sum of what the pods request.
func freeResources(state *cluster.State) (spare map[string]amounts, requested amounts) {
	spare, requested = make(map[string]amounts, len(state.Nodes)), amounts{}
	for _, node := range state.Nodes {
		spare[node.Name] = amounts{}
		spare[node.Name].addQuantities(node.Status.Allocatable, 1)
	}
	for _, pod := range state.Pods {
		if on := spare[pod.Spec.NodeName]; on != nil && !cluster.IsTerminal(pod) {
			asks := requests(pod)
			on.addQuantities(asks, -1)
			requested.addQuantities(asks, 1)
		}
	}
	return spare, requested
}

// computeHeadroom compares the present cluster with the full one. cycle has each node's verdict on the next pod; without it, the rest of Free is
// not divided. Resources that nobody requests are left out.
func computeHeadroom(now, full *cluster.State, cycle *placement.Cycle) []Headroom {
	spare, requested := freeResources(now)
	total := amounts{}
	for _, node := range now.Nodes {
		total.addQuantities(node.Status.Allocatable, 1)
	}
	after, _ := freeResources(full)
	short := shortages(cycle)
	var all []Headroom
	for _, name := range resourceNames(total) {
		var free, unused, tooSmall, otherShort, refused int64
		for _, node := range now.Nodes {
			free += max(0, spare[node.Name][name])
			rest := max(0, after[node.Name][name])
			unused += rest
			switch lacks, known := short[node.Name]; {
			case cycle == nil:
			case !known:
				refused += rest
			case slices.Contains(lacks, name):
				tooSmall += rest
			default:
				otherShort += rest
			}
		}
		if requested[name] == 0 && free == unused && !slices.Contains(reportedResources, name) {
			continue // nobody requests it
		}
		in := func(amount int64) float64 { return inUnits(name, amount) }
		all = append(all, Headroom{
			Resource: name, Allocatable: in(total[name]), Requested: in(requested[name]), Free: in(free), Used: in(free - unused),
			TooSmall: in(tooSmall), OtherShort: in(otherShort), Refused: in(refused),
		})
	}
	return all
}

// inUnits returns the amount of a resource in the unit that people use: CPU in cores, not thousandths.
func inUnits(name v1.ResourceName, amount int64) float64 {
	if name == v1.ResourceCPU {
		return float64(amount) / 1000
	}
	return float64(amount)
}

// shortages returns the resources that each node lacks for the pod. Nodes that reject the pod for another reason are missing.
func shortages(cycle *placement.Cycle) map[string][]v1.ResourceName {
	short := map[string][]v1.ResourceName{}
	if cycle == nil {
		return short
	}
	for _, refusal := range cycle.Refusals {
		if refusal.Plugin != "NodeResourcesFit" {
			continue
		}
		var lacks []v1.ResourceName
		for word := range strings.SplitSeq(refusal.Message, ", ") {
			if name, found := strings.CutPrefix(word, insufficient); found {
				lacks = append(lacks, v1.ResourceName(name))
			} else if strings.HasPrefix(word, "Too many pods") {
				lacks = append(lacks, v1.ResourcePods)
			}
		}
		for _, node := range refusal.Nodes {
			short[node] = lacks
		}
	}
	return short
}

// reportedResources are the resources that are always reported.
var reportedResources = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods}

// resourceNames returns the resources of the nodes: cpu, memory and pods, then others by name.
func resourceNames(total amounts) []v1.ResourceName {
	position := func(name v1.ResourceName) int {
		if i := slices.Index(reportedResources, name); i >= 0 {
			return i
		}
		return len(reportedResources)
	}
	var names []v1.ResourceName
	for name, amount := range total {
		if amount > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b v1.ResourceName) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(a, b))
	})
	return names
}

// LargestPods returns the pod that fits on the node with the most free CPU, and the pod that fits on the node with the most free memory,
// among the nodes that accept another pod.
func LargestPods(state *cluster.State) []Pod {
	spare, _ := freeResources(state)
	var found []Pod
	for _, by := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		var best *Pod
		for _, node := range state.Nodes {
			has := spare[node.Name]
			if node.Spec.Unschedulable || cluster.Repels(node, &v1.Pod{}) || has[v1.ResourcePods] < 1 || has[by] <= 0 {
				continue
			}
			if best == nil || has[by] > spare[best.Node][by] {
				best = &Pod{By: by, Node: node.Name, CPU: inUnits(v1.ResourceCPU, max(0, has[v1.ResourceCPU])), Memory: max(0, has[v1.ResourceMemory])}
			}
		}
		if best != nil {
			found = append(found, *best)
		}
	}
	return found
}

// ceiling returns the number of units that the resources allow: node by node for a single workload, in total for a mix.
func (p *prober) ceiling() int {
	spare, _ := freeResources(p.state)
	unit := p.unitRequests()
	sum, total := int64(0), amounts{}
	for _, has := range spare {
		sum += int64(has.hold(unit, p.maxUnits()))
		for name, n := range has {
			total[name] += max(0, n)
		}
	}
	if p.podsPerUnit() > 1 {
		sum = int64(total.hold(unit, p.maxUnits()))
	}
	return int(min(sum, int64(p.maxUnits())))
}

// unitRequests returns what a unit of the mix requests.
func (p *prober) unitRequests() amounts {
	unit := amounts{}
	for _, share := range p.mix {
		for name, n := range p.podRequests(share.Ref) {
			unit[name] += n * int64(share.Proportion)
		}
	}
	return unit
}

// hold returns how many units the amounts hold, at most limit.
func (a amounts) hold(unit amounts, limit int) int {
	most := int64(limit)
	for name, n := range unit {
		if n > 0 {
			most = min(most, max(0, a[name])/n)
		}
	}
	return int(most)
}

// estimateSurviving estimates how many of that many units fit if any domain of the level may fail. It scales units by the worst ratio of room after
// the loss of a domain to room now. The room after a loss is the free resources of the other domains, less the requests of the lost pods.
func (p *prober) estimateSurviving(units int, level string) int {
	spare, _ := freeResources(p.state)
	all, gone := amounts{}, map[string]amounts{} // gone by domain: the free resources that are lost with it, and the requests of the pods that move
	domainOf := map[string]string{}
	for _, node := range p.state.Nodes {
		domain, _ := topology.Value(node.Labels, level)
		domainOf[node.Name] = domain
		if gone[domain] == nil {
			gone[domain] = amounts{}
		}
		for name, n := range spare[node.Name] {
			all[name] += max(0, n)
			gone[domain][name] += max(0, n)
		}
	}
	for _, pod := range p.state.Pods {
		if domain, bound := domainOf[pod.Spec.NodeName]; bound && !cluster.IsTerminal(pod) && !variant.FollowsNodes(pod) {
			gone[domain].addQuantities(requests(pod), 1)
		}
	}
	unit := p.unitRequests()
	whole := all.hold(unit, math.MaxInt)
	fewest := whole
	for _, lost := range gone {
		rest := maps.Clone(all)
		for name, n := range lost {
			rest[name] -= n
		}
		fewest = min(fewest, rest.hold(unit, math.MaxInt))
	}
	return int(float64(units) * float64(fewest) / float64(max(1, whole)))
}

// maxUnits returns the largest count that the search tries: one unit per pod that the nodes accept, no more units than the bound of the search,
// and no more pods than the scenario allows.
func (p *prober) maxUnits() int {
	most := int64(1)
	for _, node := range p.state.Nodes {
		most += node.Status.Allocatable.Pods().Value()
	}
	// the checks try up to two units more
	room := (p.scenario.MaxPods-len(p.state.Pods))/p.podsPerUnit() - 2
	if p.unitLimit > 0 {
		most = min(most, int64(p.unitLimit))
	}
	return int(max(1, min(most, 1<<20, int64(room))))
}

// podRequests returns what a pod of the workload requests.
func (p *prober) podRequests(owner cluster.Ref) amounts {
	asks := amounts{v1.ResourcePods: 1}
	for _, obj := range p.state.Objects() {
		if cluster.RefTo(obj) == owner {
			asks = amounts{}
			asks.addQuantities(requests(p.state.PodOf(obj)), 1)
		}
	}
	return asks
}
