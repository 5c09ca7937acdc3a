package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// A pod can have a node and not run: its volume is attached to another node, or it is Terminating on a node that does not answer, so that its
// controller makes no other.

// WhyHalted says why a pod with a node does not run after the step; "" if it runs.
func WhyHalted(state *cluster.State, pod *v1.Pod) string {
	if why := cluster.WaitsForVolume(pod); why != "" {
		return "it has not started, and " + why
	}
	if claims := state.UnselectedClaims(pod); len(claims) > 0 && !cluster.IsTerminal(pod) {
		return fmt.Sprintf("it does not start: claim %s has no volume before the scheduler selects a node for the pod (WaitForFirstConsumer), and spec.nodeName passes the scheduler by", claims[0].Name)
	}
	node := state.Node(pod.Spec.NodeName)
	if pod.DeletionTimestamp == nil || node == nil || cluster.KubeletResponds(node) {
		return ""
	}
	why := fmt.Sprintf("it is Terminating: the kubelet of %s does not answer, so that nobody confirms its end", node.Name)
	if owner := state.Owners()(pod); owner.Kind == "StatefulSet" {
		why += fmt.Sprintf(", and %s makes no other %s as long as it is there", owner, pod.Name)
	}
	return why
}

// FixHalted returns the changes with which a pod runs that has a node and does not run after the last step, and descriptions of those that do not help:
// a rollout that stops the old pod first, or the taint by which an operator says that the pod's node is off.
func FixHalted(ctx context.Context, result *simulation.Result, pod *v1.Pod, opts Options) (fixes []Fix, tried []string, err error) {
	last := result.Last()
	if last.State.Federation != nil {
		return nil, nil, nil
	}
	course, err := simulation.NewCourse(result)
	if err != nil {
		return nil, nil, err
	}
	defer course.Close()
	h := &haltedPod{stuckWorkload: newStuckWorkload(course, last, last.State.Owners()(pod)), pod: pod}
	h.helps = h.helpsPod
	s := search{opts: opts}
	err = s.try(ctx, h.attempts())
	return s.sorted(), s.tried, err
}

// haltedPod is a pod that has a node and does not run.
type haltedPod struct {
	*stuckWorkload
	pod *v1.Pod
}

// attempts returns the ways to help: if the pod waits for a volume, a rollout that stops old pods first or fewer replicas; and the taint of
// out-of-service on the nodes that do not answer and have Terminating pods of the workload, or the deletion of these nodes.
func (h *haltedPod) attempts() []attempt {
	var attempts []attempt
	if cluster.WaitsForVolume(h.pod) != "" {
		if h.oldPodsRun(h.pod) {
			attempts = append(attempts, h.attemptFirst(h.strategyCandidates())...)
		}
		waiting := list.Count(h.step.State.Pods, func(pod *v1.Pod) bool { return h.ownerOf(pod) == h.owner && cluster.WaitsForVolume(pod) != "" })
		if h.object != nil {
			attempts = append(attempts, h.fewer(waiting)...)
		}
	}
	attempts = append(attempts, list.Map(h.letScheduleClaims(), h.attemptOne)...)
	return append(attempts, list.Map(endTerminating(h.step.State, h.owner), h.attemptOne)...)
}

// letScheduleClaims returns the changes with which the claims of a pod get their volumes that waits for the scheduler to select a node and names its own:
// a node selector in place of the name, or the annotation that the scheduler would set.
func (h *haltedPod) letScheduleClaims() []candidate {
	claims, node := h.step.State.UnselectedClaims(h.pod), h.step.State.Node(h.pod.Spec.NodeName)
	if len(claims) == 0 || node == nil {
		return nil
	}
	var all []candidate
	if host := node.Labels[v1.LabelHostname]; host != "" && h.spec != nil && h.spec.NodeName != "" {
		all = append(all, candidate{change: fmt.Sprintf("nodeSelector %s: %s in place of nodeName", v1.LabelHostname, host), edit: func(spec *v1.PodSpec) {
			spec.NodeName = ""
			spec.NodeSelector = maps.Clone(spec.NodeSelector)
			if spec.NodeSelector == nil {
				spec.NodeSelector = map[string]string{}
			}
			spec.NodeSelector[v1.LabelHostname] = host
		}})
	}
	annotate := candidate{change: fmt.Sprintf("annotate %s with %s=%s, as the scheduler does", words.And(list.Map(claims, func(c *v1.PersistentVolumeClaim) string { return "claim " + c.Name })), volume.AnnSelectedNode, node.Name)}
	for _, claim := range claims {
		annotate.steps = append(annotate.steps, action.Merge(action.Target(cluster.RefTo(claim)), map[string]any{"metadata": map[string]any{"annotations": map[string]any{volume.AnnSelectedNode: node.Name}}}))
	}
	return append(all, annotate)
}

// endTerminating returns the changes with which the Terminating pods of a workload end whose nodes do not answer; none if there are no such pods.
func endTerminating(state *cluster.State, owner cluster.Ref) []candidate {
	var silent []*v1.Node
	for _, pod := range podsOf(state)[owner] {
		node := state.Node(pod.Spec.NodeName)
		if pod.DeletionTimestamp != nil && node != nil && !cluster.KubeletResponds(node) && !slices.Contains(silent, node) {
			silent = append(silent, node)
		}
	}
	switch {
	case len(silent) == 0:
		return nil
	case owner.Kind == "DaemonSet": // it has no pod on a node with the taint
		return []candidate{deleteSilent(silent)}
	}
	return []candidate{taintOff(silent), deleteSilent(silent)}
}

// taintOff returns the change by which an operator says that the nodes are off.
func taintOff(nodes []*v1.Node) candidate {
	return candidate{
		change: fmt.Sprintf("taint %s with %s, once it is certain that the %s off", nodesIn(nodes), action.OutOfService.ToString(), words.Pick(len(nodes), "machine is", "machines are")),
		steps:  list.Map(nodes, action.DeclareOff),
	}
}

// deleteSilent returns the change that deletes nodes that do not answer.
func deleteSilent(nodes []*v1.Node) candidate {
	names := list.Map(nodes, func(node *v1.Node) string { return node.Name })
	return candidate{
		change: fmt.Sprintf("delete %s, once it is certain that %s not come back", nodesIn(nodes), words.Pick(len(nodes), "it does", "they do")),
		steps:  []scenario.Step{{RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: names}}}},
	}
}

// helpsPod returns the change as a fix if every pod of the workload that has a node then runs, and as many as before have one.
func (h *haltedPod) helpsPod(_ context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error) {
	state := h.course.State()
	after := state.PodsByWorkload()
	own, was := after[h.owner], h.crewsBefore[h.owner]
	ownerOf := state.Owners()
	halted := func(pod *v1.Pod) bool { return ownerOf(pod) == h.owner && WhyHalted(state, pod) != "" }
	leaves := h.owner.Kind == "DaemonSet" && state.Node(h.pod.Spec.NodeName) == nil // its pod goes with the node
	if id, lasts := cluster.Identity(h.owner, h.pod); slices.ContainsFunc(state.Pods, halted) || lasts && own.Placed[id] == nil && !leaves {
		return nil, nil
	}
	had := list.Count(slices.Collect(maps.Values(was.Placed)), func(pod *v1.Pod) bool {
		return h.owner.Kind != "DaemonSet" || state.Node(pod.Spec.NodeName) != nil
	})
	displaced := h.displaced(after)
	maps.DeleteFunc(displaced, func(owner cluster.Ref, _ int) bool { return owner.Kind == "DaemonSet" }) // its pod goes with a node that is deleted
	if len(own.Placed) < min(had, replicasOf(state, h.owner)) || len(displaced) > 0 {
		return nil, nil
	}
	last := h.course.Last()
	price := append(slices.Clip(c.price), h.replacementPrice(c, own)...)
	if waiting := len(own.Waiting); waiting > 0 {
		price = append(price, words.Count(waiting, "pod")+" of it then "+words.Pick(waiting, "has", "have")+" no node")
	}
	return &Fix{Change: h.describeChange(c), Price: price, Commands: action.Commands(stepsOf(steps)), Steps: encodeSteps(steps), Pending: len(last.Pending), OfWorkload: len(own.Waiting)}, nil
}

// addHalted adds to the pods that have a node why they do not run after the last step, and to the first of each workload what helps. These
// come after the Pending ones. It also adds the warnings of the dump about each pod.
func addHalted(ctx context.Context, result *simulation.Result, pods []Pod, opts Options) error {
	last := result.Last()
	fixed, warnings := map[cluster.Ref]bool{}, readWarnings(result.Scenario)
	for i := range pods {
		pod := &pods[i]
		pod.Warnings = warningsAbout(warnings, last.State, pod.pod())
		if pod.Placed == nil && pod.Runs == "" {
			continue
		}
		at := slices.IndexFunc(last.State.Pods, func(other *v1.Pod) bool { return other.UID == pod.pod().UID })
		if at < 0 {
			continue
		}
		now := last.State.Pods[at]
		if pod.Halted = WhyHalted(last.State, now); pod.Halted == "" {
			pod.Halted = whyNotStarted(now, len(pod.Warnings) > 0) // nothing that the simulation could change helps
			continue
		}
		if fixed[pod.Owner] {
			continue
		}
		fixed[pod.Owner] = true
		var err error
		if pod.Fixes, pod.Tried, err = FixHalted(ctx, result, now, opts); err != nil {
			return err
		}
	}
	rank := func(pod Pod) int {
		switch {
		case pod.Pending != nil:
			return 0
		case pod.Halted != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(pods, func(a, b Pod) int { return rank(a) - rank(b) })
	return nil
}
