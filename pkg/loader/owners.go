package loader

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/owner"
	"github.com/faultline/faultline/pkg/scenario"
)

// addOwners adds, beside the pods of a dump, the controllers that the scenario lacks.
func (l *loader) addOwners(s *scenario.Scenario) {
	if l.incomplete {
		return
	}
	unknown := owner.NewUnknown(s.Objects())
	add := func(objects *[]cluster.Object) {
		if owners := unknown.Owners(*objects); !l.ownersGone {
			*objects = slices.Concat(*objects, owners)
		}
	}
	add(&s.Cluster)
	add(&s.Workloads)
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		if s.Steps[i].Apply != nil {
			add(&s.Steps[i].Objects)
		}
	}
	s.Notes = append(s.Notes, unknown.Notes(l.ownersGone)...)
}
