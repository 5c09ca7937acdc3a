// Package size has the report on the fewest nodes that suffice.
package size

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on the fewest nodes that suffice.
const Kind = "SizeReport"

// Report has the cheapest cluster on which every pod has a node, also after the failures that it is to survive.
type Report struct {
	report.Head
	capacity.Sizing
}

// New returns the report on a sizing of the scenario, which has these nodes. version is Faultline's version.
func New(s *scenario.Scenario, nodes []*v1.Node, sizing *capacity.Sizing, version string) *Report {
	result := &simulation.Result{Scenario: s, Initial: &cluster.State{Nodes: nodes}, Notes: s.Notes, Partial: sizing.Partial}
	if sizing.State != nil {
		result.Notes = slices.Concat(s.Notes, report.MutationNotes(sizing.State))
	}
	return &Report{Head: report.NewHead(result, Kind, version), Sizing: *sizing}
}
