package world

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Do carries out the step.
func (c *Cluster) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	if edit := EditOf(step, state.Now); edit != nil {
		obj, err := find(state, edit.Target)
		if err != nil {
			return nil, "", err
		}
		changed, err := edit.Do(obj)
		if err != nil {
			return nil, "", err
		}
		next, err := c.admit(state, to, changed)
		return next, edit.Action, err
	}
	switch {
	case step.Apply != nil:
		next, err := c.admit(state, to, step.Objects...)
		return next, Applied(step), err
	case step.Delete != nil:
		return c.delete(ctx, state, step, to)
	case step.Trigger != nil:
		obj, err := find(state, *step.Trigger)
		if err != nil {
			return nil, "", err
		}
		next, _, err := controller.RunCronJob(state, obj.(*batchv1.CronJob))
		return next, "create job --from=" + step.Trigger.Argument(), err
	case step.Cordon != nil:
		return c.onNodes(ctx, state, step.Cordon, to, "cordon", node.Cordon)
	case step.Uncordon != nil:
		return c.onNodes(ctx, state, step.Uncordon, to, "uncordon", node.Uncordon)
	case step.Drain != nil:
		return c.drain(ctx, state, step.Drain, to)
	case step.Fail != nil:
		return FailStep(c, state, step.Fail)
	case step.Restore != nil:
		return c.restore(ctx, state, step.Restore, to)
	}
	return state, "", nil
}

// admit lets the API server take the objects, and notes what it assumes.
func (c *Cluster) admit(state *cluster.State, to *Record, objects ...cluster.Object) (*cluster.State, error) {
	next, notes, err := admission.Admit(state, objects...)
	to.Notes = append(to.Notes, notes...)
	return next, err
}

// Applied describes an apply.
func Applied(step *scenario.LoadedStep) string {
	if step.Action != "" {
		return step.Action
	}
	if len(step.Apply.Files) > 0 {
		return "apply -f " + strings.Join(step.Apply.Files, " -f ")
	}
	return "apply " + words.Count(len(step.Objects)+len(step.Karmada.Policies)+len(step.Karmada.Overrides)+len(step.Karmada.Resources), "object")
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

// find returns the target object.
func find(state *cluster.State, target scenario.Target) (cluster.Object, error) {
	namespace := cmp.Or(target.Namespace, v1.NamespaceDefault)
	for _, owner := range state.UnknownOwners {
		if of := cluster.RefTo(owner); of.Namespace == namespace && of.String() == target.Target {
			return owner, nil
		}
	}
	kind, name, err := scenario.ParseTarget(target.Target)
	if err != nil {
		return nil, err
	}
	for _, obj := range state.Objects() {
		if cluster.KindOf(obj) == kind && obj.GetName() == name && (obj.GetNamespace() == "" || obj.GetNamespace() == namespace) {
			return obj, nil
		}
	}
	return nil, fmt.Errorf("%s is not there at this step", target.Argument())
}
