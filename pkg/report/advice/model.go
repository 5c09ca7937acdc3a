// Package advice is the report on the rule that keeps the pods of a workload apart best.
package advice

import (
	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on how the pods of a workload should keep apart.
const Kind = "AdviceReport"

// Report says which rule should keep the pods of a workload apart.
type Report struct {
	report.Head
	// Advice is what to do, in a sentence.
	Advice string `json:"advice"`
	// Held says why no rule reaches the pods of the workload now, so that none was run; missing where rules do.
	Held string `json:"held,omitempty"`
	// One says why a workload with one replica cannot have a second; missing if it can, or has more.
	One string `json:"one,omitempty"`
	// Workload is the workload as kind/name in lower case, Replicas the number of pods that it asks for after Step, the last.
	Workload string `json:"workload"`
	Replicas int    `json:"replicas"`
	Step     string `json:"step"`
	// Candidates are the rules that were run, the best first; the workload as it is is one of them.
	Candidates []Candidate `json:"candidates"`
	// LeftOut are the rules that were not run, and why.
	LeftOut []string `json:"leftOut,omitempty"`

	top   int // how many are shown
	owner cluster.Ref
	again Again
}

// Candidate is one rule, what it comes to, and how to have it.
type Candidate struct {
	// Rank is the place among the candidates; those with the same figures share it.
	Rank int `json:"rank"`
	advice.Candidate
	// Apply is the command that gives the workload the rule; empty where nothing changes.
	Apply string `json:"apply,omitempty"`
	// Costs are what has to be paid for it, Unsolved what it leaves as it is, a sentence each.
	Costs    []string `json:"costs,omitempty"`
	Unsolved []string `json:"unsolved,omitempty"`
	// Commands are those that run it again.
	Commands []Command `json:"commands"`
}

// Command is a command that shows what the report says of a candidate.
type Command struct {
	// Shows says what.
	Shows   string `json:"shows"`
	Command string `json:"command"`
}

// Again is how a command line names the same scenario again.
type Again struct {
	// Input are the words that name it, Ties the flags of its ties, with a blank before them if there are any.
	Input, Ties string
}
