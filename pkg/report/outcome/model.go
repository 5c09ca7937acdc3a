// Package outcome is the report on every outcome of a scenario in which chance decides among equal nodes.
package outcome

import (
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on every outcome.
const Kind = "OutcomesReport"

// Report is what a scenario can come to, where chance decides among equals.
type Report struct {
	report.Head
	// Method is exact, where every way to decide the ties among nodes was followed, or trials.
	Method string `json:"method" jsonschema:"enum=exact,enum=trials"`
	// Exact says how much it took to follow every way.
	Exact *ExactMethod `json:"exact,omitempty"`
	// Trials says how many trials there were, and with which seeds.
	Trials *TrialsMethod `json:"trials,omitempty"`
	// Nodes are the cluster's nodes before the first step, in its order.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Steps are what can come of each step, in order.
	Steps []Step `json:"steps"`
}

// ExactMethod is how every way was followed.
type ExactMethod struct {
	// Runs is the number of runs of a step that were made, States the number of different states at ties that they met.
	Runs   int `json:"runs"`
	States int `json:"states"`
}

// TrialsMethod is how many trials there were.
type TrialsMethod struct {
	// N is the number of trials. Trial i, from 0, is the run with --ties random and --seed Seed+i.
	N    int    `json:"n"`
	Seed uint64 `json:"seed"`
	// Confidence is that of every interval, such as 0.95.
	Confidence float64 `json:"confidence"`
	// Until is how far the intervals of shares may reach to each side, between 0 and 1, where that was asked for. Reached says whether
	// those of a Pending pod, and of each placement listed, reach no further.
	Until   float64 `json:"until,omitempty"`
	Reached bool    `json:"reached,omitempty"`
}

// Step is what can come of one step.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as kubectl would be asked to.
	Action string `json:"action"`
	// Different is the number of different placements: of those that are possible, or of those that were seen. It is a text, since it
	// can have any number of digits.
	Different string `json:"different"`
	// AnyPending is how likely it is that a pod is Pending.
	AnyPending Chance `json:"anyPending"`
	// Pending is how many pods are.
	Pending Variation `json:"pending"`
	// Levels are the levels of failure domains, widest first.
	Levels []LevelVariation `json:"levels,omitempty"`
	// Placements are distributions of pods over nodes, the likeliest first. Of very many, and in trials of more than ten, the least
	// likely are left out.
	Placements []Placement `json:"placements"`
}

// Chance is how likely something is.
type Chance struct {
	// Share is its probability, or its share of the trials, between 0 and 1.
	Share float64 `json:"share"`
	// Probability is the exact one, as a fraction; of trials there is none.
	Probability string `json:"probability,omitempty"`
	// Seen is the number of trials in which it was so; Low and High are the bounds of the Wilson interval of the share.
	Seen int      `json:"seen,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Placement is a distribution of pods over nodes.
type Placement struct {
	Chance
	// Ways is the number of placements that this one stands for, each with the same chance, where interchangeable
	// nodes change places; missing where it stands for itself.
	Ways string `json:"ways,omitempty"`
	// Seed is the lowest that shows it; missing where chances are exact.
	Seed *uint64 `json:"seed,omitempty"`
	// Pending is the number of pods without a node.
	Pending int `json:"pending"`
	// Workloads are the workloads that have pods.
	Workloads []PlacedWorkload `json:"workloads"`
}

// PlacedWorkload is how the pods of a workload are distributed.
type PlacedWorkload struct {
	Namespace string `json:"namespace"`
	// Workload is the outermost owner, or the pod itself, as kind/name in lower case.
	Workload string `json:"workload"`
	// Nodes are the numbers of pods by node; Pending is the number of pods without one.
	Nodes   map[string]int `json:"nodes"`
	Pending int            `json:"pending,omitempty"`
}

// LevelVariation is how skew and blast radius of a level vary.
type LevelVariation struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Skew is by how many pods a workload's fullest domain is ahead of its emptiest, for the workload that is spread worst.
	Skew Variation `json:"skew"`
	// Radius is the largest share of any workload that the loss of one domain takes, between 0 and 1.
	Radius Variation `json:"radius"`
}

// Variation is how a number varies.
type Variation struct {
	// Median has at least half of the chances on each side; Low and High are the bounds of its interval, in trials.
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	// P95 is what 95 % do not exceed, Worst the largest.
	P95   float64 `json:"p95"`
	Worst float64 `json:"worst"`
	// Seed is the lowest that shows the worst, in trials.
	Seed *uint64 `json:"seed,omitempty"`
}
