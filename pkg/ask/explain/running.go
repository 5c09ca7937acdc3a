package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
	"github.com/faultline/faultline/pkg/world/fleet"
)

// Pods that came with their nodes, as in a dump, were not placed by this run. Each is placed again: on the cluster after the step, without
// only this pod.

// findRunning returns the step of the question, or the last step, and the pods in question that came with a node.
func (of Question) findRunning(result *simulation.Result) (*simulation.Step, []*v1.Pod) {
	step := of.step(result)
	if step == nil {
		return nil, nil
	}
	placed := map[types.UID]bool{}
	for i := range result.Steps {
		for _, p := range result.Steps[i].Placed {
			placed[p.Pod.UID] = true
		}
	}
	asked := of.podFilter(step)
	pods := list.Where(step.State.Pods, func(pod *v1.Pod) bool {
		return pod.Spec.NodeName != "" && !placed[pod.UID] && !cluster.IsTerminal(pod) && asked(pod)
	})
	return step, pods
}

// placeAgain returns where the scheduler would place each of the pods if only that pod had no node.
func placeAgain(ctx context.Context, result *simulation.Result, step *simulation.Step, pods []*v1.Pod) ([]Pod, error) {
	engine, err := sched.NewEngine(result.Scenario.Config, sched.Ties{})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	owner := step.State.Owners()
	var explained []Pod
	for _, pod := range pods {
		state, waiting, member := step.State, *pod, memberOf(step.State, pod)
		if member != nil {
			state, waiting = member.State, *member.MemberPod(pod)
		}
		waiting.Spec.NodeName = ""
		waiting.Spec.SchedulingGroup = nil // only this pod has no node, not the other pods of its group
		waiting.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: pod.Status.QOSClass, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses}
		waiting.DeletionTimestamp = nil
		missing := *state.With(&waiting)
		missing.ResourceClaims = controller.ClaimsInUse(&missing)
		engine.Reset()
		engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Before: true} }
		placed, err := engine.Place(ctx, &missing, []*v1.Pod{&waiting})
		if err != nil {
			return nil, err
		}
		did := &world.Record{Placed: placed.Placed, Pending: placed.Pending}
		if member != nil {
			did = fleet.JoinRecord(member, did)
		}
		again := Pod{Step: step.Name, Owner: owner(pod), Runs: pod.Spec.NodeName}
		if len(did.Placed) > 0 {
			again.Placed = &did.Placed[0]
			if again.Flips, err = flipsIn(ctx, result.Scenario.Config, member, again.Placed); err != nil {
				return nil, err
			}
		} else {
			again.Pending = &did.Pending[0]
		}
		again.Notes = append(again.Notes, fmt.Sprintf("the pod came with its node, %s; this is where it would go now, if it alone had none", again.Runs))
		explained = append(explained, again)
	}
	return explained, nil
}

// endingNotes returns a note for each pod of a dump that was Terminating on the node which the pod got. It is taken to end when its grace period does,
// and in the cluster it may have stayed for hours: a finalizer keeps it, or its kubelet cannot stop it.
func endingNotes(s *scenario.Scenario, pod *Pod) []string {
	objects := slices.Clone(s.Cluster)
	for i := range s.Steps {
		if s.Steps[i].Name == pod.Step {
			objects = append(objects, s.Steps[i].Objects...)
		}
	}
	var notes []string
	for _, obj := range objects {
		ending, is := obj.(*v1.Pod)
		if !is || ending.DeletionTimestamp == nil || ending.Spec.NodeName != pod.Placed.Node || cluster.IsTerminal(ending) || !cluster.FromDump(ending) {
			continue
		}
		kept := ""
		if len(ending.Finalizers) > 0 {
			kept = fmt.Sprintf(" (%s %s)", words.Pick(len(ending.Finalizers), "finalizer", "finalizers"), words.And(ending.Finalizers))
		}
		notes = append(notes, fmt.Sprintf("pod %s of the dump is Terminating on %s since %s%s; here it ends and its room is free, and until it does the cluster counts it",
			cluster.Qualify(ending.Namespace, ending.Name), pod.Placed.Node, ending.DeletionTimestamp.Add(-time.Duration(ptr.Deref(ending.DeletionGracePeriodSeconds, 0))*time.Second).UTC().Format(time.RFC3339), kept))
	}
	return notes
}
