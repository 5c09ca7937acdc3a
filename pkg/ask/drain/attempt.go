package drain

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// maxNewNodes is the largest number of new nodes that is tried.
const maxNewNodes = 4

// attempts returns the changes for a drain that kubectl begins, and that does not end or leaves pods without a node.
func (d *stuckDrain) attempts() []attempt {
	kept, ended := d.keptPods()
	var all []attempt
	if len(kept) > 0 {
		all = slices.Concat(d.runMore(kept), d.letBecomeReady(kept), d.widenBudgets(kept), d.evictUnready(kept), d.askAsManyAsAreReady(kept), d.keepOneBudget(kept))
	}
	all = slices.Concat(all, d.leaveOutTainted(), d.addNodes())
	if len(kept) > 0 {
		all = append(all, d.deleteByHand(kept))
	}
	all = slices.Concat(all, d.declareOff(ended), d.uncordonAfter())
	for i := range all {
		all[i].options, all[i].flags = d.options, slices.Concat(d.flags, all[i].flags)
		all[i].price = slices.Concat(d.flagPrice, all[i].price)
		if len(d.flags) > 0 {
			all[i].change = "kubectl drain with " + words.And(d.flags) + ", and " + all[i].change
		}
	}
	return all
}

// keptPods returns the pods that the API server does not let go, and the Terminating ones that do not end.
func (d *stuckDrain) keptPods() (kept, ended []*v1.Pod) {
	for i := range d.drained {
		for _, refused := range d.drained[i].Refused {
			at := slices.IndexFunc(d.end.Pods, func(pod *v1.Pod) bool { return pod.Namespace == refused.Namespace && pod.Name == refused.Name })
			switch {
			case at < 0:
			case d.end.Pods[at].DeletionTimestamp == nil:
				kept = append(kept, d.end.Pods[at])
			default:
				ended = append(ended, d.end.Pods[at])
			}
		}
	}
	return kept, ended
}

// budgetsOf returns the budgets of the pods, each once.
func (d *stuckDrain) budgetsOf(pods []*v1.Pod) []*policyv1.PodDisruptionBudget {
	of := d.end.Budgets()
	var all []*policyv1.PodDisruptionBudget
	for _, pod := range pods {
		for _, budget := range of(pod) {
			if !slices.Contains(all, budget) {
				all = append(all, budget)
			}
		}
	}
	return all
}

// ownersOf returns the workloads of the pods that have replicas, each once, with these.
func (d *stuckDrain) ownersOf(pods []*v1.Pod) (owners []cluster.Ref, replicas []int32) {
	for _, pod := range pods {
		owner := d.ownerOf(pod)
		if obj := d.end.Find(owner); obj != nil && !slices.Contains(owners, owner) && d.unknownOwner(pod) == "" {
			if n, scales := cluster.Replicas(obj); scales {
				owners, replicas = append(owners, owner), append(replicas, n)
			}
		}
	}
	return owners, replicas
}

// unknownOwner returns the kind of the pod's controller if the controller is not in the input, so that nobody knows whether it scales; "" if it is.
func (d *stuckDrain) unknownOwner(pod *v1.Pod) string {
	ref := metav1.GetControllerOfNoCopy(pod)
	switch d.end.Find(d.ownerOf(pod)).(type) {
	case *cluster.UnknownOwner, nil:
		if ref != nil {
			return ref.Kind
		}
	}
	return ""
}

// runMore returns the attempt that runs one more replica of each workload, so that its budget has one to spare. It does not count on a new
// replica of a workload that has a pod which started and is not Ready: the new one may not be Ready either.
func (d *stuckDrain) runMore(kept []*v1.Pod) []attempt {
	owners, replicas := d.ownersOf(kept)
	if len(owners) == 0 || slices.ContainsFunc(owners, d.hasUnready) {
		return nil
	}
	a := attempt{price: []string{"scale back after the drain"}}
	var says []string
	for i, owner := range owners {
		says = append(says, fmt.Sprintf("run %d replicas of %s (now %d)", replicas[i]+1, owner.Qualified(), replicas[i]))
		a.steps = append(a.steps, scenario.Step{Scale: &scenario.Scale{Target: action.Target(owner), Replicas: replicas[i] + 1}})
	}
	a.change = words.Few(says)
	return []attempt{a}
}

// hasUnready reports whether a pod of the workload is not Ready although its node answers.
func (d *stuckDrain) hasUnready(workload cluster.Ref) bool {
	return slices.ContainsFunc(d.end.Pods, func(pod *v1.Pod) bool {
		return d.hasStarted(pod) && !podutil.IsPodReady(pod) && d.ownerOf(pod) == workload
	})
}

// letBecomeReady returns the attempt in which the pods become ready that use up the budgets of the kept pods: they have started and are not Ready.
func (d *stuckDrain) letBecomeReady(kept []*v1.Pod) []attempt {
	of, budgets := d.end.Budgets(), d.budgetsOf(kept)
	a := attempt{byHand: true}
	var says []string
	for _, pod := range d.end.Pods {
		counted := slices.ContainsFunc(of(pod), func(b *policyv1.PodDisruptionBudget) bool { return slices.Contains(budgets, b) })
		if !counted || !d.hasStarted(pod) || podutil.IsPodReady(pod) || slices.Contains(kept, pod) {
			continue
		}
		says = append(says, fmt.Sprintf("%s on %s", pod.Name, pod.Spec.NodeName))
		a.steps = append(a.steps, action.MakeReady(pod))
	}
	if len(says) == 0 {
		return nil
	}
	a.change = fmt.Sprintf("let %s become Ready: %s the budget up, and %s log says why", words.Pick(len(says), "pod ", "pods ")+words.Few(says),
		words.Pick(len(says), "it uses", "they use"), words.Pick(len(says), "its", "their"))
	return []attempt{a}
}

// hasStarted reports whether the pod is on a node that answers.
func (d *stuckDrain) hasStarted(pod *v1.Pod) bool {
	node := d.end.Node(pod.Spec.NodeName)
	return node != nil && cluster.KubeletResponds(node) && cluster.IsActive(pod)
}

// widenBudgets returns the attempt that lets each budget allow one pod to be missing besides those that are not ready and stay.
func (d *stuckDrain) widenBudgets(kept []*v1.Pod) []attempt {
	var a attempt
	var says []string
	of, most, unknown := d.end.Budgets(), int32(0), ""
	for _, budget := range d.budgetsOf(kept) {
		now := "no bound"
		switch {
		case budget.Spec.MinAvailable != nil:
			now = "minAvailable " + budget.Spec.MinAvailable.String()
		case budget.Spec.MaxUnavailable != nil:
			now = "maxUnavailable " + budget.Spec.MaxUnavailable.String()
		}
		leaving := int32(list.Count(kept, func(pod *v1.Pod) bool {
			return !podutil.IsPodReady(pod) && slices.Contains(of(pod), budget)
		}))
		if at := slices.IndexFunc(kept, func(pod *v1.Pod) bool { return d.unknownOwner(pod) != "" && slices.Contains(of(pod), budget) }); at >= 0 {
			least := max(0, budget.Status.DesiredHealthy-1) // a budget with maxUnavailable asks the controller's scale, which it may not have
			if now == fmt.Sprintf("minAvailable %d", least) {
				continue
			}
			says = append(says, fmt.Sprintf("set minAvailable: %d in %s (now %s)", least, nameOf(budget), now))
			a.steps = append(a.steps, patchSpec(budget, map[string]any{"minAvailable": least, "maxUnavailable": nil}))
			unknown = d.unknownOwner(kept[at])
			continue
		}
		missing := 1 + max(0, budget.Status.ExpectedPods-budget.Status.CurrentHealthy-leaving)
		if now == fmt.Sprintf("maxUnavailable %d", missing) {
			continue
		}
		most = max(most, missing)
		says = append(says, fmt.Sprintf("set maxUnavailable: %d in %s (now %s)", missing, nameOf(budget), now))
		a.steps = append(a.steps, patchSpec(budget, map[string]any{"maxUnavailable": missing, "minAvailable": nil}))
	}
	if len(says) == 0 {
		return nil
	}
	a.change = words.Few(says)
	if most > 0 {
		a.price = append(a.price, words.Pick(int(most), "one pod", fmt.Sprintf("%d pods", most))+" of it may be missing, always")
	}
	if unknown != "" {
		a.price = append(a.price, fmt.Sprintf("whatever works with the %s loses its guard, and its controller may set the budget back", unknown))
	}
	return []attempt{a}
}

// evictUnready returns the attempt that lets the budgets give up pods that are not ready, if some of the pods are not.
func (d *stuckDrain) evictUnready(kept []*v1.Pod) []attempt {
	unready := list.Without(kept, podutil.IsPodReady)
	if len(unready) == 0 {
		return nil
	}
	var a attempt
	var says []string
	for _, budget := range d.budgetsOf(unready) {
		says = append(says, nameOf(budget))
		a.steps = append(a.steps, patchSpec(budget, map[string]any{"unhealthyPodEvictionPolicy": policyv1.AlwaysAllow}))
	}
	a.change = "set unhealthyPodEvictionPolicy: AlwaysAllow in " + words.Few(says)
	return []attempt{a}
}

// askAsManyAsAreReady returns the attempt that lets the budgets of pods that are not ready want as many pods as are ready. A budget that has these lets
// pods go that are not ready.
func (d *stuckDrain) askAsManyAsAreReady(kept []*v1.Pod) []attempt {
	var a attempt
	var says []string
	for _, budget := range d.budgetsOf(list.Without(kept, podutil.IsPodReady)) {
		ready := budget.Status.CurrentHealthy
		if budget.Spec.MinAvailable == nil || ready == 0 || ready >= budget.Status.DesiredHealthy {
			continue
		}
		says = append(says, fmt.Sprintf("set minAvailable: %d in %s (now %s)", ready, nameOf(budget), budget.Spec.MinAvailable))
		a.steps = append(a.steps, patchSpec(budget, map[string]any{"minAvailable": ready}))
	}
	if len(says) == 0 {
		return nil
	}
	a.change = words.Few(says)
	a.price = []string{"as few pods of it as are ready now suffice, always"}
	return []attempt{a}
}

// keepOneBudget returns the attempts that delete all budgets but one of pods that have several: the API server evicts no such pod.
func (d *stuckDrain) keepOneBudget(kept []*v1.Pod) []attempt {
	of := d.end.Budgets()
	var all []attempt
	for _, pod := range kept {
		budgets := of(pod)
		if len(budgets) < 2 || len(all) > 0 {
			continue
		}
		for _, stays := range budgets {
			others := list.Without(budgets, func(b *policyv1.PodDisruptionBudget) bool { return b == stays })
			a := attempt{change: fmt.Sprintf("delete %s, and keep %s: the API server evicts no pod with several budgets", words.And(list.Map(others, nameOf)), nameOf(stays))}
			for _, other := range others {
				a.steps = append(a.steps, action.Delete(other.Namespace, "poddisruptionbudget/"+other.Name))
			}
			all = append(all, a)
		}
	}
	return all
}

// leaveOutTainted returns the attempt that lets the spread constraints of the workloads whose pods have no node leave out tainted nodes, as cordoned
// ones are: without a pod, a drained node else holds the others to maxSkew.
func (d *stuckDrain) leaveOutTainted() []attempt {
	var a attempt
	var says []string
	for _, pod := range d.end.Pods {
		owner := d.ownerOf(pod)
		waits := slices.ContainsFunc(newlyPending(d.drained), func(p world.PendingPod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name })
		obj := d.end.Find(owner)
		if !waits || obj == nil || slices.Contains(says, owner.Qualified()) {
			continue
		}
		template, _ := cluster.Template(obj)
		if template == nil {
			continue
		}
		var honoring []v1.TopologySpreadConstraint
		for _, c := range template.Spec.TopologySpreadConstraints {
			if c.WhenUnsatisfiable == v1.DoNotSchedule {
				c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor)
			}
			honoring = append(honoring, c)
		}
		if equality.Semantic.DeepEqual(honoring, template.Spec.TopologySpreadConstraints) || owner.Kind == "Job" || owner.Kind == "CronJob" {
			continue
		}
		says = append(says, owner.Qualified())
		a.steps = append(a.steps, action.Merge(action.Target(owner), map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"topologySpreadConstraints": honoring}}}}))
	}
	if len(says) == 0 {
		return nil
	}
	a.change = "set nodeTaintsPolicy: Honor in the spread of " + words.Few(says)
	a.price = []string{"replaces its pods"}
	return []attempt{a}
}

// addNodes returns the attempts that add nodes like the first one. Fewer come first.
func (d *stuckDrain) addNodes() []attempt {
	waits := 0
	if n := len(d.drained); n > 0 {
		waits = len(d.drained[n-1].Pending) // a budget may wait for pods that were Pending before
	}
	var all []attempt
	for n := 1; n <= min(waits, maxNewNodes); n++ {
		all = append(all, attempt{change: words.Pick(n, "one more node", fmt.Sprintf("%d more nodes", n)) + " like " + d.nodes[0], byHand: true, newNodes: true,
			steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: n, Like: d.nodes[0]}}}})
	}
	return all
}

// deleteByHand returns the attempt that cordons the nodes and deletes the pods, which asks no budget.
func (d *stuckDrain) deleteByHand(kept []*v1.Pod) attempt {
	a := attempt{steps: []scenario.Step{{Cordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: d.nodes}}}}}
	names := list.Map(kept, func(pod *v1.Pod) string { return pod.Name })
	for _, pods := range list.GroupBy(kept, func(pod *v1.Pod) string { return pod.Namespace }) {
		a.steps = append(a.steps, action.Delete(pods[0].Namespace, list.Map(pods, func(pod *v1.Pod) string { return "pod/" + pod.Name })...))
	}
	a.change = fmt.Sprintf("cordon %s, then delete %s %s, which asks no budget", words.Few(d.nodes), words.Pick(len(names), "pod", "pods"), words.Few(names))
	a.price = []string{words.Pick(len(names), "it does not run", "they do not run") + " until the replacement is ready"}
	if at := slices.IndexFunc(kept, func(pod *v1.Pod) bool { return d.unknownOwner(pod) != "" }); at >= 0 {
		a.price[0] += fmt.Sprintf(", if its %s makes one", d.unknownOwner(kept[at]))
	}
	return a
}

// declareOff returns the attempt that says of the nodes whose kubelets do not answer that their machines are off.
func (d *stuckDrain) declareOff(ended []*v1.Pod) []attempt {
	var a attempt
	var names []string
	for _, pod := range ended {
		node := d.end.Node(pod.Spec.NodeName)
		if node == nil || cluster.KubeletResponds(node) || slices.Contains(names, node.Name) {
			continue
		}
		names = append(names, node.Name)
		a.steps = append(a.steps, action.DeclareOff(node))
	}
	if len(names) == 0 {
		return nil
	}
	a.change = fmt.Sprintf("taint %s with %s, once it is certain that the machine is off", words.Few(names), action.OutOfService.ToString())
	return []attempt{a}
}

// uncordonAfter returns the attempt that uncordons the nodes after a drain that ends and leaves pods without a node.
func (d *stuckDrain) uncordonAfter() []attempt {
	waits := newlyPending(d.drained)
	if !ends(d.drained) || len(waits) == 0 {
		return nil
	}
	names := list.Map(waits, func(p world.PendingPod) string { return p.Name })
	return []attempt{{
		change: fmt.Sprintf("uncordon %s when the work there is done: %s %s back", words.Few(d.nodes), words.Few(names), words.Pick(len(names), "comes", "come")),
		price:  []string{words.Pick(len(names), "it does not run", "they do not run") + " until then"},
		after:  []scenario.Step{{Uncordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: d.nodes}}}},
	}}
}

// nameOf returns, for example, "poddisruptionbudget/web" or "shop/poddisruptionbudget/web".
func nameOf(budget *policyv1.PodDisruptionBudget) string { return cluster.RefTo(budget).Qualified() }

func patchSpec(budget *policyv1.PodDisruptionBudget, spec map[string]any) scenario.Step {
	return action.Merge(action.Target(cluster.RefTo(budget)), map[string]any{"spec": spec})
}
