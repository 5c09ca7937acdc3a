// Package advice has the report on the rule that best keeps the pods of a workload apart.
package advice

import (
	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report that advises a rule.
const Kind = "AdviceReport"

// Report advises which rule should keep the pods of a workload apart.
type Report struct {
	report.Head
	// Advice says what to do, in one or two sentences.
	Advice string `json:"advice"`
	// Held says why no rule reaches the pods of the workload now, so that none was run; missing if rules reach them.
	Held string `json:"held,omitempty"`
	// One says why a workload with one replica cannot have a second; missing if it can, or has several.
	One string `json:"one,omitempty"`
	// Unplaced says why no pod of the workload has a node, as it is and with every candidate; missing if one has.
	Unplaced string `json:"unplaced,omitempty"`
	// Workload is the workload as kind/name in lower case. Replicas is the number of pods that it asks for after Step, the last step.
	Workload string `json:"workload"`
	Replicas int    `json:"replicas"`
	Step     string `json:"step"`
	// Candidates are the rules that were run, the best first. One of them is the workload without changes.
	Candidates []Candidate `json:"candidates"`
	// LeftOut are the rules that were not run, and why.
	LeftOut []string `json:"leftOut,omitempty"`

	maxShown  int // how many candidates text shows
	owner     cluster.Ref
	arguments ScenarioArguments
}

// Candidate is one rule, its effects, and the commands for it.
type Candidate struct {
	// Rank is the place among the candidates. Candidates with the same figures share a rank.
	Rank int `json:"rank"`
	advice.Candidate
	// Apply is the command that gives the workload the rule; missing if nothing changes.
	Apply string `json:"apply,omitempty"`
	// Costs are what the rule costs, and Unsolved the problems that stay, a sentence each.
	Costs    []string `json:"costs,omitempty"`
	Unsolved []string `json:"unsolved,omitempty"`
	// Commands run the candidate again.
	Commands []Command `json:"commands"`
}

// Command is a command that shows what the report says of a candidate.
type Command struct {
	// Shows says what the command shows.
	Shows   string `json:"shows"`
	Command string `json:"command"`
}

// ScenarioArguments has the arguments of a command line that name the same scenario.
type ScenarioArguments struct {
	// Input are the arguments that name the scenario. Ties are the flags about ties, with a space before them, or "".
	Input, Ties string
}

// question is the title of the report.
func (r *Report) question() string { return "Rules for " + r.Workload }
