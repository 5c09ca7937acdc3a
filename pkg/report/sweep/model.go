// Package sweep is the report on the points of a sweep.
package sweep

import (
	"strings"

	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
)

// Kind is the kind of a report on the points of a sweep.
const Kind = "SweepReport"

// Report is what the points of a sweep come to.
type Report struct {
	report.Head
	// Key names what the sweep depends on besides its points: the scenario, the seed, what is looked at, and versions. Shards of one
	// sweep have the same.
	Key string `json:"key"`
	// Step is the step after which the clusters are looked at.
	Step string `json:"step"`
	// Workloads are those whose skew and blast radius are reported, as kind/name in lower case; empty: all but DaemonSets and bare pods.
	Workloads []string `json:"workloads,omitempty"`
	// Parameters are the names of what varies, the slowest first.
	Parameters []string `json:"parameters"`
	// Total is the number of points of the whole sweep.
	Total int `json:"total"`
	// Shard says which part of the sweep this is; missing if it is all of it.
	Shard *Shard `json:"shard,omitempty"`
	// Baseline is the scenario as it is.
	Baseline whatif.Found `json:"baseline"`
	// Points are the points, in their order.
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
	// Values are the point's, by parameter.
	Values map[string]scenario.Scalar `json:"values"`
	// Front means that no other point of the report is better in one of these and worse in none: Pending pods, the blast radius of each
	// level, what a failure of each level leaves without a node, cost.
	Front bool `json:"front"`
	whatif.Found
}

// name is the point's values: replicas=3,rule=soft.
func (p *Point) name(parameters []string) string {
	parts := list.Each(parameters, func(name string) string { return name + "=" + p.Values[name].String() })
	return strings.Join(parts, ",")
}
