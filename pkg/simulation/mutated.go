package simulation

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// noteMutations adds what the state's clusters do to new pods, which a step may be the first to show.
func (r *Result) noteMutations(state *cluster.State) {
	add := func(prefix string, notes []string) {
		for _, note := range notes {
			if !slices.Contains(r.Notes, prefix+note) {
				r.Notes = append(slices.Clip(r.Notes), prefix+note)
			}
		}
	}
	add("", admission.Mutated(state))
	if state.Federation != nil {
		for _, member := range state.Federation.Members {
			add("Cluster "+member.Name+": ", admission.Mutated(member.State))
		}
	}
}
