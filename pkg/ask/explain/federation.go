package explain

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
)

// Decided returns what Karmada has decided about the workload by the step that is asked about, or by the last; nil if it has decided nothing,
// as outside of a federation.
func Decided(result *simulation.Result, of Question) (step string, decision *simulation.Decision) {
	for i := range slices.Backward(result.Steps) {
		step := &result.Steps[i]
		if of.Step != "" && step.Name != of.Step || step.State.Federation == nil {
			continue
		}
		for _, t := range step.State.Federation.Control.Templates {
			is := func(obj cluster.Object) bool {
				ref := cluster.RefTo(obj)
				return ref.Kind == of.Kind && ref.Name == of.Name && (of.Namespace == "" || ref.Namespace == of.Namespace)
			}
			if !slices.ContainsFunc(t.Objects, is) {
				continue
			}
			for j := range step.Decisions {
				if d := &step.Decisions[j]; d.Binding.Template.Key() == t.Key() {
					return step.Name, d
				}
			}
		}
	}
	return "", nil
}
