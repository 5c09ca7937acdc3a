package explain

import (
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Changes of what a node offers: pods, huge pages, ephemeral storage and extended resources are settings of its kubelet or of a device plugin.

// mostPods is the largest number of pods of a node that is tried. Kubernetes is tested with 110, and providers go up to 250.
const mostPods = 250

// offerMore returns the attempts that let a node offer more of a resource that is short and that is a setting of the node.
func (p *pendingPod) offerMore() []attempt {
	if p.member != nil || p.refusalUnclear() || !p.refusedBy("NodeResourcesFit") {
		return nil
	}
	asks := resourcehelper.PodRequests(p.pod, resourcehelper.PodResourcesOptions{})
	asks[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	var attempts []attempt
	for _, name := range p.settableResources() {
		asked, hasRoom := asks[name], p.occupancy.HasRoomFor(p.pod)
		nodes := list.Where(p.settableNodes(), func(node *v1.Node) bool {
			more := node.DeepCopy()
			if more.Status.Allocatable == nil {
				more.Status.Allocatable = v1.ResourceList{}
			}
			more.Status.Allocatable[name] = *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
			return hasRoom(more)
		})
		if v1helper.IsExtendedResourceName(name) {
			nodes = likelyHosts(nodes, name)
		}
		var all []candidate
		for _, node := range nodes[:min(len(nodes), maxPerDomain)] {
			for _, pods := range slices.Compact([]int64{int64(len(p.crewsBefore[p.owner].Waiting)), 1}) {
				now := node.Status.Allocatable[name]
				wanted := now.DeepCopy()
				wanted.Sub(p.occupancy.MostFree(name, []*v1.Node{node}))
				more := asked.DeepCopy()
				if !more.Mul(pods) {
					continue
				}
				if wanted.Add(more); name != v1.ResourcePods || wanted.Value() <= mostPods {
					all = append(all, offer(node, name, now, wanted))
				}
			}
		}
		if started := p.startPlugin(name, all); started != nil {
			all = started
		}
		attempts = append(attempts, p.attemptFirst(all)...)
	}
	return attempts
}

// settableResources returns the resources that are short and that somebody can set on a node. Who buys no hardware cannot set more CPU and memory,
// nor more ephemeral storage or devices on a node that has some.
func (p *pendingPod) settableResources() []v1.ResourceName {
	var all []v1.ResourceName
	for _, name := range p.shortResources() {
		none := !slices.ContainsFunc(p.nodes, func(node *v1.Node) bool { return offers(node, name) }) && len(cause.SimilarResources(name, p.nodes)) == 0
		switch {
		case v1helper.IsHugePageResourceName(name), none && (name == v1.ResourceEphemeralStorage || v1helper.IsExtendedResourceName(name)):
			all = append(all, name)
		}
	}
	if slices.ContainsFunc(p.pending.Reasons, func(r placement.Reason) bool { return r.Message == "Too many pods" }) {
		all = append(all, v1.ResourcePods)
	}
	return all
}

// settableNodes returns the nodes that match the pod; of a DaemonSet's pod its own.
func (p *pendingPod) settableNodes() []*v1.Node {
	if p.owner.Kind == "DaemonSet" {
		return p.nodes
	}
	return p.matchingOpenNodes()
}

// offers reports whether the node has some of the resource.
func offers(node *v1.Node, name v1.ResourceName) bool {
	amount := node.Status.Allocatable[name]
	return !amount.IsZero()
}

// offer returns the change with which the node offers the amount. A kubelet reports what it offers, so that kubectl cannot make the change.
func offer(node *v1.Node, name v1.ResourceName, now, wanted resource.Quantity) candidate {
	of := fmt.Sprintf("%s %s on node %s (now %s)", wanted.String(), name, node.Name, now.String())
	var says string
	switch {
	case name == v1.ResourcePods:
		says = fmt.Sprintf("let node %s take %s pods (now %s), by maxPods of its kubelet", node.Name, wanted.String(), now.String())
	case v1helper.IsHugePageResourceName(name):
		says = "reserve " + of + ", and restart its kubelet"
	case name == v1.ResourceEphemeralStorage:
		says = "have the kubelet report " + of
	default:
		says = "have a device plugin report " + of
	}
	capacity := map[string]any{string(name): wanted.String()}
	allocatable := maps.Clone(capacity)
	if v1helper.IsHugePageResourceName(name) { // a kubelet takes them from the memory
		memory := node.Status.Allocatable.Memory().DeepCopy()
		memory.Sub(wanted)
		memory.Add(now)
		allocatable[string(v1.ResourceMemory)] = memory.String()
	}
	return candidate{change: says, steps: []scenario.Step{action.Merge(scenario.Target{Target: "node/" + node.Name},
		map[string]any{"status": map[string]any{"allocatable": allocatable, "capacity": capacity}})}}
}
