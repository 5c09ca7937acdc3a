// Package size is the report on how few nodes would do.
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

// Kind is the kind of a report on how few nodes would do.
const Kind = "SizeReport"

// Report is the cheapest cluster on which everything is placed, and comes back after the failures that were asked for.
type Report struct {
	report.Head
	capacity.Sizing
}

// New makes the report on a sizing of the scenario, which has these nodes. The version is Faultline's own.
func New(s *scenario.Scenario, nodes []*v1.Node, sizing *capacity.Sizing, version string) *Report {
	result := &simulation.Result{
		Scenario: s, Initial: &cluster.State{Nodes: nodes}, Notes: slices.Concat(s.Notes, sizing.Mutated), Partial: sizing.Partial,
	}
	return &Report{Head: report.NewHead(result, Kind, version), Sizing: *sizing}
}
