package makeroom

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// finder looks for moves. It tries each in the course, and takes it back.
type finder struct {
	Options
	result *simulation.Result
	course *simulation.Course
	// start is the cluster before the moves.
	start *cluster.State
	// podsBefore are the pods of each workload before the moves, and refusedBefore the pods that the API server refused to create.
	podsBefore    map[cluster.Ref]cluster.WorkloadPods
	refusedBefore map[cluster.Ref]int
	// waiting are the pods for which room is asked, and that have no node. message is what the scheduler says about the first.
	waiting []*v1.Pod
	message string
	// refusals says which plugin refused a node to the pods that wait, by node; nil if they differ or the scheduler did not try them alone.
	refusals map[string]string
	// ignoreBudgets lets moves violate budgets.
	ignoreBudgets bool
	// stuck says why pods could not move, by the pod's namespace and name.
	stuck map[string]world.BlockedPod
	// taken are pods that waited and asked for no room, and got the room of moves that did not help.
	taken []Placed
	tried int
}

// begin runs a step that does nothing, and keeps what the scheduler says about the pods that wait.
func (f *finder) begin(ctx context.Context, w *world.Cluster) (err error) {
	last := f.result.State()
	record := func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{} }
	if f.course, err = simulation.Continue(w, f.result, simulation.Options{Record: record}); err != nil {
		return err
	}
	step, err := f.course.Do(ctx, scenario.Step{Name: "as it is"})
	if err != nil {
		return err
	}
	var asked []placement.Pending
	owners := last.Owners()
	for _, p := range step.Pending {
		if f.asksFor(owners(p.Pod), p.Pod) {
			asked = append(asked, p)
		}
	}
	if f.course, err = simulation.Continue(w, f.result, simulation.Options{}); err != nil {
		return err
	}
	f.start = f.course.State()
	f.podsBefore, f.refusedBefore = f.start.PodsByWorkload(), map[cluster.Ref]int{}
	for _, r := range f.start.Refused {
		f.refusedBefore[r.Ref] += r.Pods
	}
	for i := range asked {
		f.waiting = append(f.waiting, asked[i].Pod)
	}
	if len(asked) > 0 {
		f.message = asked[0].Why()
	}
	f.refusals = commonRefusals(f.start, asked)
	return nil
}

// commonRefusals returns the plugin that refuses each node to the pods, if it is the same for all of them.
func commonRefusals(state *cluster.State, pods []placement.Pending) map[string]string {
	var common map[string]string
	for i := range pods {
		cycle := pods[i].Cycle
		if cycle == nil || len(cycle.Refusals) == 0 {
			return nil
		}
		by := map[string]string{}
		for _, r := range cycle.Refusals {
			for _, name := range r.Nodes {
				by[name] = r.Plugin
			}
		}
		if cycle.Named != nil {
			for _, n := range state.Nodes {
				if !slices.Contains(cycle.Named, n.Name) {
					by[n.Name] = "PreFilter"
				}
			}
		}
		if i > 0 {
			for name, plugin := range by {
				if common[name] != plugin {
					return nil
				}
			}
		}
		common = by
	}
	return common
}

// asks reports whether room is asked for the pod.
func (f *finder) asks(pod *v1.Pod) bool { return f.asksFor(f.start.Owners()(pod), pod) }

// asksFor reports whether room is asked for the pod of the owner. Without targets it is asked for each pod that had no node before.
func (f *finder) asksFor(owner cluster.Ref, pod *v1.Pod) bool {
	if len(f.Targets) == 0 {
		if f.start == nil {
			return cluster.IsUnscheduled(pod)
		}
		return slices.ContainsFunc(f.waiting, func(p *v1.Pod) bool { return p.UID == pod.UID })
	}
	refs := []cluster.Ref{owner, {Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}}
	if by := metav1.GetControllerOfNoCopy(pod); by != nil {
		refs = append(refs, cluster.Ref{Kind: by.Kind, Namespace: pod.Namespace, Name: by.Name})
	}
	return slices.ContainsFunc(refs, func(ref cluster.Ref) bool { return slices.Contains(f.Targets, ref) })
}

// countWaiting returns the number of pods for which room is asked and that have no node in the state.
func (f *finder) countWaiting(state *cluster.State) int {
	n := 0
	owners := state.Owners()
	for _, pod := range state.Pods {
		if cluster.IsUnscheduled(pod) && f.asksFor(owners(pod), pod) {
			n++
		}
	}
	return n
}

// explainWorse says what is worse in the last step than before the moves: a pod without a node, a preemption, a pod that is not created; "" if
// nothing is.
func (f *finder) explainWorse(step *simulation.Step) string {
	newly := cluster.NewlyPending(f.podsBefore, step.State)
	owners := step.State.Owners()
	for _, p := range step.Pending {
		if newly[p.Pod.UID] && !f.asksFor(owners(p.Pod), p.Pod) {
			return fmt.Sprintf("pod %s gets no node: %s", cluster.Qualify(p.Pod.Namespace, p.Pod.Name), p.Message)
		}
	}
	for _, p := range step.Preempted {
		return fmt.Sprintf("pod %s is preempted", cluster.Qualify(p.Victim.Namespace, p.Victim.Name))
	}
	for _, r := range step.State.Refused {
		if r.OfWorkload() && r.Pods > f.refusedBefore[r.Ref] {
			return r.Qualified() + ": " + r.Message
		}
	}
	return ""
}
