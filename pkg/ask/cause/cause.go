// Package cause says why the scheduler refuses a pod and why a scale-in removes one, with the values of both sides: what the pod asks, what the nodes have, and who holds it.
// kube-scheduler's message counts nodes ("3 Insufficient cpu"); a cause has the numbers ("asks 3 CPU; the most that is free is 1900m on w-2").
//
//	state after a step ─ Pending pod ─▶ Finder.Causes
//	  sched.Engine.Place, recorded ───▶ which plugin refuses which nodes
//	  one finder for each plugin ─────▶ Cause: typed facts, and the sentence that they make
//
// Which plugin refuses a node always comes from the real plugins. The facts are recomputed from the state with upstream's functions, since the
// plugins keep theirs to themselves; tests compare the two.
package cause

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
)

// Cause is one reason for which one plugin refuses a pod. The facts are of the kind that the plugin looks at; the others are missing.
type Cause struct {
	// Plugin is the scheduler's plugin that refuses, such as NodeResourcesFit, or the API server's, such as ResourceQuota.
	Plugin string `json:"plugin"`
	// Nodes is the number of nodes that it refuses for this reason; 0 if it refuses the pod before it looks at nodes.
	Nodes int `json:"nodes"`
	// Sentence says why, with the values of both sides.
	Sentence string `json:"sentence"`
	// Resource is what NodeResourcesFit lacks.
	Resource *Shortage `json:"resource,omitempty"`
	// Spread is the constraint that PodTopologySpread finds violated.
	Spread *Spread `json:"spread,omitempty"`
	// PodAffinity is the term that InterPodAffinity finds violated.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`
	// Taints are those for which TaintToleration refuses nodes.
	Taints []Taint `json:"taints,omitempty"`
	// NodeAffinity is what NodeAffinity misses.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`
	// Cordoned are the nodes that NodeUnschedulable refuses.
	Cordoned []string `json:"cordoned,omitempty"`
	// HostPort is the port that NodePorts finds taken.
	HostPort *HostPort `json:"hostPort,omitempty"`
	// Volume is the claim that VolumeBinding, VolumeZone, NodeVolumeLimits or VolumeRestrictions finds in the way.
	Volume *Volume `json:"volume,omitempty"`
	// Devices is the request of a claim that DynamicResources cannot serve.
	Devices *Devices `json:"devices,omitempty"`
	// Preemption is why pods of a lower priority do not make room.
	Preemption *Preemption `json:"preemption,omitempty"`
	// Gates are the pod's scheduling gates, for which the scheduler does not try it.
	Gates []string `json:"gates,omitempty"`
	// PodGroup is the group without which the pod gets no node.
	PodGroup *PodGroup `json:"podGroup,omitempty"`
	// Denial is the object for which the API server does not take the pod.
	Denial *Denial `json:"denial,omitempty"`
}

// finders compute the causes of a plugin's refusals. A plugin without a finder has no causes; kube-scheduler's message says all there is.
var finders = map[string]func(*view, refused) []Cause{
	"DynamicResources":   deviceRequests,
	"InterPodAffinity":   podAffinities,
	"NodeAffinity":       nodeAffinities,
	"NodePorts":          hostPorts,
	"NodeResourcesFit":   shortages,
	"NodeUnschedulable":  cordons,
	"NodeVolumeLimits":   volumeLimits,
	"PodTopologySpread":  spreads,
	"TaintToleration":    taints,
	"VolumeBinding":      volumeBindings,
	"VolumeRestrictions": volumeRestrictions,
	"VolumeZone":         volumeZones,
}

// refused is what one plugin refuses.
type refused struct {
	// nodes are the refused nodes, in the order of the search; none if the plugin refused the pod before it looked at nodes.
	nodes []*v1.Node
	// messages are the plugin's words for each of the nodes.
	messages map[string]string
}

// view is the cluster as the scheduler saw it, and the pod that it refused.
type view struct {
	state *cluster.State
	pod   *v1.Pod
	*occupancy
	// verdicts are the refusals of the nodes, by the first plugin that refused each.
	verdicts map[string]placement.Verdict
}

func newView(state *cluster.State, pod *v1.Pod, on *occupancy, cycle *placement.Cycle) *view {
	v := &view{state: state, pod: pod, occupancy: on, verdicts: map[string]placement.Verdict{}}
	for _, refusal := range cycle.Refusals {
		for _, node := range refusal.Nodes {
			v.verdicts[node] = placement.Verdict{Plugin: refusal.Plugin, Status: refusal.Message}
		}
	}
	return v
}

// occupancy is what the pods of a state hold of its nodes.
type occupancy struct {
	// podsOn are the pods that the scheduler counts on each node: all that have not ended, Terminating ones included.
	podsOn map[string][]*v1.Pod
	// sums are the requests of these pods, of the nodes that were asked about.
	sums map[string]v1.ResourceList
}

func newOccupancy(pods []*v1.Pod) *occupancy {
	on := &occupancy{podsOn: map[string][]*v1.Pod{}, sums: map[string]v1.ResourceList{}}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && !cluster.Terminal(pod) {
			on.podsOn[pod.Spec.NodeName] = append(on.podsOn[pod.Spec.NodeName], pod)
		}
	}
	return on
}

// requestedOn is the sum of the requests of the node's pods. Hundreds of pods can wait for the same nodes, so each node is added up once: with 500
// of them on 1,000 nodes that is 20 s.
func (o *occupancy) requestedOn(node string) v1.ResourceList {
	sum, known := o.sums[node]
	if !known {
		sum = requestsOf(o.podsOn[node])
		sum[v1.ResourcePods] = *resource.NewQuantity(int64(len(o.podsOn[node])), resource.DecimalSI)
		o.sums[node] = sum
	}
	return sum
}

// Finder finds the causes in the states of one scenario. It is not safe for concurrent use.
type Finder struct {
	engine *sched.Engine
	// of is the state that was asked about last, and on its occupancy.
	of *cluster.State
	on *occupancy
}

// NewFinder returns a finder for the scheduler's configuration. Close it.
func NewFinder(config *sched.Config) (*Finder, error) {
	engine, err := sched.NewEngine(config, sched.Ties{})
	if err != nil {
		return nil, err
	}
	return &Finder{engine: engine}, nil
}

// occupancy returns what pods hold in the state that is seen: what they hold in the state that was asked about, if only the pod came to it.
func (f *Finder) occupancy(state, seen *cluster.State, same bool) *occupancy {
	if !same {
		return newOccupancy(seen.Pods)
	}
	if f.of != state {
		f.of, f.on = state, newOccupancy(state.Pods)
	}
	return f.on
}

// Close releases the finder's scheduler.
func (f *Finder) Close() { f.engine.Close() }

// Causes returns why the scheduler refuses the pod in the state, which has it without a node; none if it would place the pod, or fails before
// any plugin refuses. The plugin that refuses most nodes comes first. The others, of its group, get their nodes before.
func (f *Finder) Causes(ctx context.Context, state *cluster.State, pod *v1.Pod, others ...*v1.Pod) ([]Cause, error) {
	seen := state
	for _, other := range others {
		result, err := f.place(ctx, seen.With(ungrouped(other)), ungrouped(other))
		if err != nil {
			return nil, err
		}
		seen = seen.With(result.Changed()...)
	}
	alone := ungrouped(pod)
	seen = seen.With(alone)
	result, err := f.place(ctx, seen, alone)
	if err != nil || len(result.Pending) == 0 || result.Pending[0].Cycle == nil {
		return nil, err
	}
	v := newView(seen, alone, f.occupancy(state, seen, len(others) == 0), result.Pending[0].Cycle)
	var causes []Cause
	for _, plugin := range refusals(seen, result.Pending[0].Cycle) {
		if find := finders[plugin.name]; find != nil {
			causes = append(causes, find(v, plugin.refused)...)
		}
	}
	unhelpful, err := f.unhelpful(ctx, v, pod)
	return append(causes, unhelpful...), err
}

// ungrouped is the pod by itself: what others of its group do, and whom it could preempt, is not asked.
func ungrouped(pod *v1.Pod) *v1.Pod {
	alone := *pod
	alone.Spec.SchedulingGroup, alone.Spec.PreemptionPolicy = nil, new(v1.PreemptNever)
	alone.Status.NominatedNodeName = ""
	return &alone
}

func (f *Finder) place(ctx context.Context, state *cluster.State, pod *v1.Pod) (*placement.Result, error) {
	f.engine.Reset()
	f.engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
	return f.engine.Place(ctx, state, []*v1.Pod{pod})
}

// pluginRefused is what a plugin refuses, with its name.
type pluginRefused struct {
	name string
	refused
}

// refusals returns the refusals of a cycle by plugin, the plugin with most nodes first.
func refusals(state *cluster.State, cycle *placement.Cycle) []pluginRefused {
	for _, verdict := range cycle.PreFilter {
		if verdict.Status != "success" && verdict.Status != "skip" {
			return []pluginRefused{{name: verdict.Plugin}}
		}
	}
	nodes := state.NodesByName()
	var all []pluginRefused
	for _, of := range list.Group(cycle.Refusals, func(r placement.Refusal) string { return r.Plugin }) {
		p := pluginRefused{of[0].Plugin, refused{messages: map[string]string{}}}
		for _, refusal := range of {
			for _, name := range refusal.Nodes {
				p.nodes, p.messages[name] = append(p.nodes, nodes[name]), refusal.Message
			}
		}
		all = append(all, p)
	}
	return all
}
