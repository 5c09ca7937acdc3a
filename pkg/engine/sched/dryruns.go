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

	"github.com/faultline/faultline/pkg/engine/memo"
)

// preemptionInterface is the preemption plugin's own interface, with two changes: it replaces the random offset at which upstream starts to look for
// nodes to preempt on, and it keeps for which nodes preemption is in vain.
type preemptionInterface struct {
	preemption.Interface
	engine    *Engine
	victimsOn func(context.Context, fwk.NodeInfo) ([]*preemption.DomainVictim, error)
}

func (c preemptionInterface) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	_, number := c.Interface.GetOffsetAndNumCandidates(nodes)
	if c.engine.random == nil {
		return 0, number
	}
	return c.engine.random.Int32N(nodes), number
}

// dryRuns is about preemption's dry runs for the current pod. Upstream makes one for each node that rejects the pod, although most nodes
// have no pod that may be preempted, and others are known to reject the pod even without those. If this holds for all nodes, the engine
// skips upstream's dry runs.
type dryRuns struct {
	state           fwk.CycleState
	statuses        *orderedStatuses // why the nodes reject the pod; nil in the cycle of a pod group
	ineligible      bool             // whether the pod may preempt no other pod
	skipped         bool             // whether the dry runs were skipped
	count           int              // of skipped dry runs
	emptiedStatuses []*fwk.Status    // by slot: why the node rejects the pod even without the pods that it may preempt
}

// PodEligibleToPreemptOthers calls upstream's. If no node can be freed for the pod, it returns upstream's final message at once.
func (c preemptionInterface) PodEligibleToPreemptOthers(ctx context.Context, pod *v1.Pod, nominated *fwk.Status) (bool, string) {
	eligible, why := c.Interface.PodEligibleToPreemptOthers(ctx, pod, nominated)
	runs := &c.engine.dryRuns
	if runs.statuses == nil {
		return eligible, why
	}
	if runs.ineligible = !eligible; eligible {
		why, runs.skipped = c.skipDryRuns(ctx, runs)
	}
	return eligible && !runs.skipped, why
}

// skipDryRuns returns upstream's message for a pod for which no node can be freed. It reports false if one of the nodes might be freed.
// See evaluate in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/preemption.go.
func (c preemptionInterface) skipDryRuns(ctx context.Context, runs *dryRuns) (string, bool) {
	all, err := c.engine.lister.NodeInfos().List()
	if err != nil || c.engine.memo == nil || c.engine.hasOwnPlugins { // an additional plugin may read more of the nodes
		return "", false
	}
	statuses := runs.statuses
	because, emptied := framework.NewDefaultNodeToStatus(), c.engine.emptiedNodesFor(statuses.preemptor, all)
	runs.emptiedStatuses = make([]*fwk.Status, len(all))
	var none *fwk.Status // upstream's status for a node without pods that may be preempted
	for i, node := range all {
		if statuses.Get(node.Node().Name).Code() != fwk.Unschedulable {
			continue
		}
		status, rejects := emptied.findRejection(ctx, runs.state, i)
		if !rejects {
			return "", false
		}
		runs.emptiedStatuses[i] = status
		if status == nil {
			if none == nil {
				_, _, none = c.Interface.SelectVictimsOnNode(ctx, nil, statuses.preemptor, statuses.bareNodeFor(node.Node()), nil, nil)
			}
			status = none
		}
		because.Set(node.Node().Name, status)
	}
	if runs.count = because.Len(); runs.count > 0 {
		c.GetOffsetAndNumCandidates(int32(runs.count)) // as upstream does, which draws a random number there
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
}

// emptiedNodesFor returns the nodes without the pods that the pod may preempt.
func (e *Engine) emptiedNodesFor(pod *v1.Pod, all []fwk.NodeInfo) *emptiedNodes {
	return &emptiedNodes{engine: e, kept: e.current.memo(), pod: pod, all: all}
}

// lowest returns the lowest priority of the pods on the node at the slot; see [lowestPriority].
func (n *emptiedNodes) lowest(i int) int64 {
	return n.engine.lowestPriorities.lookUp(i, n.all, n.engine.memo, lowestPriority)
}

// hasGroup reports whether a pod of a pod group runs on the node at the slot.
func (n *emptiedNodes) hasGroup(i int) bool { return n.lowest(i) == math.MinInt64 }

// knownRejection returns why the node at the slot rejects the pod even without the pods that it may preempt. The status is nil if there are no such
// pods. It reports false if no such rejection is known.
func (n *emptiedNodes) knownRejection(i int) (*fwk.Status, bool) {
	if n.lowest(i) >= int64(corev1.PodPriority(n.pod)) {
		return nil, true
	}
	status := n.kept.EmptiedStatus(i)
	return status, status != nil
}

// findRejection does the same, and makes upstream's dry run if nothing is known about the node. It reports false if the node would take the
// pod, or on an error.
func (n *emptiedNodes) findRejection(ctx context.Context, state fwk.CycleState, i int) (*fwk.Status, bool) {
	if status, known := n.knownRejection(i); known || n.kept == nil {
		return status, known
	}
	node, plugin := n.all[i], n.engine.current.preemptionInterface
	var victims []*preemption.DomainVictim
	if n.hasGroup(i) { // otherwise SelectVictimsOnNode knows them
		var err error
		if victims, err = plugin.victimsOn(ctx, node); err != nil {
			return nil, false
		}
	}
	_, _, status := plugin.SelectVictimsOnNode(ctx, state.Clone(), n.pod, node.Snapshot(), victims, nil) // SelectVictimsOnNode keeps the rejection
	return status, status.IsRejected()
}

// SelectVictimsOnNode fails once the caller of Place has canceled. If a node rejects the pod even without all pods that may be preempted,
// it is not asked again until something changes that the filters read. Pods of a pod group are preempted together, on whatever nodes they
// are, so no answer is kept where there are any.
func (c preemptionInterface) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, all []*preemption.DomainVictim, _ []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	if status := c.engine.interrupted(); status != nil {
		return nil, 0, status
	}
	kept, slot := c.engine.current.memo(), 0
	if kept != nil {
		slot = c.engine.memo.Slot(node.Node().Name)
		if status := kept.EmptiedStatus(slot); status != nil {
			return nil, 0, status
		}
	}
	budgets := c.engine.state.PodDisruptionBudgets // upstream gives them in random order
	grouped := slices.ContainsFunc(node.GetPods(), inGroup)
	if kept != nil && !grouped && len(node.GetPods()) > 0 {
		var err error
		if all, budgets, err = c.readNode(ctx, slot, pod); err != nil {
			return nil, 0, fwk.AsStatus(err)
		}
	}
	if c.engine.release.isPreview() {
		budgets = withGuardingSelectors(budgets)
	}
	victims, violations, status := c.Interface.SelectVictimsOnNode(ctx, state, pod, node, all, budgets)
	if !grouped {
		kept.KeepEmptiedStatus(slot, status)
	}
	if c.engine.release.isPreview() && status.IsSuccess() {
		victims = nobodyIfNone(victims)
	}
	return victims, violations, status
}

// readNode returns the possible victims on the node at the slot, and the disruption budgets that may forbid the pod to preempt them. No pod
// of a pod group may run there.
func (c preemptionInterface) readNode(ctx context.Context, slot int, pod *v1.Pod) ([]*preemption.DomainVictim, []*policyv1.PodDisruptionBudget, error) {
	e := c.engine
	all, err := e.lister.NodeInfos().List()
	if err != nil {
		return nil, nil, err
	}
	victims := e.domainVictims.lookUp(slot, all, e.memo, func(node fwk.NodeInfo) (found []*preemption.DomainVictim) {
		found, err = c.victimsOn(ctx, node)
		return found
	})
	return victims, e.budgets.forbiddingOn(slot, all, e.memo, e.state.PodDisruptionBudgets, corev1.PodPriority(pod)), err
}

// orderedStatuses lists nodes in the snapshot's order; upstream's type lists them in random map order. Upstream tries preemption on each
// node. Most nodes have no pod that the preemptor may preempt, or are known to reject it even without such pods: orderedStatuses replaces
// these nodes by nodes without pods, which give the same answer at once.
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
	own := s.engine.memo == nil || s.engine.hasOwnPlugins // an additional plugin may read more of the nodes
	var emptied *emptiedNodes
	if !own {
		emptied = s.engine.emptiedNodesFor(s.preemptor, all)
	}
	for i, node := range all {
		if s.Get(node.Node().Name).Code() != code {
			continue
		}
		if !own {
			if _, rejects := emptied.knownRejection(i); rejects {
				node = s.bareNodeFor(node.Node())
			} else if emptied.kept != nil && !emptied.hasGroup(i) {
				node = hiddenPods{node} // SelectVictimsOnNode knows the possible victims
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// hiddenPods is a node whose pods only its snapshots show.
type hiddenPods struct{ fwk.NodeInfo }

func (hiddenPods) GetPods() []fwk.PodInfo { return nil }

// bareNodeFor returns the node without pods.
func (s orderedStatuses) bareNodeFor(node *v1.Node) fwk.NodeInfo {
	if known := s.engine.bareNodes[node.Name]; known != nil { // upstream reads only its name
		return known
	}
	info := framework.NewNodeInfo()
	info.SetNode(node)
	s.engine.bareNodes[node.Name] = bareNode{info}
	return s.engine.bareNodes[node.Name]
}

// bareNode is a node without pods. Nobody writes to its snapshots, so it returns itself as its snapshot.
type bareNode struct{ fwk.NodeInfo }

func (b bareNode) Snapshot() fwk.NodeInfo { return b }

// lowestPriority returns the lowest priority of the pods on the node. It returns MaxInt64 for a node without pods, and MinInt64 for a node
// with a pod of a pod group, whose own priority does not decide.
func lowestPriority(node fwk.NodeInfo) int64 {
	least := int64(math.MaxInt64)
	for _, pod := range node.GetPods() {
		if inGroup(pod) {
			return math.MinInt64
		}
		least = min(least, int64(corev1.PodPriority(pod.GetPod())))
	}
	return least
}
