// Package explain explains why pods are where they are (Pods): how the scheduler chose, as recorded, and what would have changed its
// choice. Flips finds what would have sent a pod elsewhere, by scheduling it again. Effects finds what each rule of a workload does, by
// running the scenario again without the rule. Fixes finds what gives a Pending pod a node, by making the change after the step. No answer
// comes from a rule of thumb.
//
//	result of a run ─ step, workload or pod ─▶ what can be changed
//	for each rule:
//	  variant.Edit, simulation.Run ──────────▶ the step as it would be ─ compare ─▶ Effect
//	for each change that concerns what refuses the pod (strategy.go, spread.go, node.go, selector.go, volume.go, unbound.go, renew.go,
//	device.go, request.go, allocatable.go, workload.go), or why a pod with a node does not run (halted.go):
//	  stepsOf ───────────────────────────────▶ further steps, as a user would do them (candidate.go)
//	  simulation.Course ─────────────────────▶ the cluster after them ─ judge ─▶ Fix · tried in vain (judge.go)
//
// Runs are sequential, since each first sets the feature gates of the process. With random ties both runs draw from the same seed, but a
// change can shift the draws; differences are then not necessarily due to the change.
package explain

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Options are the options of a question.
type Options struct {
	// Progress, if set, is called with the number of changes tried and their total.
	Progress func(done, total int)
}

func (o Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

func findStep(result *simulation.Result, name string) (*simulation.Step, error) {
	i := slices.IndexFunc(result.Steps, func(step simulation.Step) bool { return step.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no step %q in the result; ask about one of its steps", name)
	}
	return &result.Steps[i], nil
}

// runToLastStep runs the scenario and returns its last step.
func runToLastStep(ctx context.Context, s *scenario.Scenario) (*simulation.Step, error) {
	result, err := simulation.Run(ctx, s, simulation.Options{})
	if err != nil {
		return nil, err
	}
	return result.Last(), nil
}

// specOf returns the spec of the owner's next pod, or of its newest pod if the owner does not exist.
func specOf(state *cluster.State, owner cluster.Ref) *v1.PodSpec {
	if obj := cluster.Find(state.Objects(), owner); obj != nil {
		if spec, _ := cluster.PodSpec(obj); spec == nil {
			return nil
		}
		return &state.PodOf(obj).Spec
	}
	if pods := podsOf(state)[owner]; len(pods) > 0 {
		return &pods[len(pods)-1].Spec
	}
	return nil
}

// podsOf returns the pods of each workload that have not ended, in the order of their arrival.
func podsOf(state *cluster.State) map[cluster.Ref][]*v1.Pod {
	ownerOf := state.Owners()
	pods := map[cluster.Ref][]*v1.Pod{}
	for _, pod := range state.Pods {
		if !cluster.IsTerminal(pod) {
			owner := ownerOf(pod)
			pods[owner] = append(pods[owner], pod)
		}
	}
	return pods
}
