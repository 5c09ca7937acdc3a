// Package explain tells why pods are where they are (Pods): how the scheduler chose, as it was recorded, and what would have changed
// that. What would have sent a pod elsewhere (Flips) is found by scheduling it again; what each of its rules does (Effects), and what
// would place a Pending one (Fixes), by running the scenario again with one thing changed. No answer comes from a rule of thumb.
//
//	result of a run ─ step, workload or pod ─▶ what can be changed
//	for each change:
//	  scenario.Edit, Scale, With, Then ──────▶ the scenario as it would be, up to the step
//	  simulation.Run ────────────────────────▶ the step as it would be
//	  compare ───────────────────────────────▶ Effect · Fix · tried in vain
//
// The runs follow one another, since each sets the feature gates of the process before it begins. With random ties both runs draw
// from the same seed, but a change can shift what is drawn for whom; then what differs need not be the change's doing.
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

// Options are what a question can be given besides what it is about.
type Options struct {
	// Progress, if set, is told how many of the changes have been tried, and of how many.
	Progress func(done, total int)
}

func (o Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

// stepOf returns the named step.
func stepOf(result *simulation.Result, name string) (*simulation.Step, error) {
	i := slices.IndexFunc(result.Steps, func(step simulation.Step) bool { return step.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no step %q in the result; ask about one of its steps", name)
	}
	return &result.Steps[i], nil
}

// last runs the scenario and returns its last step.
func last(ctx context.Context, s *scenario.Scenario) (*simulation.Step, error) {
	result, err := simulation.Run(ctx, s, simulation.Options{})
	if err != nil {
		return nil, err
	}
	return &result.Steps[len(result.Steps)-1], nil
}

// specOf returns the spec that the owner's next pod would be made from; that of its newest pod where the owner is not there.
func specOf(state *cluster.State, owner cluster.Ref) *v1.PodSpec {
	if obj := objectOf(state, owner); obj != nil {
		spec, _ := cluster.PodSpec(obj)
		return spec
	}
	if pods := podsOf(state)[owner]; len(pods) > 0 {
		return &pods[len(pods)-1].Spec
	}
	return nil
}

func objectOf(state *cluster.State, owner cluster.Ref) cluster.Object {
	for _, obj := range state.Objects() {
		if cluster.RefTo(obj) == owner {
			return obj
		}
	}
	return nil
}

// podsOf returns the pods of each workload that have not ended, in order of arrival.
func podsOf(state *cluster.State) map[cluster.Ref][]*v1.Pod {
	ownerOf := state.Owners()
	pods := map[cluster.Ref][]*v1.Pod{}
	for _, pod := range state.Pods {
		if !cluster.Terminal(pod) {
			owner := ownerOf(pod)
			pods[owner] = append(pods[owner], pod)
		}
	}
	return pods
}
