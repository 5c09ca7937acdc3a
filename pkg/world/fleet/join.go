package fleet

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// join adds the step's cluster to the federation.
func (f *Fleet) join(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	fed, m := state.Federation, step.Karmada.Joined
	next, notes, err := f.addMember(fed, field.NewPath("join", "cluster"), m, fed.Members[0].State.TerminationSeconds)
	to.Notes = append(to.Notes, notes...)
	return syncClocks(next), "join " + m.Name, err
}

// addMember adds a member to the federation. Its objects stand at path in the scenario, and its pods take terminationSeconds to end.
func (f *Fleet) addMember(fed *cluster.Federation, path *field.Path, m *scenario.Member, terminationSeconds int64) (*cluster.Federation, []string, error) {
	empty := (&scenario.Scenario{Cluster: m.Objects, TerminationSeconds: terminationSeconds}).EmptyState()
	state, notes, err := admission.Admit(empty, m.Objects...)
	if err != nil {
		state, err = empty.With(m.Objects...), &world.Problem{Field: path, Err: err}
	}
	if f.config == nil {
		state = world.WithoutKubelets(state)
	}
	for i, note := range notes {
		notes[i] = fmt.Sprintf("Cluster %s: %s", m.Name, note)
	}
	control := *fed.Control
	control.Clusters = append(slices.Clip(control.Clusters), m.Cluster)
	next := fed.WithControl(&control).With(cluster.Member{Name: m.Name, State: state})
	return next.WithControl(requeueBindings(next.Control, m.Cluster)), notes, err
}
