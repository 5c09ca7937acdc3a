package sched

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// schedulePod does what upstream's SchedulePod does. Without a memo, and in unusual cases, it calls SchedulePod. Otherwise it walks over
// the nodes itself, as upstream does with one worker, but without a context, a goroutine and a map of all rejections for each pod: with a
// memo, these would take most of the time. See schedulePod and findNodesThatPassFilters in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go.
func (e *Engine) schedulePod(p *profile, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
	pod := info.Pod
	nodes, err := e.snapshot.ListNodesInPlacement()
	if e.memo == nil || err != nil || len(nodes) == 0 || pod.Status.NominatedNodeName != "" || !p.HasFilterPlugins() || !p.HasScorePlugins() || e.extendersInterested(pod) {
		return e.scheduler.SchedulePod(e.ctx, p, state, info)
	}
	result, status, plugins := p.RunPreFilterPlugins(e.ctx, state, pod)
	if !status.IsSuccess() || !result.AllNodes() {
		p.preFiltered = &preFiltered{result, status, plugins}
		return e.scheduler.SchedulePod(e.ctx, p, state, info)
	}
	feasible, rejected, status := e.search(p, state, pod, nodes)
	if status != nil {
		return scheduler.ScheduleResult{}, status.AsError()
	}
	found := scheduler.ScheduleResult{EvaluatedNodes: len(feasible) + len(rejected), FeasibleNodes: len(feasible)}
	switch len(feasible) {
	case 0:
		statuses := framework.NewNodeToStatus(make(map[string]*fwk.Status, len(rejected)), fwk.NewStatus(fwk.UnschedulableAndUnresolvable))
		diagnosis := framework.Diagnosis{NodeToStatus: statuses}
		for _, r := range rejected {
			diagnosis.NodeToStatus.Set(r.node.Node().Name, r.status)
		}
		return found, &framework.FitError{Pod: pod, NumAllNodes: len(nodes), Diagnosis: diagnosis}
	case 1:
		found.SuggestedHost = feasible[0].Node().Name
		return found, nil
	}
	if status := p.RunPreScorePlugins(e.ctx, state, pod, feasible); !status.IsSuccess() {
		return found, status.AsError()
	}
	scores, status := p.RunScorePlugins(e.ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return found, status.AsError()
	}
	found.SuggestedHost = framework.NewSortedScoredNodes(scores).Pop().Name
	return found, nil
}

// preFiltered is the answer of the PreFilter plugins in this cycle.
type preFiltered struct {
	result  *fwk.PreFilterResult
	status  *fwk.Status
	plugins sets.Set[string]
}

// rejection is the verdict of the filters on a node that they reject.
type rejection struct {
	node   fwk.NodeInfo
	status *fwk.Status
}

// search returns nodes that fit the pod, and the nodes that rejected it on the way. It starts where the last search ended, and ends at the
// first feasible node beyond [profile.feasibleLimit], as upstream does. The slices are valid until the next search. The status is an error, or
// nil.
func (e *Engine) search(p *profile, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (feasible []fwk.NodeInfo, rejected []rejection, failed *fwk.Status) {
	feasible, rejected = e.feasibleBuffer[:0], e.rejectedBuffer[:0]
	start, enough := e.startNode(), p.feasibleLimit(len(nodes))
	for i := range nodes {
		node := nodes[(start+i)%len(nodes)]
		status := p.RunFilterPluginsWithNominatedPods(e.ctx, state, pod, node)
		if status.Code() == fwk.Error {
			failed = status
			break
		}
		if !status.IsSuccess() {
			rejected = append(rejected, rejection{node, status})
			continue
		}
		if len(feasible) == enough {
			break
		}
		feasible = append(feasible, node)
	}
	e.feasibleBuffer, e.rejectedBuffer = feasible, rejected
	e.StartAt((start + len(feasible) + len(rejected)) % len(nodes))
	return feasible, rejected, failed
}

// feasibleLimit returns after how many feasible nodes a search ends: of 5,000 nodes, by default 10 %, which are 500. See numFeasibleNodesToFind in
// the same file.
func (p *profile) feasibleLimit(nodes int) int {
	const fewest, fewestPercent = 100, 5 // minFeasibleNodesToFind, minFeasibleNodesPercentageToFind
	percentage := p.engine.percentageToScore
	if own := p.PercentageOfNodesToScore(); own != nil {
		percentage = *own
	}
	if percentage == 0 {
		percentage = max(50-int32(nodes)/125, fewestPercent)
	}
	if nodes < fewest {
		return nodes
	}
	return max(nodes*int(percentage)/100, fewest)
}
