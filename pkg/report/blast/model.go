// Package blast is the report on failures: what they take from a cluster, what comes back, and how likely that is.
package blast

import (
	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on failures.
const Kind = "BlastReport"

// Report is what failures take from a cluster, after each step of a scenario, and what comes back.
type Report struct {
	report.Head
	// Mode is how the nodes fail. It decides what comes back.
	Mode string `json:"mode" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
	// Simultaneous is the number of domains of a level that fail together.
	Simultaneous int `json:"simultaneous" jsonschema:"minimum=1"`
	// Recover says whether recoveries were simulated.
	Recover bool `json:"recover"`
	// Worst is how many failures of a level were recovered, the worst ones, where it has more; 0: all.
	Worst int `json:"worst,omitempty"`
	// Filter selects the workloads that the report is about; missing where it is about all. What fails does not depend on it.
	Filter *blast.Filter `json:"filter,omitempty"`
	// Steps are the clusters whose failures were looked at: after each step, or after the one that was asked for.
	Steps []Step `json:"steps"`
}

// Step is what failures take from the cluster after one step.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as kubectl would be asked to.
	Action string `json:"action"`
	// Running is the number of pods that have a node before anything fails, Pending of those that have none.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Declared is what the workloads declare after the step; missing where it is as after the step before.
	Declared []report.Declared `json:"declared,omitzero"`
	blast.Analysis
	// Risk is how likely it is, where failure rates are given.
	Risk *risk.Analysis `json:"risk,omitempty"`
}
