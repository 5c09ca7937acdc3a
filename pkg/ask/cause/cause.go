// Package cause says why the scheduler refuses a pod and why a scale-in removes one, with the values of both sides: what the pod asks, what
// the nodes have, and which pods hold the rest. kube-scheduler's message counts nodes ("3 Insufficient cpu"); a cause has the numbers
// ("asks 3 CPU; the most that is free is 1900m on w-2").
//
//	state after a step ─ Pending pod ─▶ Finder.Causes
//	  sched.Engine.Place, recorded ───▶ which plugin refuses which nodes
//	  one finder for each plugin ─────▶ Cause: typed facts, and the sentence that they make
//
// Which plugin refuses a node always comes from the real plugins. Their facts do not, since the plugins do not export them: the finders
// compute them again from the state, with upstream's functions, and tests compare the two.
package cause

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
)

// Cause is one reason why one plugin refuses a pod. It has the facts that this plugin looks at; the other facts are missing.
type Cause struct {
	// Plugin is the plugin that refuses: of the scheduler, such as NodeResourcesFit, or of the API server, such as ResourceQuota.
	Plugin string `json:"plugin"`
	// Nodes is the number of nodes that the plugin refuses for this reason; 0 if it refuses the pod before it looks at nodes.
	Nodes int `json:"nodes"`
	// Behind means that other plugins refuse these nodes first, for lack of room or for a taint: without that, this plugin would still refuse them.
	Behind bool `json:"behind,omitempty"`
	// Sentence says why, with the values of both sides.
	Sentence string `json:"sentence"`
	// Resource is the resource of which NodeResourcesFit finds too little.
	Resource *Shortage `json:"resource,omitempty"`
	// Spread is the constraint that PodTopologySpread finds violated.
	Spread *Spread `json:"spread,omitempty"`
	// PodAffinity is the term that InterPodAffinity finds violated.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`
	// Taints are the taints for which TaintToleration refuses nodes.
	Taints []Taint `json:"taints,omitempty"`
	// NodeAffinity has the requirements that NodeAffinity finds unmet.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`
	// Cordoned are the nodes that NodeUnschedulable refuses.
	Cordoned []string `json:"cordoned,omitempty"`
	// HostPort is the port that NodePorts finds taken.
	HostPort *HostPort `json:"hostPort,omitempty"`
	// Volume is the claim for which VolumeBinding, VolumeZone, NodeVolumeLimits or VolumeRestrictions refuses nodes.
	Volume *Volume `json:"volume,omitempty"`
	// Devices is the request of a claim that DynamicResources cannot serve.
	Devices *Devices `json:"devices,omitempty"`
	// Preemption says why pods of a lower priority do not make room.
	Preemption *Preemption `json:"preemption,omitempty"`
	// Gates are the pod's scheduling gates, which keep the scheduler from trying it.
	Gates []string `json:"gates,omitempty"`
	// PodGroup is the group with which the pod waits for a node.
	PodGroup *PodGroup `json:"podGroup,omitempty"`
	// Rollout is the rollout whose old pods hold what the pod needs.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Denial is the object because of which the API server rejects the pod.
	Denial *Denial `json:"denial,omitempty"`
}

// finders compute the causes of a plugin's refusals. For a plugin without a finder there are no causes, since kube-scheduler's message says
// everything.
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

// refused has the nodes that one plugin refuses.
type refused struct {
	// nodes are the refused nodes, in the order of the search; none if the plugin refused the pod before it looked at nodes.
	nodes []*v1.Node
	// messages are the plugin's messages, by node.
	messages map[string]string
}

// view is the cluster as the scheduler saw it, with the pod that it refused.
type view struct {
	state *cluster.State
	pod   *v1.Pod
	*Occupancy
	// verdicts has, for each refused node, the first plugin that refused it and its message.
	verdicts map[string]placement.Verdict
	// behind has the nodes without room that another plugin would refuse if they had room.
	behind map[string]bool
}

func newView(state *cluster.State, pod *v1.Pod, on *Occupancy, cycle *placement.Cycle) *view {
	v := &view{state: state, pod: pod, Occupancy: on, verdicts: map[string]placement.Verdict{}}
	for _, refusal := range cycle.Refusals {
		for _, node := range refusal.Nodes {
			v.verdicts[node] = placement.Verdict{Plugin: refusal.Plugin, Status: refusal.Message}
		}
	}
	return v
}

// Finder finds the causes in the states of one scenario. It is not safe for concurrent use.
type Finder struct {
	engine *sched.Engine
	// lastState is the state of the last call, and [Finder.lastOccupancy] its occupancy.
	lastState     *cluster.State
	lastOccupancy *Occupancy
}

// NewFinder returns a finder for the scheduler's configuration. The caller must close it.
func NewFinder(config *sched.Config) (*Finder, error) {
	engine, err := sched.NewEngine(config, sched.Ties{})
	if err != nil {
		return nil, err
	}
	return &Finder{engine: engine}, nil
}

// occupancyOf returns what pods hold in the state seen. If same is true, seen differs from state only by the Pending pod, and the occupancy
// of state is cached.
func (f *Finder) occupancyOf(state, seen *cluster.State, same bool) *Occupancy {
	if !same {
		return NewOccupancy(seen.Pods)
	}
	if f.lastState != state {
		f.lastState, f.lastOccupancy = state, NewOccupancy(state.Pods)
	}
	return f.lastOccupancy
}

// Close releases the finder's scheduler.
func (f *Finder) Close() { f.engine.Close() }

// Causes returns why the scheduler refuses the pod in the state, in which it has no node. It returns none if the scheduler would place the
// pod, or fails before any plugin refuses. A node selector or affinity that no node meets comes first, since nothing else helps then, and
// then the plugin that refuses the most nodes. others are pods of the pod's group that get
// their nodes before it.
func (f *Finder) Causes(ctx context.Context, state *cluster.State, pod *v1.Pod, others ...*v1.Pod) ([]Cause, error) {
	seen := state
	for _, other := range others {
		result, err := f.placePod(ctx, seen.With(withoutGroup(other)), withoutGroup(other))
		if err != nil {
			return nil, err
		}
		seen = seen.With(result.Changed()...)
	}
	alone := withoutGroup(pod)
	seen = seen.With(alone)
	result, err := f.placePod(ctx, seen, alone)
	if err != nil || len(result.Pending) == 0 || result.Pending[0].Cycle == nil {
		return nil, err
	}
	v := newView(seen, alone, f.occupancyOf(state, seen, len(others) == 0), result.Pending[0].Cycle)
	refusals := groupRefusals(seen, result.Pending[0].Cycle)
	behind, err := f.behindRoom(ctx, v, refusals)
	if err != nil {
		return nil, err
	}
	causes := slices.Concat(v.findCauses(refusals), v.behindTaints(refusals), behind)
	if i := slices.IndexFunc(causes, func(c Cause) bool { return c.NodeAffinity != nil && len(c.NodeAffinity.Unmet) > 0 }); i > 0 {
		causes = slices.Concat(causes[i:i+1], causes[:i], causes[i+1:])
	}
	if len(others) == 0 {
		held, err := f.heldByOld(ctx, state, pod)
		if err != nil {
			return nil, err
		}
		causes = append(causes, held...)
	}
	unhelpful, err := f.explainNoPreemption(ctx, v, pod)
	return append(causes, unhelpful...), err
}

// findCauses returns the causes of the plugins' refusals.
func (v *view) findCauses(refusals []pluginRefused) []Cause {
	var causes []Cause
	for _, plugin := range refusals {
		if find := finders[plugin.name]; find != nil {
			causes = append(causes, find(v, plugin.refused)...)
		}
	}
	return causes
}

// withoutGroup returns a copy of the pod without its group and without preemption, so that the scheduler tries the pod by itself.
func withoutGroup(pod *v1.Pod) *v1.Pod {
	alone := *pod
	alone.Spec.SchedulingGroup, alone.Spec.PreemptionPolicy = nil, new(v1.PreemptNever)
	alone.Status.NominatedNodeName = ""
	return &alone
}

func (f *Finder) placePod(ctx context.Context, state *cluster.State, pod *v1.Pod) (*placement.Result, error) {
	f.engine.Reset()
	f.engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
	return f.engine.Place(ctx, state, []*v1.Pod{pod})
}

// pluginRefused has the nodes that a plugin refuses, with the plugin's name.
type pluginRefused struct {
	name string
	refused
}

// groupRefusals returns the refusals of a cycle by plugin, the plugin with the most nodes first.
func groupRefusals(state *cluster.State, cycle *placement.Cycle) []pluginRefused {
	for _, verdict := range cycle.PreFilter {
		if verdict.Status != "success" && verdict.Status != "skip" {
			return []pluginRefused{{name: verdict.Plugin}}
		}
	}
	nodes := state.NodesByName()
	var all []pluginRefused
	for _, of := range list.GroupBy(cycle.Refusals, func(r placement.Refusal) string { return r.Plugin }) {
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
