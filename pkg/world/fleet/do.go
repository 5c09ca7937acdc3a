package fleet

import (
	"context"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// action carries out one kind of step in a federation.
type action func(f *Fleet, ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error)

// joinResult turns an action into one that returns the state of the changed federation.
func joinResult(do action) func(*Fleet, context.Context, *cluster.State, *scenario.LoadedStep, *world.Record) (*cluster.State, string, error) {
	return func(f *Fleet, ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.State, string, error) {
		next, action, err := do(f, ctx, state, step, to)
		if next == nil || next == state.Federation {
			return state, action, err
		}
		return next.Join(), action, err
	}
}

// actions has the actions of a federation. Some change Karmada's control plane, the others the nodes of members.
var actions = world.Actions[*Fleet]{
	"apply":    joinResult((*Fleet).apply),
	"patch":    joinResult(editAction(world.PatchEdit)),
	"scale":    joinResult(editAction(world.ScaleEdit)),
	"delete":   joinResult((*Fleet).delete),
	"rollout":  joinResult(editAction(world.RolloutEdit)),
	"addNodes": joinResult((*Fleet).addNodes),
	"cordon":   joinResult((*Fleet).cordon),
	"uncordon": joinResult((*Fleet).uncordon),
	"fail":     joinResult((*Fleet).fail),
	"restore":  joinResult((*Fleet).restore),
	"join":     joinResult((*Fleet).join),
}

// Do carries out a step in a federation, and notes the policies whose PriorityClass is missing.
func (f *Fleet) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.State, string, error) {
	next, action, err := actions.Do(ctx, f, state, step, to)
	if control := next.Federation.Control; control != state.Federation.Control {
		to.Notes = append(to.Notes, missingPriorityNotes(control)...)
	}
	return next, action, err
}
