package world

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
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
	// Scale means that the change is one of the subresource scale.
	Scale bool
	// Do returns a changed copy of the target.
	Do func(cluster.Object) (cluster.Object, error)
}

// EditsOf returns the changes that the step makes to one object each: none or one, since a step takes one action.
func EditsOf(step *scenario.LoadedStep, now metav1.Time) []Edit {
	var edits []Edit
	if patch := step.Patch; patch != nil {
		var compact bytes.Buffer
		_ = json.Compact(&compact, patch.Patch.Raw) // it has been decoded, so it is valid JSON
		action := fmt.Sprintf("patch %s -p '%s'", patch.Target.Argument(), compact.String())
		edits = append(edits, Edit{patch.Target, field.NewPath("patch", "patch"), nil, action, false, step.Patched})
	}
	if step.Scale != nil {
		replicas := step.Scale.Replicas
		action := fmt.Sprintf("scale %s --replicas=%d", step.Scale.Target.Argument(), replicas)
		edits = append(edits, Edit{step.Scale.Target, field.NewPath("scale", "replicas"), scenario.Scalable, action, true, copied(func(obj cluster.Object) error {
			*cluster.ReplicasOf(obj) = &replicas
			return nil
		})})
	}
	if step.Rollout != nil {
		change, action := rolledOut(step.Rollout, now)
		edits = append(edits, Edit{step.Rollout.Target, field.NewPath("rollout", "images"), scenario.Rolled, action, false, copied(change)})
	}
	return edits
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

// edit changes an object.
func (c *Cluster) edit(state *cluster.State, edit *Edit, to *Record) (*cluster.State, string, error) {
	obj, err := find(state, edit.TargetField(), edit.Target, edit.Kinds...)
	if err != nil {
		return state, "", err
	}
	changed, err := edit.Edited(obj)
	if err != nil {
		return state, "", err
	}
	admit := admission.Admit
	if edit.Scale {
		admit = admission.Scale
	}
	next, err := c.admitBy(admit, state, edit.Field, to, changed)
	return next, edit.Action, err
}

// copied has the function change a copy.
func copied(change func(cluster.Object) error) func(cluster.Object) (cluster.Object, error) {
	return func(obj cluster.Object) (cluster.Object, error) {
		obj = obj.DeepCopyObject().(cluster.Object)
		return obj, change(obj)
	}
}

// rolledOut returns what a rollout changes in a workload, and how kubectl calls it.
func rolledOut(rollout *scenario.Rollout, now metav1.Time) (change func(cluster.Object) error, action string) {
	if !rollout.Restart {
		action = "set image " + rollout.Target.Argument()
		for _, container := range slices.Sorted(maps.Keys(rollout.Images)) {
			action += " " + container + "=" + rollout.Images[container]
		}
		return func(obj cluster.Object) error {
			if err := cluster.Changeable(obj); err != nil {
				return err
			}
			return setImages(obj, rollout.Images)
		}, action
	}
	return func(obj cluster.Object) error {
		if err := cluster.Changeable(obj); err != nil {
			return err
		}
		// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go
		template, _ := cluster.Template(obj)
		template.Annotations = maps.Clone(template.Annotations)
		if template.Annotations == nil {
			template.Annotations = map[string]string{}
		}
		template.Annotations["kubectl.kubernetes.io/restartedAt"] = now.Format("2006-01-02T15:04:05Z07:00")
		return nil
	}, "rollout restart " + rollout.Target.Argument()
}

// setImages gives containers of the object's pods other images.
func setImages(obj cluster.Object, images map[string]string) error {
	template, _ := cluster.Template(obj)
	left := maps.Clone(images)
	var there []string
	for _, containers := range [][]v1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			there = append(there, containers[i].Name)
			if image, given := images[containers[i].Name]; given {
				containers[i].Image = image
				delete(left, containers[i].Name)
			}
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, &Problem{
			field.NewPath("rollout", "images").Key(name),
			fmt.Errorf("%s has no container %q; %s", cluster.RefTo(obj).Describe(), name, scenario.Choices(name, there)),
		})
	}
	return errors.Join(problems...)
}
