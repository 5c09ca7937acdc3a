// Package sweep has the report on the points of a sweep.
package sweep

import (
	"strings"

	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Kind is the kind of a report on the points of a sweep.
const Kind = "SweepReport"

// Report has the figures of the points of a sweep.
type Report struct {
	report.Head
	// Key stands for everything that the sweep depends on beside its points: the scenario, the seed, the options and the versions. Shards
	// of one sweep have the same key.
	Key string `json:"key"`
	// Step is the step after which the figures are taken.
	Step string `json:"step"`
	// Workloads are the workloads whose skew and blast radius are reported, as kind/name in lower case; missing for all except DaemonSets
	// and pods without a workload.
	Workloads []string `json:"workloads,omitempty"`
	// Parameters are the names of the parameters. The first one varies most slowly.
	Parameters []string `json:"parameters"`
	// Total is the number of points of the whole sweep.
	Total int `json:"total"`
	// Shard says which part of the sweep this is; missing for the whole sweep.
	Shard *Shard `json:"shard,omitempty"`
	// Baseline has the figures of the scenario without changes.
	Baseline whatif.Found `json:"baseline"`
	// Points are the points, in order.
	Points []Point `json:"points"`
}

// Shard is a part of a sweep.
type Shard struct {
	// Index is the shard's number, from 0, and Count the number of shards.
	Index int `json:"index"`
	Count int `json:"count"`
}

// Point is one point of a sweep.
type Point struct {
	// Index is the point's place in the sweep, from 0.
	Index int `json:"index"`
	// Values are the point's values, by parameter.
	Values map[string]scenario.Scalar `json:"values"`
	// Front means that no other point of the report is better in one of these goals and at least as good in the others: Pending pods, and
	// for each level the blast radius and the pods that do not come back after a failure, and cost.
	Front bool `json:"front"`
	whatif.Found
}

// valuesText returns the point's values: "replicas=3,rule=soft".
func (p *Point) valuesText(parameters []string) string {
	parts := list.Map(parameters, func(name string) string { return name + "=" + p.Values[name].String() })
	return strings.Join(parts, ",")
}

// question is the title of the report.
func (r *Report) question() string { return "Sweep over " + words.And(r.Parameters) }
