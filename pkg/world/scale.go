package world

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// ScaleEdit returns the change of a workload's replicas.
func ScaleEdit(step *scenario.LoadedStep, _ metav1.Time) Edit {
	target, replicas := step.Scale.Target, step.Scale.Replicas
	action := fmt.Sprintf("scale %s --replicas=%d", target.Argument(), replicas)
	return Edit{target, field.NewPath("scale", "replicas"), scenario.ScalableKinds, action, changeCopy(func(obj cluster.Object) error {
		*cluster.ReplicasOf(obj) = &replicas
		return nil
	})}
}
