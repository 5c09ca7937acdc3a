package world

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// apply creates or changes objects.
func (c *Cluster) apply(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	if last := c.applied; last != nil && last.to == state && slices.Equal(last.objects, step.Objects) {
		to.Notes = append(to.Notes, last.notes...)
		return last.next, Applied(step), nil
	}
	before := len(to.Notes)
	next, err := c.admit(state, field.NewPath("apply"), to, step.Objects...)
	if err == nil && (c.applied == nil || len(step.Objects) >= len(c.applied.objects)) {
		c.applied = &applied{state, step.Objects, next, slices.Clone(to.Notes[before:])}
	}
	return next, Applied(step), err
}

// applied is what came of the most objects that were applied to a state. Questions run one dump many times, and all that it holds is admitted
// first.
type applied struct {
	to      *cluster.State
	objects []cluster.Object
	next    *cluster.State
	notes   []string
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
