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

// Actions are what each kind of step does to a world, by the name of its field in the file. An action returns the state after it, nil for
// one that stays as it is, and describes itself as a kubectl command. What happens on the way is added to the record.
type Actions[W any] map[string]func(w W, ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error)

// Do does what the step says: one action, unless the step is wrong. What the world does not take is reported already.
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

// actions are those of a cluster, each in its own file.
var actions = Actions[*Cluster]{
	"apply":        (*Cluster).apply,
	"patch":        edit(Patch),
	"scale":        edit(Scale),
	"scaleBy":      (*Cluster).scaleBy,
	"delete":       (*Cluster).delete,
	"rollout":      edit(Rollout),
	"trigger":      (*Cluster).trigger,
	"addNodes":     (*Cluster).addNodes,
	"removeNodes":  (*Cluster).removeNodes,
	"replaceNodes": (*Cluster).replaceNodes,
	"cordon":       (*Cluster).cordon,
	"uncordon":     (*Cluster).uncordon,
	"drain":        (*Cluster).drain,
	"fail":         (*Cluster).fail,
	"restore":      (*Cluster).restore,
}

// Do carries out the step.
func (c *Cluster) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	return actions.Do(ctx, c, state, step, to)
}

// admit lets the API server take the objects, and notes what it assumes. Of a problem the field is where the step gives them. The state then
// has them as they were given, so that what comes after is not wrong for this.
func (c *Cluster) admit(state *cluster.State, path *field.Path, to *Record, objects ...cluster.Object) (*cluster.State, error) {
	return c.admitBy(admission.Admit, state, path, to, objects...)
}

// admitBy is admit by one of the API server's ways to change objects.
func (c *Cluster) admitBy(admit func(*cluster.State, ...cluster.Object) (*cluster.State, []string, error), state *cluster.State, path *field.Path, to *Record, objects ...cluster.Object) (*cluster.State, error) {
	next, notes, err := admit(state, objects...)
	if err != nil {
		return state.With(objects...), &Problem{path, err}
	}
	to.Notes = append(to.Notes, notes...)
	return next, nil
}

// inTurn applies do to one item after another, as kubectl goes through a list: the controllers and the scheduler react to each before the
// next. What happens is added to the record. With together, all items are handled at once.
func inTurn[T any](ctx context.Context, c *Cluster, state *cluster.State, to *Record, together bool, all []T, do func(*cluster.State, ...T) (*cluster.State, error)) (*cluster.State, error) {
	if together {
		return do(state, all...)
	}
	for i, one := range all {
		var err error
		if i > 0 {
			if state, _, err = c.round(ctx, state, to); err != nil {
				return nil, err
			}
		}
		if state, err = do(state, one); err != nil {
			return nil, err
		}
	}
	return state, nil
}
