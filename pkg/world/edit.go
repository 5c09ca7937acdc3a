package world

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Edit is the change of one object that a patch, a scale or a rollout makes.
type Edit struct {
	Target scenario.Target
	// Field is where the step says what it changes: the target stands beside it, and can be of these kinds, or of any if none is given.
	Field *field.Path
	Kinds []string
	// Action describes the change, as a kubectl command.
	Action string
	// Do returns a changed copy of the target.
	Do func(cluster.Object) (cluster.Object, error)
}

// TargetField is where the step names the target.
func (e *Edit) TargetField() *field.Path { return e.Field.Root().Child("target") }

// Edited returns the object as it is after the change; see Do.
func (e *Edit) Edited(obj cluster.Object) (cluster.Object, error) {
	changed, err := e.Do(obj)
	if err != nil && !errors.As(err, new(*Problem)) {
		err = &Problem{e.Field, err}
	}
	return changed, err
}

// edit returns the action that makes the change of one object.
func edit(of func(*scenario.LoadedStep, metav1.Time) Edit) func(*Cluster, context.Context, *cluster.State, *scenario.LoadedStep, *Record) (*cluster.State, string, error) {
	return func(c *Cluster, _ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
		edit := of(step, state.Now)
		obj, err := find(state, edit.TargetField(), edit.Target, edit.Kinds...)
		if err != nil {
			return state, "", err
		}
		changed, err := edit.Edited(obj)
		if err != nil {
			return state, "", err
		}
		next, err := c.admit(state, edit.Field, to, changed)
		return next, edit.Action, err
	}
}

// copied has the function change a copy.
func copied(change func(cluster.Object) error) func(cluster.Object) (cluster.Object, error) {
	return func(obj cluster.Object) (cluster.Object, error) {
		obj = obj.DeepCopyObject().(cluster.Object)
		return obj, change(obj)
	}
}
