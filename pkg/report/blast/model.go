// Package blast has the report on failures: what they take from a cluster, what comes back, and how likely they are.
package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// Kind is the kind of a report on failures.
const Kind = "BlastReport"

// Report is the report on failures after each step of a scenario.
type Report struct {
	report.Head
	// Mode is the way in which nodes fail. It decides what comes back.
	Mode string `json:"mode" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
	// Simultaneous is the number of domains of a level that fail together.
	Simultaneous int `json:"simultaneous" jsonschema:"minimum=1"`
	// Recover says whether recoveries were simulated.
	Recover bool `json:"recover"`
	// Worst is how many failures of each level were recovered from, the worst ones; missing if all were.
	Worst int `json:"worst,omitempty"`
	// Filter selects the workloads that the report is about; missing if it is about all. It does not change what fails.
	Filter *blast.Filter `json:"filter,omitempty"`
	// Steps are the clusters in which domains fail: after each step, or only after the step that was asked for.
	Steps []Step `json:"steps"`
}

// Step is the report on failures after one step.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what the step did, in the words of kubectl.
	Action string `json:"action"`
	// Running is the number of pods that have a node before anything fails, Pending the number of those that have none.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Declared are the declarations of the workloads after the step; missing if they are the same as after the step before.
	Declared []report.Declared `json:"declared,omitzero"`
	blast.Analysis
	// Risk says how likely failures are; missing unless failure rates are given.
	Risk *risk.Analysis `json:"risk,omitempty"`
}

// question is the title of the report: the loss of any zone, or of several levels.
func (r *Report) question() string {
	var levels []string
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			level := &r.Steps[i].Levels[j]
			if any := doc.AnyDomain(level.TopologyKey); !r.secondary(level) && !slices.Contains(levels, any) {
				levels = append(levels, any)
			}
		}
	}
	switch {
	case r.Simultaneous > 1:
		return fmt.Sprintf("Loss of any %d failure domains", r.Simultaneous)
	case len(levels) == 0:
		return "Loss of any failure domain"
	}
	return "Loss of " + strings.Join(levels, " or ")
}
