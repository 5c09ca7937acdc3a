package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Edit is the change of one object that a patch, a scale or a rollout makes.
type Edit struct {
	Target scenario.Target
	// Action describes the change, as a kubectl command.
	Action string
	// Do returns a changed copy of the target.
	Do func(cluster.Object) (cluster.Object, error)
}

// EditOf returns the change that the step makes to one object; nil if it makes none.
func EditOf(step *scenario.LoadedStep, now metav1.Time) *Edit {
	switch {
	case step.Patch != nil:
		var compact bytes.Buffer
		_ = json.Compact(&compact, step.Patch.Patch.Raw) // it has been decoded, so it is valid JSON
		return &Edit{step.Patch.Target, fmt.Sprintf("patch %s -p '%s'", step.Patch.Target.Argument(), compact.String()), step.Patched}
	case step.Scale != nil:
		replicas := step.Scale.Replicas
		action := fmt.Sprintf("scale %s --replicas=%d", step.Scale.Target.Argument(), replicas)
		return &Edit{step.Scale.Target, action, copied(func(obj cluster.Object) error {
			if of := cluster.ReplicasOf(obj); of != nil {
				*of = &replicas
			}
			return nil
		})}
	case step.Rollout != nil:
		change, action := rolledOut(step.Rollout, now)
		return &Edit{step.Rollout.Target, action, copied(change)}
	}
	return nil
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
			template, _ := cluster.Template(obj)
			return setImages(&template.Spec, rollout.Images)
		}, action
	}
	return func(obj cluster.Object) error {
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

func setImages(spec *v1.PodSpec, images map[string]string) error {
	left := maps.Clone(images)
	for _, containers := range [][]v1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if image, given := left[containers[i].Name]; given {
				containers[i].Image = image
				delete(left, containers[i].Name)
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("there is no container %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return nil
}
