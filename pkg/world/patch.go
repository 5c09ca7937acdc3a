package world

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/scenario"
)

// PatchEdit returns the change that a patch step makes.
func PatchEdit(step *scenario.LoadedStep, _ metav1.Time) Edit {
	return Edit{step.Patch.Target, field.NewPath("patch", "patch"), nil, step.Patch.Action(), step.ApplyPatch}
}
