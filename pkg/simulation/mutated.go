package simulation

import (
	"github.com/faultline/faultline/pkg/input/admission"
)

// Mutated returns notes on what the API server adds to new pods that their templates lack, after the last step; see [admission.Mutated].
func (r *Result) Mutated() []string {
	state := r.Initial
	if n := len(r.Steps); n > 0 {
		state = r.Steps[n-1].State
	}
	notes := admission.Mutated(state)
	if state.Federation != nil {
		for _, member := range state.Federation.Members {
			for _, note := range admission.Mutated(member.State) {
				notes = append(notes, "Cluster "+member.Name+": "+note)
			}
		}
	}
	return notes
}
