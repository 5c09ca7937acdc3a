package fleet

import (
	"context"
	"errors"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Do carries out a step of a federation: what users apply, change and delete in Karmada's control plane, and nodes in the members.
func (f *Fleet) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.State, string, error) {
	before := state.Federation.Control
	var did []string
	var problems []error
	done := func(next *cluster.Federation, action string, err error) {
		did, problems = append(did, action), append(problems, err)
		if next != nil && next != state.Federation {
			state = next.Join()
		}
	}
	if step.Karmada.Joined != nil {
		done(f.joined(state.Federation, step.Karmada.Joined, to))
	}
	if step.Apply != nil {
		done(apply(state, step))
	}
	for _, edit := range world.EditsOf(step, state.Now) {
		done(change(state, &edit, step.Patch))
	}
	if step.Delete != nil {
		done(deleteTemplates(ctx, state.Federation, step))
	}
	if step.Cordon != nil {
		done(f.onMembers(ctx, state, "cordon", step.Cordon, func(on *scenario.NodesInTurn) scenario.Step { return scenario.Step{Cordon: on} }, to))
	}
	if step.Uncordon != nil {
		done(f.onMembers(ctx, state, "uncordon", step.Uncordon, func(on *scenario.NodesInTurn) scenario.Step { return scenario.Step{Uncordon: on} }, to))
	}
	if step.Fail != nil {
		done(f.fail(state, step.Fail))
	}
	if step.Restore != nil {
		done(f.restore(ctx, state, step.Restore, to))
	}
	if control := state.Federation.Control; control != before {
		to.Notes = append(to.Notes, unqueued(control)...)
	}
	return state, strings.Join(did, ", "), errors.Join(problems...)
}
