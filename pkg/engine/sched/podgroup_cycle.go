package sched

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// podGroupCycle is one run of upstream's scheduling cycle for a pod group. The engine calls ScheduleOne, which calls scheduleOnePodGroup in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one_podgroup.go. Upstream binds each pod in its own
// goroutine. To start no goroutine, the engine refuses the pods at Permit, the last point before that, and binds them in order after the
// cycle.
type podGroupCycle struct {
	engine *Engine
	group  *queuedGroup
	// schedulePod is upstream's SchedulePod.
	schedulePod func(context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo) (scheduler.ScheduleResult, error)
	// The earlier decisions of this call of Place. The pods of the group that got a node in this cycle count as bound.
	resultSoFar placement.Result
	// waiting lists the pods that come after the group in the queue.
	waiting []*v1.Pod
	// placedBefore is the number of earlier decisions that are not of this cycle.
	placedBefore int
	// dry is true while preemption tries the group on a cluster without the victims.
	dry     bool
	tried   map[types.UID]memberDecision // the last decision, or the first one that refuses the pod
	placed  map[grantedPlace]memberDecision
	granted []grantedPod
	err     error
}

// grantedPlace is a pod and a node on which the plugins have placed it. Under TopologyAwareWorkloadScheduling upstream tries the group in one
// domain after another.
type grantedPlace struct {
	pod  types.UID
	node string
}

// memberDecision is the plugins' decision about a pod of the group.
type memberDecision struct {
	placement placement.Placement
	reasons   []placement.Reason
	failed    bool // a plugin returned an error
	cycle     *placement.Cycle
}

// grantedPod is a pod of the group that the plugins allow on its node.
type grantedPod struct {
	pod   types.UID
	state fwk.CycleState
	node  string
}

func (c *podGroupCycle) isDry() bool { return c != nil && c.dry }

// tryPodGroup runs one cycle for the Pending pods of a group, and binds each pod that gets a node.
func (e *Engine) tryPodGroup(group *queuedGroup, result *placement.Result) error {
	info := e.newQueuedPodGroupInfo(group.key)
	for _, member := range group.members {
		if err := e.waiting.Update(member.Pod); err != nil {
			return err
		}
		info.AddPod(member.QueuedPodInfo)
	}
	c := &podGroupCycle{
		engine: e, group: group, schedulePod: e.scheduler.SchedulePod, waiting: e.tie.Waiting, tried: map[types.UID]memberDecision{}, placed: map[grantedPlace]memberDecision{},
		placedBefore: len(result.Placed), resultSoFar: placement.Result{Placed: slices.Clip(result.Placed), Volumes: result.Volumes},
	}
	e.groupCycle, e.scheduler.SchedulePod, e.scheduler.FailureHandler = c, c.schedule, c.recordFailure
	e.scheduler.NextEntity = func(klog.Logger) (framework.QueuedEntityInfo, error) { return info, nil }
	victims := len(e.victims)
	e.scheduler.ScheduleOne(e.ctx)
	e.groupCycle, e.scheduler.SchedulePod = nil, c.schedulePod
	if c.err != nil {
		return c.err
	}
	for i := victims; i < len(e.victims); i++ {
		e.victims[i].For = c.nomineeOf(e.victims[i].Node)
	}
	if err := e.evictVictims(victims); err != nil {
		return err
	}
	return c.bindGranted(result)
}

// nomineeOf returns the first pod of the group for which the node is nominated, or else the group's first pod: the victims of a group make
// room for all of its pods.
func (c *podGroupCycle) nomineeOf(node string) *v1.Pod {
	for _, member := range c.group.members {
		if member.Pod.Status.NominatedNodeName == node {
			return member.Pod
		}
	}
	return c.group.members[0].Pod
}

// schedule calls SchedulePod for a pod of the group and records its decision.
func (c *podGroupCycle) schedule(ctx context.Context, real framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
	e, p := c.engine, real.(*profile)
	e.plainCycles++
	p.beginCycle()
	p.recorder = nil
	if !c.dry {
		c.dropOtherDomain(info.Pod)
		e.startRecorder(p, info.Pod, &c.resultSoFar)
		e.tie.Placed, e.tie.Waiting = c.resultSoFar.Placed, append(c.untriedPods(info.Pod), c.waiting...)
	}
	chosen, err := c.schedulePod(ctx, p, state, info)
	var fit *framework.FitError
	c.err = cmp.Or(c.err, e.stopError)
	if c.dry || c.err != nil {
		return chosen, err
	}
	tried := memberDecision{cycle: p.finishCycle(info.PodInfo, chosen.SuggestedHost)}
	switch {
	case errors.As(err, &fit):
		tried.reasons = reasonsOf(&fit.Diagnosis)
	case err == nil:
		tried.placement = p.newPlacement(cluster.BindPod(info.Pod, chosen.SuggestedHost, e.state.Now.Time), chosen, tried.cycle)
		c.resultSoFar.Placed = append(c.resultSoFar.Placed, tried.placement)
	default:
		tried.failed = !errors.Is(err, scheduler.ErrNoNodesAvailable)
	}
	if err == nil {
		c.placed[grantedPlace{info.Pod.UID, chosen.SuggestedHost}] = tried
	}
	if first, known := c.tried[info.Pod.UID]; !known || len(first.reasons) == 0 {
		c.tried[info.Pod.UID] = tried
	}
	return chosen, err
}

// dropOtherDomain forgets where the pods of the group are in the domain before, if upstream tries the pod in another domain now.
func (c *podGroupCycle) dropOtherDomain(pod *v1.Pod) {
	ofCycle := c.resultSoFar.Placed[c.placedBefore:]
	if slices.ContainsFunc(ofCycle, func(p placement.Placement) bool { return p.Pod.UID == pod.UID }) {
		c.resultSoFar.Placed = slices.Clip(c.resultSoFar.Placed[:c.placedBefore])
	}
}

// RunPlacementGeneratePlugins returns the domains in the order of their names. Upstream has them in random order, and the message about a group
// that fits nowhere is about the first.
func (p *profile) RunPlacementGeneratePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, nodes []fwk.NodeInfo) ([]*fwk.Placement, *fwk.Status) {
	placements, status := p.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	slices.SortFunc(placements, func(a, b *fwk.Placement) int { return cmp.Compare(a.Name, b.Name) })
	return placements, status
}

// RunPlacementScorePlugins returns the best domain for the group alone. Upstream chooses among domains of equal score by a random number of its
// own; see findBestPlacement in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one_podgroup.go. The engine takes
// the first by name or, with random ties, any.
func (p *profile) RunPlacementScorePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, placements []*fwk.PodGroupAssignments, states []fwk.PlacementCycleState) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scores, status := p.Framework.RunPlacementScorePlugins(ctx, state, group, placements, states)
	if !status.IsSuccess() || len(scores) == 0 {
		return scores, status
	}
	best := slices.MaxFunc(scores, func(a, b fwk.PlacementPluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) }).TotalScore
	equals := slices.DeleteFunc(scores, func(s fwk.PlacementPluginScores) bool { return s.TotalScore != best })
	slices.SortFunc(equals, func(a, b fwk.PlacementPluginScores) int { return cmp.Compare(a.Placement.Name, b.Placement.Name) })
	chosen := 0
	if p.engine.random != nil {
		chosen = p.engine.random.IntN(len(equals))
	}
	return equals[chosen : chosen+1], status
}

// untriedPods returns the pods of the group that come after this one in the cycle.
func (c *podGroupCycle) untriedPods(pod *v1.Pod) (pods []*v1.Pod) {
	for _, member := range c.group.members {
		if _, tried := c.tried[member.Pod.UID]; !tried && member.Pod.UID != pod.UID {
			pods = append(pods, member.Pod)
		}
	}
	return pods
}

// RunPermitPlugins refuses the pod of a group that is about to be bound, so that upstream does not bind the pod itself.
func (p *profile) RunPermitPlugins(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) (map[string]time.Duration, *fwk.Status) {
	c := p.engine.groupCycle
	c.granted = append(c.granted, grantedPod{pod: pod.UID, state: state, node: node})
	return nil, fwk.NewStatus(fwk.Unschedulable, "to be bound when the cycle has ended")
}

// RunPodGroupPostFilterPlugins tries to preempt pods for the group.
func (p *profile) RunPodGroupPostFilterPlugins(ctx context.Context, state *framework.CycleState, group fwk.PodGroupInfo, try fwk.PodGroupSchedulingFunc) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	p.engine.groupCycle.dry = true
	defer func() { p.engine.groupCycle.dry = false }()
	return p.Framework.RunPodGroupPostFilterPlugins(ctx, state, group, try)
}

// recordFailure records why a pod of the group got no node, with the message that upstream's FailureHandler reports.
func (c *podGroupCycle) recordFailure(_ context.Context, _ framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, _ time.Time) {
	if slices.ContainsFunc(c.granted, func(g grantedPod) bool { return g.pod == info.Pod.UID }) {
		return
	}
	member := c.member(info.Pod.UID)
	if nominating.Mode() == fwk.ModeOverride {
		c.engine.nominate(member, nominating.NominatedNodeName)
	}
	tried := c.tried[info.Pod.UID]
	member.pending = placement.Pending{
		Pod: member.Pod, Message: status.Message(), Failed: !status.IsRejected(), Reasons: tried.reasons, Nominated: member.Pod.Status.NominatedNodeName, Cycle: tried.cycle,
	}
}

func (c *podGroupCycle) member(pod types.UID) *queueEntry {
	return c.group.members[slices.IndexFunc(c.group.members, func(m *queueEntry) bool { return m.Pod.UID == pod })]
}

// bindGranted binds the granted pods to their nodes, and leaves the others in the group.
func (c *podGroupCycle) bindGranted(result *placement.Result) error {
	e := c.engine
	for _, g := range c.granted {
		member := c.member(g.pod)
		placed := c.placed[grantedPlace{g.pod, g.node}].placement
		placed.Pod = cluster.BindPod(member.Pod, g.node, e.startTime())
		refused, err := e.bindPod(e.profiles[member.Pod.Spec.SchedulerName], member, g.state, placed, result)
		if err != nil {
			return err
		}
		if refused != nil {
			e.scheduler.Cache.AddPodGroupMember(member.Pod)
			member.pending = placement.Pending{Pod: member.Pod, Message: refused.message, Failed: refused.failed}
			continue
		}
		c.group.members = slices.DeleteFunc(c.group.members, func(m *queueEntry) bool { return m == member })
	}
	told := e.groupOf(c.group)
	for _, member := range c.group.members {
		tried := c.tried[member.Pod.UID]
		waiting := placement.GroupMember{Name: member.Pod.Name, Node: tried.placement.Node}
		if len(tried.reasons) > 0 || tried.failed {
			waiting.Message = member.pending.Message
		}
		told.Waiting = append(told.Waiting, waiting)
		member.pending.Group = told
	}
	return nil
}

// patchPodGroup applies upstream's patch of a pod group's status. It replaces the patch's times by the logical time.
func (e *Engine) patchPodGroup(name types.NamespacedName, patch []byte) (*schedulingv1beta1.PodGroup, error) {
	was := e.podGroups.groups[name]
	before, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, was)
	if err != nil {
		return nil, fmt.Errorf("patching the status of pod group %s: %w", name, err)
	}
	group := &schedulingv1beta1.PodGroup{}
	if err := json.Unmarshal(after, group); err != nil {
		return nil, err
	}
	for i := range group.Status.Conditions {
		condition := &group.Status.Conditions[i]
		if old := meta.FindStatusCondition(was.Status.Conditions, condition.Type); old == nil || old.Status != condition.Status {
			condition.LastTransitionTime = e.state.Now
		}
	}
	e.setPodGroup(group)
	return group, nil
}
