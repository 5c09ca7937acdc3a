package world

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
)

// Edit is a change of one object by a patch, a scale or a rollout step.
type Edit struct {
	Target scenario.Target
	// Field is the field of the step that says what changes; the field with the target stands beside it. Kinds are the kinds that the
	// target may have; none: any.
	Field *field.Path
	Kinds []string
	// Action describes the change, as a kubectl command.
	Action string
	// Do returns a changed copy of the target.
	Do func(cluster.Object) (cluster.Object, error)
}

// TargetField returns the field of the step that names the target.
func (e *Edit) TargetField() *field.Path { return e.Field.Root().Child("target") }

// Apply returns a changed copy of the target. An error is a [Problem] of the field.
func (e *Edit) Apply(obj cluster.Object) (cluster.Object, error) {
	changed, err := e.Do(obj)
	if err != nil && !errors.As(err, new(*Problem)) {
		err = &Problem{e.Field, err}
	}
	return changed, err
}

// editAction returns the action that applies the change of a step to its target.
func editAction(of func(*scenario.LoadedStep, metav1.Time) Edit) func(*Cluster, context.Context, *cluster.State, *scenario.LoadedStep, *Record) (*cluster.State, string, error) {
	return func(c *Cluster, _ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
		edit := of(step, state.Now)
		obj, err := findTarget(state, edit.TargetField(), edit.Target, edit.Kinds...)
		if err != nil {
			return state, "", err
		}
		changed, err := edit.Apply(obj)
		if err != nil {
			return state, "", err
		}
		admit := admission.Admit
		if step.Scale != nil {
			admit = admission.Scale
		}
		next, err := c.admitWith(admit, state, edit.Field, to, changed)
		return next, edit.Action, err
	}
}

// changeCopy returns a function that applies the change to a copy of an object.
func changeCopy(change func(cluster.Object) error) func(cluster.Object) (cluster.Object, error) {
	return func(obj cluster.Object) (cluster.Object, error) {
		obj = obj.DeepCopyObject().(cluster.Object)
		return obj, change(obj)
	}
}
