package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

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

// attempts returns the ways to help: if the pod waits for a volume, a rollout that stops old pods first or fewer replicas, and the taint of
// out-of-service on each node that does not answer and has a Terminating pod of the workload, or the node's deletion.
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
	off := v1.Taint{Key: v1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}
	for _, node := range h.step.State.Nodes {
		waits := slices.ContainsFunc(h.step.State.Pods, func(pod *v1.Pod) bool {
			return pod.Spec.NodeName == node.Name && pod.DeletionTimestamp != nil && h.ownerOf(pod) == h.owner
		})
		if !waits || cluster.KubeletResponds(node) || len(attempts) >= maxPerDomain {
			continue
		}
		name := cluster.RefTo(node).String()
		attempts = append(attempts,
			h.attemptOne(candidate{
				change: fmt.Sprintf("taint node %s with %s, once it is certain that the machine is off", node.Name, off.ToString()),
				steps:  []scenario.Step{action.Merge(scenario.Target{Target: name}, map[string]any{"spec": map[string]any{"taints": append(slices.Clip(node.Spec.Taints), off)}})},
			}),
			h.attemptOne(candidate{
				change: fmt.Sprintf("delete node %s, if it does not come back", node.Name),
				steps:  []scenario.Step{{RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: []string{node.Name}}}}},
			}))
	}
	return attempts
}

// helpsPod returns the change as a fix if every pod of the workload that has a node then runs, and as many as before have one.
func (h *haltedPod) helpsPod(_ context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error) {
	state := h.course.State()
	after := state.PodsByWorkload()
	own, was := after[h.owner], h.crewsBefore[h.owner]
	ownerOf := state.Owners()
	halted := func(pod *v1.Pod) bool { return ownerOf(pod) == h.owner && WhyHalted(state, pod) != "" }
	if id, lasts := cluster.Identity(h.owner, h.pod); slices.ContainsFunc(state.Pods, halted) || lasts && own.Placed[id] == nil {
		return nil, nil
	}
	displaced := h.displaced(after)
	maps.DeleteFunc(displaced, func(owner cluster.Ref, _ int) bool { return owner.Kind == "DaemonSet" }) // its pod goes with a node that is deleted
	if len(own.Placed) < min(len(was.Placed), replicasOf(state, h.owner)) || len(displaced) > 0 {
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
// come after the Pending ones.
func addHalted(ctx context.Context, result *simulation.Result, pods []Pod, opts Options) error {
	last := result.Last()
	fixed := map[cluster.Ref]bool{}
	for i := range pods {
		pod := &pods[i]
		if pod.Placed == nil && pod.Runs == "" {
			continue
		}
		at := slices.IndexFunc(last.State.Pods, func(other *v1.Pod) bool { return other.UID == pod.pod().UID })
		if at < 0 {
			continue
		}
		now := last.State.Pods[at]
		if pod.Halted = WhyHalted(last.State, now); pod.Halted == "" || fixed[pod.Owner] {
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
