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

// Do carries out the step: each kind of step in its own file.
func (c *Cluster) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	var did []string
	var problems []error
	done := func(next *cluster.State, action string, err error) {
		did, problems = append(did, action), append(problems, err)
		if next != nil {
			state = next
		}
	}
	if step.Apply != nil {
		done(c.apply(state, step, to))
	}
	for _, edit := range EditsOf(step, state.Now) {
		done(c.edit(state, &edit, to))
	}
	if step.ScaleBy != nil {
		done(c.scaleBy(state, step.ScaleBy, to))
	}
	if step.Trigger != nil {
		done(trigger(state, step.Trigger))
	}
	if step.AddNodes != nil {
		done(c.addNodes(state, step.AddNodes, to))
	}
	if step.RemoveNodes != nil {
		done(c.removeNodes(state, step.RemoveNodes))
	}
	if step.ReplaceNodes != nil {
		done(c.replaceNodes(state, step.ReplaceNodes, to))
	}
	if step.Delete != nil {
		done(c.delete(ctx, state, step, to))
	}
	if step.Cordon != nil {
		done(c.cordon(ctx, state, step.Cordon, to))
	}
	if step.Uncordon != nil {
		done(c.uncordon(ctx, state, step.Uncordon, to))
	}
	if step.Drain != nil {
		done(c.drain(ctx, state, step.Drain, to))
	}
	if step.Fail != nil {
		done(FailStep(c, state, step.Fail))
	}
	if step.Restore != nil {
		done(c.restore(ctx, state, step.Restore, to))
	}
	return state, strings.Join(did, ", "), errors.Join(problems...)
}

// admit lets the API server take the objects, and notes what it assumes. Of a problem the field is where the step gives them. The state then
// has them as they were given, so that what comes after is not wrong for this.
func (c *Cluster) admit(state *cluster.State, path *field.Path, to *Record, objects ...cluster.Object) (*cluster.State, error) {
	next, notes, err := admission.Admit(state, objects...)
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
			if state, err = c.round(ctx, state, to); err != nil {
				return nil, err
			}
		}
		if state, err = do(state, one); err != nil {
			return nil, err
		}
	}
	return state, nil
}
