package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Changes of the Cluster Autoscaler's limits: how many nodes a group may have, and how many the cluster may have. Whoever runs the cluster sets them
// in the cloud and in the autoscaler's flags. The autoscaler then acts on the cluster as it is after the step.

// maxNodesTotal is the autoscaler's flag for the number of all nodes of the cluster.
const maxNodesTotal = "max-nodes-total"

// FixMaxima returns the larger limits of the autoscaler with which Pending pods of the last step get nodes: for the first pod of each workload.
func FixMaxima(ctx context.Context, result *simulation.Result, opts Options) ([]Fix, error) {
	last := result.Last()
	if result.Scenario.Autoscaler == nil || len(last.Pending) == 0 || last.State.Federation != nil {
		return nil, nil
	}
	course, err := simulation.NewCourse(result)
	if err != nil {
		return nil, err
	}
	defer course.Close()
	ownerOf := last.State.Owners()
	var fixes []Fix
	for _, of := range list.GroupBy(list.Map(last.Pending, func(pending placement.Pending) *v1.Pod { return pending.Pod }), ownerOf) {
		p, err := newPendingPod(course, last, of[0])
		if err != nil {
			return nil, err
		}
		s := search{opts: opts}
		if err := s.try(ctx, p.raiseMaxima()); err != nil {
			return nil, err
		}
		for _, fix := range s.sorted() {
			if !slices.ContainsFunc(fixes, func(known Fix) bool { return known.Change == fix.Change }) {
				fixes = append(fixes, fix)
			}
		}
	}
	return fixes, nil
}

// raiseMaxima returns the attempts that raise each limit that is reached: the maximum of a group, and that of all nodes. Each finds the least that
// leaves as few pods of the workload Pending as many more nodes do.
func (p *pendingPod) raiseMaxima() []attempt {
	by := p.course.Scenario.Autoscaler
	if by == nil || p.member != nil || p.owner.Kind == "DaemonSet" {
		return nil
	}
	more := int64(min(len(p.pendingBefore), maxNewNodes))
	var attempts []attempt
	for i := range by.NodeGroups {
		group := &by.NodeGroups[i]
		if list.Count(p.step.State.Nodes, func(node *v1.Node) bool { return group.Has(node) }) < group.Max {
			continue
		}
		attempts = append(attempts, p.attemptLimit("more nodes in group "+group.Name, int64(group.Max), more, func(most int64) (scenario.Autoscaler, string) {
			raised := *by
			raised.NodeGroups = slices.Clone(by.NodeGroups)
			raised.NodeGroups[i].Max = int(most)
			return raised, fmt.Sprintf("let group %s have up to %d nodes (now %d)", group.Name, most, group.Max)
		}))
	}
	total, err := strconv.ParseInt(by.Flags[maxNodesTotal], 10, 32)
	if err != nil || total == 0 || int64(len(p.step.State.Nodes)) < total {
		return attempts
	}
	return append(attempts, p.attemptLimit("more nodes in all", total, more, func(most int64) (scenario.Autoscaler, string) {
		raised := *by
		raised.Flags = maps.Clone(by.Flags)
		raised.Flags[maxNodesTotal] = strconv.FormatInt(most, 10)
		return raised, fmt.Sprintf("let the cluster have up to %d nodes: --%s of the autoscaler (now %d)", most, maxNodesTotal, total)
	}))
}

// attemptLimit returns the attempt that raises a limit, by up to more.
func (p *pendingPod) attemptLimit(change string, now, more int64, raise func(most int64) (scenario.Autoscaler, string)) attempt {
	return attempt{changes: []string{change}, try: func(ctx context.Context) (*Fix, error) {
		try := func(most int64) (*Fix, error) {
			raised, says := raise(most)
			return p.tryAutoscaler(ctx, &raised, &candidate{change: says, byHand: true})
		}
		fix, err := try(now + more)
		if fix == nil || err != nil {
			return nil, err
		}
		return bisectAmount(now+more, now, now+1, fix, try)
	}}
}

// tryAutoscaler lets another autoscaler act after the step.
func (w *stuckWorkload) tryAutoscaler(ctx context.Context, with *scenario.Autoscaler, c *candidate) (*Fix, error) {
	before := w.course
	defer func() { w.course = before }()
	changed, known := *before.Scenario, before.Result
	changed.Autoscaler, known.Scenario, known.Steps = with, &changed, before.Steps[:w.baseSteps]
	course, err := simulation.NewCourse(&known)
	if err != nil {
		return nil, err
	}
	defer course.Close()
	w.course = course
	step := scenario.LoadedStep{}
	step.Name = w.stepName(0)
	if done, err := w.doStep(ctx, &step); !done {
		return nil, err
	}
	return w.helps(ctx, c, nil)
}
