package world

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
)

// Actions has a function for each kind of step, by the name of the step's field in the file. A function returns the state after the step,
// nil if the state stays as it is, and a description of the step as a kubectl command. It appends to the record what happens on the way.
type Actions[W any] map[string]func(w W, ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error)

// Do carries out the step's actions. A valid step has one. An action that the world does not support is skipped: loading the scenario has
// reported it.
func (a Actions[W]) Do(ctx context.Context, w W, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	var did []string
	var problems []error
	for _, given := range step.Actions() {
		if do := a[given.Name]; do != nil {
			next, action, err := do(w, ctx, state, step, to)
			if did, problems = append(did, action), append(problems, err); next != nil {
				state = next
			}
		}
	}
	return state, strings.Join(did, ", "), errors.Join(problems...)
}

// actions has the actions of a cluster, each in its own file.
var actions = Actions[*Cluster]{
	"apply":        (*Cluster).apply,
	"patch":        editAction(PatchEdit),
	"scale":        editAction(ScaleEdit),
	"scaleBy":      (*Cluster).scaleBy,
	"peak":         (*Cluster).peak,
	"delete":       (*Cluster).delete,
	"rollout":      editAction(RolloutEdit),
	"trigger":      (*Cluster).trigger,
	"finish":       (*Cluster).finish,
	"addNodes":     (*Cluster).addNodes,
	"removeNodes":  (*Cluster).removeNodes,
	"replaceNodes": (*Cluster).replaceNodes,
	"cordon":       (*Cluster).cordon,
	"uncordon":     (*Cluster).uncordon,
	"drain":        (*Cluster).drain,
	"makeRoom":     (*Cluster).makeRoom,
	"fail":         (*Cluster).fail,
	"restore":      (*Cluster).restore,
}

// Do carries out the step; see [World].
func (c *Cluster) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	c.beginDeciders(step.Name)
	return actions.Do(ctx, c, state, step, to)
}

// admit lets the API server accept the objects, and notes the defaults that it assumed. If the server refuses one, the error is a [Problem]
// at path, and the state still gets the objects as given, so that later steps do not fail for the same reason.
func (c *Cluster) admit(state *cluster.State, path *field.Path, to *Record, objects ...cluster.Object) (*cluster.State, error) {
	return c.admitWith(admission.Admit, state, path, to, objects...)
}

// admitWith does what admit does, with the given function of the API server.
func (c *Cluster) admitWith(admit func(*cluster.State, ...cluster.Object) (*cluster.State, []string, error), state *cluster.State, path *field.Path, to *Record, objects ...cluster.Object) (*cluster.State, error) {
	objects, err := c.admitByDeciders(state, objects)
	if err != nil {
		return state, &Problem{path, err}
	}
	next, notes, err := admit(state, objects...)
	if err != nil {
		return state.With(objects...), &Problem{path, err}
	}
	to.Notes = append(to.Notes, notes...)
	return next, nil
}

// applyInTurn applies do to one item after another, as kubectl goes through a list: controllers and scheduler react to each item before the
// next, and the record gets what happens. With together, do gets all items in one call.
func applyInTurn[T any](ctx context.Context, c *Cluster, state *cluster.State, to *Record, together bool, all []T, do func(*cluster.State, ...T) (*cluster.State, error)) (*cluster.State, error) {
	if together {
		return do(state, all...)
	}
	for i, one := range all {
		var err error
		if i > 0 {
			if state, _, err = c.runRound(ctx, state, to); err != nil {
				return nil, err
			}
		}
		if state, err = do(state, one); err != nil {
			return nil, err
		}
	}
	return state, nil
}
