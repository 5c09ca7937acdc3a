package sched

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
)

// candidates replaces the global random offset at which upstream starts to look for nodes to preempt on, and keeps for which nodes there is no
// point in it.
type candidates struct {
	preemption.Interface
	engine    *Engine
	victimsOn func(context.Context, fwk.NodeInfo) ([]*preemption.DomainVictim, error)
}

func (c candidates) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	_, number := c.Interface.GetOffsetAndNumCandidates(nodes)
	if c.engine.random == nil {
		return 0, number
	}
	return c.engine.random.Int32N(nodes), number
}

// dryRuns are those of the pod that is tried. Upstream makes one for each node that rejects the pod, though on most nodes no pod may be
// preempted, and others are known to reject the pod even without those that may be. If all nodes reject it so, upstream's are spared.
type dryRuns struct {
	state      fwk.CycleState
	statuses   *orderedStatuses // why the nodes reject the pod; nil where no pod is tried by itself
	ineligible bool             // the pod preempts none
	spared     bool
	number     int           // of those that are spared
	emptied    []*fwk.Status // by place in the list of nodes: why they reject the pod without the pods that it may preempt
}

// PodEligibleToPreemptOthers is upstream's, for a pod for which a node may be freed. For another, it gives upstream's message at once.
func (c candidates) PodEligibleToPreemptOthers(ctx context.Context, pod *v1.Pod, nominated *fwk.Status) (bool, string) {
	eligible, why := c.Interface.PodEligibleToPreemptOthers(ctx, pod, nominated)
	runs := &c.engine.dryRuns
	if runs.statuses == nil {
		return eligible, why
	}
	if runs.ineligible = !eligible; eligible {
		why, runs.spared = c.spareDryRuns(ctx, runs)
	}
	return eligible && !runs.spared, why
}

// spareDryRuns returns upstream's message for a pod for which no node can be freed. See evaluate in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/preemption.go.
func (c candidates) spareDryRuns(ctx context.Context, runs *dryRuns) (string, bool) {
	all, err := c.engine.lister.NodeInfos().List()
	if err != nil || c.engine.memo == nil || c.engine.own { // an additional plugin may read more of the nodes
		return "", false
	}
	statuses := runs.statuses
	because, emptied := framework.NewDefaultNodeToStatus(), c.engine.emptied(statuses.preemptor, all)
	runs.emptied = make([]*fwk.Status, len(all))
	var none *fwk.Status // what upstream says of a node without pods that may be preempted
	for i, node := range all {
		if statuses.Get(node.Node().Name).Code() != fwk.Unschedulable {
			continue
		}
		status, rejects := emptied.rejection(ctx, runs.state, i)
		if !rejects {
			return "", false
		}
		runs.emptied[i] = status
		if status == nil {
			if none == nil {
				_, _, none = c.Interface.SelectVictimsOnNode(ctx, nil, statuses.preemptor, statuses.withoutPods(node.Node()), nil, nil)
			}
			status = none
		}
		because.Set(node.Node().Name, status)
	}
	if runs.number = because.Len(); runs.number > 0 {
		c.GetOffsetAndNumCandidates(int32(runs.number)) // as upstream does, which draws a number
	}
	because.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "Preemption is not helpful for scheduling"))
	fit := framework.FitError{Pod: statuses.preemptor, NumAllNodes: len(all), Diagnosis: framework.Diagnosis{NodeToStatus: because}}
	return fit.Error(), true
}

// emptiedNodes are the nodes without the pods that a pod may preempt.
type emptiedNodes struct {
	engine *Engine
	kept   *memo.Framework
	pod    *v1.Pod
	all    []fwk.NodeInfo
	lowest func(i int) int64 // the lowest priority there
}

func (e *Engine) emptied(pod *v1.Pod, all []fwk.NodeInfo) *emptiedNodes {
	return &emptiedNodes{engine: e, kept: e.current.memo(), pod: pod, all: all, lowest: e.lowest.of(all, e.memo)}
}

// known returns why the node at a place of the list rejects the pod even without the pods that it may preempt, nil if there are none, and
// false if it is not known to do so.
func (n *emptiedNodes) known(i int) (*fwk.Status, bool) {
	if n.lowest(i) >= int64(corev1.PodPriority(n.pod)) {
		return nil, true
	}
	status := n.kept.Emptied(i)
	return status, status != nil
}

// rejection is as known, after upstream's dry run on a node of which nothing is known. False says that the node takes the pod, or an error.
func (n *emptiedNodes) rejection(ctx context.Context, state fwk.CycleState, i int) (*fwk.Status, bool) {
	if status, known := n.known(i); known || n.kept == nil {
		return status, known
	}
	node, plugin := n.all[i], n.engine.current.candidates
	victims, err := plugin.victimsOn(ctx, node)
	if err != nil {
		return nil, false
	}
	_, _, status := plugin.SelectVictimsOnNode(ctx, state.Clone(), n.pod, node.Snapshot(), victims, nil) // which keeps a rejection that it may
	return status, status.IsRejected()
}

// SelectVictimsOnNode fails once nobody waits for Place. It asks no node again that rejects the pod even without all pods that may make room,
// until something changes that the filters read. Pods of a pod group make room together, wherever they are, so where there are any, nothing is kept.
func (c candidates) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, all []*preemption.DomainVictim, budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	if status := c.engine.interrupted(); status != nil {
		return nil, 0, status
	}
	kept, slot := c.engine.current.memo(), 0
	if kept != nil {
		slot = c.engine.memo.Slot(node.Node().Name)
		if status := kept.Emptied(slot); status != nil {
			return nil, 0, status
		}
	}
	grouped := slices.ContainsFunc(node.GetPods(), inGroup)
	if !grouped { // otherwise victims may be elsewhere, too
		budgets = c.engine.guards.among(budgets, c.engine.state.PodDisruptionBudgets, node.GetPods())
	}
	victims, violations, status := c.Interface.SelectVictimsOnNode(ctx, state, pod, node, all, budgets)
	if !grouped {
		kept.KeepEmptied(slot, status)
	}
	return victims, violations, status
}

// orderedStatuses lists nodes in the snapshot's order; upstream's type lists them in random map order. Upstream tries preemption on each
// node, though most have no pod that the preemptor may preempt, or are known to reject it without these. orderedStatuses replaces such nodes by
// nodes without pods, which give the same answer at once.
type orderedStatuses struct {
	*framework.NodeToStatus
	engine    *Engine
	preemptor *v1.Pod
}

func (s orderedStatuses) NodesForStatusCode(lister fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	all, err := lister.List()
	if err != nil {
		return nil, err
	}
	var nodes []fwk.NodeInfo
	own := s.engine.memo == nil || s.engine.own // an additional plugin may read more of the nodes
	var emptied *emptiedNodes
	if !own {
		emptied = s.engine.emptied(s.preemptor, all)
	}
	for i, node := range all {
		if s.Get(node.Node().Name).Code() != code {
			continue
		}
		if !own {
			if _, rejects := emptied.known(i); rejects {
				node = s.withoutPods(node.Node())
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func (s orderedStatuses) withoutPods(node *v1.Node) fwk.NodeInfo {
	if known := s.engine.bare[node.Name]; known != nil { // upstream reads only its name
		return known
	}
	info := framework.NewNodeInfo()
	info.SetNode(node)
	s.engine.bare[node.Name] = bare{info}
	return s.engine.bare[node.Name]
}

// bare is a node without pods. Nobody writes to its snapshots, so it is its own.
type bare struct{ fwk.NodeInfo }

func (b bare) Snapshot() fwk.NodeInfo { return b }

// lowest has the lowest priority of the pods on each node of the snapshot's list, which pods that wait ask for again and again.
type lowest struct {
	nodes []fwk.NodeInfo
	known []lowestKnown
}

type lowestKnown struct{ generation, priority int64 }

// of returns what finds the lowest priority on the node at a place of the list: more than any pod's if it has none, and less if a pod of a pod
// group is there, whose priority is another.
func (l *lowest) of(all []fwk.NodeInfo, nodes *memo.Memo) func(i int) int64 {
	if !cluster.Same(l.nodes, all) { // generations are numbers of this list's nodes
		*l = lowest{all, make([]lowestKnown, len(all))}
	}
	return func(i int) int64 {
		known, generation := &l.known[i], nodes.Generation(i)
		if known.generation != generation {
			*known = lowestKnown{generation, lowestPriority(all[i].GetPods())}
		}
		return known.priority
	}
}

func lowestPriority(pods []fwk.PodInfo) int64 {
	least := int64(math.MaxInt64)
	for _, pod := range pods {
		if inGroup(pod) {
			return math.MinInt64
		}
		least = min(least, int64(corev1.PodPriority(pod.GetPod())))
	}
	return least
}
