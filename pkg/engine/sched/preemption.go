package sched

import (
	"cmp"
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
)

// refusal is a scheduling cycle that found no node.
type refusal struct {
	state   fwk.CycleState
	fit     *framework.FitError // nil if the cycle ended for another reason
	message string              // the other reason
	failed  bool                // message is a plugin's error
	again   bool                // the attempt has changed what the pod needs, so it may try again
}

// preempt runs the PostFilter plugins for a pod that fits no node, as schedulingAlgorithm does, and nominates the node where they made
// room. The rejection that it returns holds unless the victims are gone at once. An earlier nomination stays only if the plugins do not
// change it.
func (e *Engine) preempt(profile *profile, next *entry, why *refusal) (placement.Pending, error) {
	if why.fit == nil {
		e.nominate(next, "")
		return placement.Pending{Pod: next.Pod, Message: why.message, Failed: why.failed, Cycle: profile.cycle(next.PodInfo, "")}, nil
	}
	diagnosis := &why.fit.Diagnosis
	silent := profile.attribute(diagnosis)
	reasons := append(reasonsOf(diagnosis), silent...)
	if profile.HasPostFilterPlugins() {
		statuses := orderedStatuses{NodeToStatus: diagnosis.NodeToStatus, engine: e, preemptor: next.Pod}
		victims := len(e.victims)
		e.preemptible = nil
		e.settleUnavailable(why.state, next.Pod)
		e.dryRuns = dryRuns{statuses: &statuses}
		result, status := profile.RunPostFilterPlugins(e.ctx, why.state, next.Pod, statuses)
		spared := e.dryRuns.spared
		e.dryRuns = dryRuns{}
		if e.stopped != nil {
			return placement.Pending{}, e.stopped
		}
		e.justify(victims)
		if err := e.evict(victims); err != nil {
			return placement.Pending{}, err
		}
		// Upstream logs an error and appends its text to the message. For a pod whose claim nobody binds it is "not found", since a plugin
		// after the one that rejected the pod looks for state that was never written.
		diagnosis.PostFilterMsg = e.release.postFilterMessage(status)
		switch {
		case result != nil && result.NominatingInfo != nil:
			e.nominate(next, result.NominatedNodeName)
		case spared && !status.IsSuccess(): // upstream takes an earlier nomination back where no node helps
			e.nominate(next, "")
		}
	} else {
		e.nominate(next, "")
	}
	return placement.Pending{
		Pod:       next.Pod,
		Message:   why.fit.Error(),
		Reasons:   reasons,
		Nominated: next.Pod.Status.NominatedNodeName,
		Cycle:     profile.cycle(next.PodInfo, ""),
	}, nil
}

// capture makes the plugin record its victims in the engine, where upstream deletes them through the API server. It also removes the random
// number from the plugin's choice of candidates.
func (e *Engine) capture(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Evaluator.Interface = candidates{Interface: plugin.Evaluator.Interface, engine: e}
	plugin.Executor.PreemptPod = func(_ context.Context, _ preemption.Candidate, preemptor preemption.ExecutorPreemptor, victim *v1.Pod, _ string) (bool, error) {
		e.victims = append(e.victims, placement.Preemption{Victim: victim, For: preemptor.Pods()[preemptor.GetName()], Node: victim.Spec.NodeName})
		return false, nil
	}
}

// justify says of the victims, starting at that index, how their node was chosen.
func (e *Engine) justify(from int) {
	if len(e.victims) == from {
		return
	}
	node := e.victims[from].Node
	choice := choiceOf(node, e.preemptible)
	if choice == nil { // upstream chooses no node where only one is left
		choice = &placement.Choice{Nodes: 1, Candidates: []placement.PreemptionCandidate{{Node: node}}}
		for i := from; i < len(e.victims); i++ {
			choice.Candidates[0].Victims = append(choice.Candidates[0].Victims, e.victims[i].Victim)
		}
	}
	for i := from; i < len(e.victims); i++ {
		e.victims[i].Choice = choice
	}
}

// evict marks the victims, starting at that index, Terminating in the cache, or removes them if pods end at once. It sorts victims of pod
// groups, because upstream lists the pods of a preempted group in random map order.
func (e *Engine) evict(from int) error {
	if e.gangs != nil {
		slices.SortFunc(e.victims[from:], func(a, b placement.Preemption) int {
			return byName(cluster.NameOf(a.Victim), cluster.NameOf(b.Victim))
		})
	}
	for i := from; i < len(e.victims); i++ {
		victim := e.victims[i].Victim
		if err := e.removePod(victim); err != nil {
			return err
		}
		name := cluster.NameOf(victim)
		e.decided[name] = true
		if e.state.TerminationSeconds == 0 {
			delete(e.bound, name)
			delete(e.timed, name)
			continue
		}
		ending := admission.Terminating(e.state, victim, v1.PodReasonPreemptionByScheduler)
		if err := e.addPod(ending); err != nil {
			return err
		}
		e.bound[name], e.victims[i].Ending = ending, ending
	}
	return nil
}

// candidates replaces the global random offset at which upstream starts to look for nodes to preempt on, and keeps for which nodes there is no
// point in it.
type candidates struct {
	preemption.Interface
	engine *Engine
}

func (c candidates) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	_, number := c.Interface.GetOffsetAndNumCandidates(nodes)
	if c.engine.random == nil {
		return 0, number
	}
	return c.engine.random.Int32N(nodes), number
}

// dryRuns are those of the pod that is tried. Upstream makes one for each node that rejects the pod, though on most nodes no pod may be
// preempted, and others are known to reject the pod even without those that may be. If all nodes are such, the dry runs are spared.
type dryRuns struct {
	statuses *orderedStatuses // why the nodes reject the pod; nil where no pod is tried by itself
	spared   bool
}

// PodEligibleToPreemptOthers is upstream's, for a pod for which a node may be freed. For another, it gives upstream's message at once.
func (c candidates) PodEligibleToPreemptOthers(ctx context.Context, pod *v1.Pod, nominated *fwk.Status) (bool, string) {
	eligible, why := c.Interface.PodEligibleToPreemptOthers(ctx, pod, nominated)
	if statuses := c.engine.dryRuns.statuses; eligible && statuses != nil {
		if message, spared := c.spareDryRuns(ctx, statuses); spared {
			c.engine.dryRuns.spared = true
			return false, message
		}
	}
	return eligible, why
}

// spareDryRuns returns upstream's message for a pod for which no node can be freed, if that is known. See evaluate in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/preemption.go.
func (c candidates) spareDryRuns(ctx context.Context, statuses *orderedStatuses) (string, bool) {
	all, err := c.engine.lister.NodeInfos().List()
	if err != nil {
		return "", false
	}
	because := framework.NewDefaultNodeToStatus()
	known := statuses.knownRejections(all)
	var empty *fwk.Status // what upstream says of a node without pods that may be preempted
	for i, node := range all {
		if statuses.Get(node.Node().Name).Code() != fwk.Unschedulable {
			continue
		}
		status, futile := known(i)
		if !futile {
			return "", false
		}
		if status == nil {
			if empty == nil {
				_, _, empty = c.Interface.SelectVictimsOnNode(ctx, nil, statuses.preemptor, statuses.withoutPods(node.Node()), nil, nil)
			}
			status = empty
		}
		because.Set(node.Node().Name, status)
	}
	if because.Len() > 0 {
		c.GetOffsetAndNumCandidates(int32(because.Len())) // as upstream does, which draws a number
	}
	because.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "Preemption is not helpful for scheduling"))
	fit := framework.FitError{Pod: statuses.preemptor, NumAllNodes: len(all), Diagnosis: framework.Diagnosis{NodeToStatus: because}}
	return fit.Error(), true
}

// SelectVictimsOnNode fails once nobody waits for Place. It asks no node again that rejects the pod even without all pods that may make room,
// until something changes that the filters read. Pods of a pod group make room together, wherever they are, so where there are any, nothing is kept.
func (c candidates) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, all []*preemption.DomainVictim, budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	if status := c.engine.interrupted(); status != nil {
		return nil, 0, status
	}
	kept, name := c.engine.current.memo(), node.Node().Name
	if status := kept.Emptied(name); status != nil {
		return nil, 0, status
	}
	grouped := slices.ContainsFunc(node.GetPods(), inGroup)
	if !grouped { // otherwise victims may be elsewhere, too
		budgets = c.engine.guards.among(budgets, c.engine.state.PodDisruptionBudgets, node.GetPods())
	}
	victims, violations, status := c.Interface.SelectVictimsOnNode(ctx, state, pod, node, all, budgets)
	if !grouped {
		kept.KeepEmptied(name, status)
	}
	return victims, violations, status
}

// guards finds the budgets that guard a pod. Upstream parses the selectors of all budgets for each possible victim of each dry run, to pass over
// those that do not match.
type guards struct {
	budgets   []*policyv1.PodDisruptionBudget // of the state
	selectors *cluster.Selectors              // of the valid ones, which are those at these positions
	valid     []int
}

// among returns those of the budgets that guard one of the pods, in their order. The state has the same budgets.
func (g *guards) among(budgets, state []*policyv1.PodDisruptionBudget, pods []fwk.PodInfo) []*policyv1.PodDisruptionBudget {
	if len(pods) == 0 {
		return nil
	}
	g.follow(state)
	guarding := map[*policyv1.PodDisruptionBudget]bool{}
	for _, pod := range pods {
		for _, i := range g.selectors.Matching(pod.GetPod()) {
			guarding[g.budgets[g.valid[i]]] = true
		}
	}
	if len(guarding) == 0 {
		return nil
	}
	return list.Where(budgets, func(budget *policyv1.PodDisruptionBudget) bool { return guarding[budget] })
}

// follow parses the selectors of the state's budgets, unless only the statuses have changed.
func (g *guards) follow(state []*policyv1.PodDisruptionBudget) {
	if g.selectors != nil && cluster.Same(g.budgets, state) {
		return
	}
	same := g.selectors != nil && slices.EqualFunc(g.budgets, state, func(was, is *policyv1.PodDisruptionBudget) bool {
		return was.Namespace == is.Namespace && was.Spec.Selector == is.Spec.Selector
	})
	if g.budgets = state; same {
		return
	}
	g.selectors, g.valid = &cluster.Selectors{}, nil
	for i, budget := range state {
		if g.selectors.Add(budget.Namespace, budget.Spec.Selector) == nil { // upstream passes over invalid ones
			g.valid = append(g.valid, i)
		}
	}
}

func inGroup(pod fwk.PodInfo) bool { return pod.GetPod().Spec.SchedulingGroup != nil }

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
	known := s.knownRejections(all)
	for i, node := range all {
		if s.Get(node.Node().Name).Code() != code {
			continue
		}
		if _, futile := known(i); futile {
			node = s.withoutPods(node.Node())
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// knownRejections returns what reports whether preemption on the node at a place of the list is known to help nothing, and why the node rejects the
// pod even without the pods that may be preempted; nil if there are none. Nothing is known without a memo, or where an additional plugin may
// read more of the nodes.
func (s orderedStatuses) knownRejections(all []fwk.NodeInfo) func(i int) (*fwk.Status, bool) {
	if s.engine.memo == nil || s.engine.own {
		return func(int) (*fwk.Status, bool) { return nil, false }
	}
	kept, lowest := s.engine.current.memo(), s.engine.lowest.of(all, s.engine.memo)
	priority := int64(corev1.PodPriority(s.preemptor))
	return func(i int) (*fwk.Status, bool) {
		if lowest(i) >= priority {
			return nil, true
		}
		status := kept.Emptied(all[i].Node().Name)
		return status, status != nil
	}
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

// reasonsOf counts the rejections by plugin and message.
func reasonsOf(diagnosis *framework.Diagnosis) []placement.Reason {
	same, count := map[*fwk.Status]int{}, map[placement.Reason]int{}
	diagnosis.NodeToStatus.ForEachExplicitNode(func(_ string, status *fwk.Status) { same[status]++ }) // nodes share those that are kept
	for status, nodes := range same {
		for _, message := range status.Reasons() {
			count[placement.Reason{Plugin: status.Plugin(), Message: message}] += nodes
		}
	}
	var reasons []placement.Reason
	for reason, nodes := range count {
		reason.Nodes = nodes
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b placement.Reason) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Message, b.Message))
	})
	return reasons
}

// discardEvents drops events; the result has their content.
type discardEvents struct{}

func (discardEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (d discardEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return d }
