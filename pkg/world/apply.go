package world

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// apply creates or changes objects.
func (c *Cluster) apply(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	next, err := c.admit(state, field.NewPath("apply"), to, step.Objects...)
	return next, DescribeApply(step), err
}

// DescribeApply describes an apply step as a kubectl command.
func DescribeApply(step *scenario.LoadedStep) string {
	if step.Action != "" {
		return step.Action
	}
	if len(step.Apply.Files) > 0 {
		return "apply -f " + strings.Join(step.Apply.Files, " -f ")
	}
	return "apply " + words.Count(len(step.Objects)+len(step.Karmada.Policies)+len(step.Karmada.Overrides)+len(step.Karmada.Resources), "object")
}
