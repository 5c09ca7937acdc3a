package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// RolloutEdit returns the change of a workload that starts a rollout.
func RolloutEdit(step *scenario.LoadedStep, now metav1.Time) Edit {
	rollout := step.Rollout
	action, change := "rollout restart "+rollout.Target.Argument(), func(obj cluster.Object) error { return annotateRestart(obj, now) }
	if !rollout.Restart {
		action, change = "set image "+rollout.Target.Argument(), func(obj cluster.Object) error { return setImages(obj, rollout.Images) }
		for _, container := range slices.Sorted(maps.Keys(rollout.Images)) {
			action += " " + container + "=" + rollout.Images[container]
		}
	}
	return Edit{rollout.Target, field.NewPath("rollout", "images"), scenario.RolloutKinds, action, changeCopy(func(obj cluster.Object) error {
		if err := cluster.CheckChangeable(obj); err != nil {
			return &Problem{field.NewPath("rollout", "target"), err}
		}
		return change(obj)
	})}
}

// annotateRestart changes the annotation that kubectl rollout restart changes, so that controllers replace the object's pods.
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go
func annotateRestart(obj cluster.Object, now metav1.Time) error {
	template, _ := cluster.Template(obj)
	metav1.SetMetaDataAnnotation(&template.ObjectMeta, "kubectl.kubernetes.io/restartedAt", now.Format("2006-01-02T15:04:05Z07:00"))
	return nil
}

// setImages sets the images of containers in the object's pod template.
func setImages(obj cluster.Object, images map[string]string) error {
	template, _ := cluster.Template(obj)
	missing := maps.Clone(images)
	var there []string
	for _, containers := range [][]v1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			there = append(there, containers[i].Name)
			if image, given := images[containers[i].Name]; given {
				containers[i].Image = image
				delete(missing, containers[i].Name)
			}
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, &Problem{
			field.NewPath("rollout", "images").Key(name),
			fmt.Errorf("%s has no container %q; %s", cluster.RefTo(obj).Describe(), name, scenario.ListChoices(name, there)),
		})
	}
	return errors.Join(problems...)
}
