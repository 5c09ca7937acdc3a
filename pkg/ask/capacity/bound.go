package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/alike"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/world"
)

// demandKey is the key of a demand: the pods of one workload that the same groups take, and that come back alike.
type demandKey struct {
	owner    cluster.Ref
	groupSet string // the groups that take the pods, as text
	back     comeback
}

// demand is the sum of what the pods of one key request, and the groups that take them.
type demand struct {
	groups []bool
	amounts
}

// roomiest returns a copy of the node with the largest amount of each resource that any node of the group has in the zone.
func (z *ZoneNodes) roomiest(node *v1.Node) *v1.Node {
	most := maps.Clone(node.Status.Allocatable)
	for _, other := range z.Nodes {
		for name, quantity := range other.Status.Allocatable {
			if has := most[name]; has.Cmp(quantity) < 0 {
				most[name] = quantity
			}
		}
	}
	roomy := *node
	roomy.Status.Allocatable = most
	return &roomy
}

// sumDemands finds which groups take each pod of the state when their nodes run only the pods that come with a node, and adds up what the pods
// request. It sets aside the Pending pods that no group takes.
func (z *sizer) sumDemands(ctx context.Context, lacks []lack) error {
	z.agents, z.demands = map[*v1.Node]amounts{}, map[demandKey]*demand{}
	empty := z.emptyState()
	var classes alike.PodClasses
	taken := map[string][]bool{}
	owner, back := z.state.Owners(), z.comebacks()
	var never []lack
	for _, pod := range z.state.Pods {
		if cluster.IsTerminal(pod) || variant.FollowsNodes(pod) {
			continue
		}
		class := classes.Class(pod)
		groups, known := taken[class]
		if !known {
			var err error
			if groups, err = z.findTakingGroups(ctx, empty, pod); err != nil {
				return err
			}
			taken[class] = groups
		}
		if at := slices.IndexFunc(lacks, func(l lack) bool { return l.failure == failure{} && l.owner == owner(pod) }); at >= 0 && pod.Spec.NodeName == "" && !slices.Contains(groups, true) {
			if !slices.ContainsFunc(never, func(l lack) bool { return l.owner == lacks[at].owner }) {
				never = append(never, lacks[at])
			}
			continue
		}
		asks := requests(pod)
		for _, class := range z.state.DeviceClasses {
			for _, name := range classResources(class) {
				delete(asks, name) // drivers provide it, not the nodes
			}
		}
		z.addDemand(owner(pod), groups, back(pod), asks)
	}
	z.setAside(never, true)
	return nil
}

// emptyState returns the state without workloads: one node for each group and zone, the roomiest, and the pods that follow nodes, such as those
// of DaemonSets. It records in agents what these pods request.
func (z *sizer) emptyState() *cluster.State {
	zones := map[string]*ZoneNodes{} // by the name of the first node
	state := *z.state
	state.Nodes, state.Pods = nil, nil
	for i := range z.groups {
		for j := range z.groups[i].Zones {
			zone := &z.groups[i].Zones[j]
			zones[zone.Nodes[0].Name] = zone
		}
	}
	for _, node := range z.state.Nodes {
		if zone := zones[node.Name]; zone != nil {
			state.Nodes = append(state.Nodes, zone.roomiest(node))
		}
	}
	for _, pod := range z.state.Pods {
		zone := zones[pod.Spec.NodeName]
		if zone == nil {
			continue
		}
		if first := zone.Nodes[0]; variant.FollowsNodes(pod) && !cluster.IsTerminal(pod) {
			state.Pods = append(state.Pods, pod)
			if z.agents[first] == nil {
				z.agents[first] = amounts{}
			}
			z.agents[first].addQuantities(requests(pod), 1)
		}
	}
	state.Deployments, state.ReplicaSets, state.ReplicationControllers = nil, nil, nil
	state.StatefulSets, state.UnknownOwners, state.Jobs, state.CronJobs = nil, nil, nil, nil
	state.HorizontalPodAutoscalers, state.PodDisruptionBudgets = nil, nil
	return &state
}

// podDependentPlugins are the plugins whose refusal depends on which other pods and volumes exist.
var podDependentPlugins = []string{"InterPodAffinity", "PodTopologySpread", "VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits", "DynamicResources"}

// findTakingGroups reports, for each group, whether one of its nodes takes the pod in the empty cluster. A refusal by one of [podDependentPlugins] does not count.
func (z *sizer) findTakingGroups(ctx context.Context, empty *cluster.State, pod *v1.Pod) ([]bool, error) {
	alone := pod.DeepCopy()
	alone.Name, alone.UID, alone.OwnerReferences = alone.Name+"-alone", types.UID(fmt.Sprint(pod.UID, " alone")), nil
	alone.Spec.NodeName, alone.Status = "", v1.PodStatus{Phase: v1.PodPending, QOSClass: pod.Status.QOSClass}
	alone.DeletionTimestamp, alone.DeletionGracePeriodSeconds = nil, nil
	z.world.Reset()
	z.world.SetHooks(world.Hooks{Record: func(cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{} }})
	defer z.world.SetHooks(world.Hooks{})
	var step world.Record
	if _, err := z.world.Settle(ctx, empty.With(alone), &step); err != nil {
		return nil, err
	}
	refused := map[string]bool{}
	whole := false
	cycle := func(c *placement.Cycle) {
		for _, refusal := range c.Refusals {
			for _, node := range refusal.Nodes {
				refused[node] = !slices.Contains(podDependentPlugins, refusal.Plugin)
			}
		}
	}
	for _, placed := range step.Placed {
		if placed.Pod.UID == alone.UID && placed.Cycle != nil {
			cycle(placed.Cycle)
		}
	}
	for _, pending := range step.Pending {
		if pending.Pod.UID == alone.UID {
			whole = pending.Cycle == nil || len(pending.Cycle.Refusals) == 0 // gates, a scheduler that is not simulated, a claim that is missing
			if pending.Cycle != nil {
				cycle(pending.Cycle)
			}
		}
	}
	groups := make([]bool, len(z.groups))
	for i, g := range z.groups {
		for _, zone := range g.Zones {
			groups[i] = groups[i] || !whole && !refused[zone.Nodes[0].Name]
		}
	}
	return groups, nil
}

// addDemand adds the pod's requests to the demand of its workload.
func (z *sizer) addDemand(owner cluster.Ref, groups []bool, back comeback, list v1.ResourceList) {
	by := demandKey{owner, fmt.Sprint(groups), back}
	if z.demands[by] == nil {
		z.demands[by] = &demand{groups, amounts{}}
	}
	z.demands[by].addQuantities(list, 1)
}
