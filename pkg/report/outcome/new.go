package outcome

import (
	"slices"

	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// NewExact returns the report on exact outcomes. version is Faultline's version.
func NewExact(found *outcome.Exact, version string) *Report {
	r := newReport(found.First, "exact", version)
	r.Notes = append(slices.Clip(r.Notes), found.Notes...)
	r.Exact = &found.ExactMethod
	r.Steps = list.Map(found.Steps, func(s outcome.ExactStep) outcome.Step { return s.Step })
	return r
}

// NewTrials returns the report on trials. version is Faultline's version.
func NewTrials(found *outcome.TrialSet, version string) *Report {
	r := newReport(found.First, "trials", version)
	r.Trials, r.Steps = &found.TrialsMethod, found.Steps
	return r
}

func newReport(first *simulation.Result, method, version string) *Report {
	nodes := first.Initial.Nodes
	return &Report{
		Head: report.NewHead(first, Kind, version), Method: method, Nodes: report.NewNodes(nodes, topology.Levels(nodes, first.Scenario.LevelKeys...)),
	}
}
