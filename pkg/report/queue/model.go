// Package queue has the report on the jobs that Kueue admits.
package queue

import (
	"github.com/faultline/faultline/pkg/ask/queue"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on jobs that wait for quota.
const Kind = "QueueReport"

// Report says when each job is admitted, how long the queues wait, and what is used of the quotas.
type Report struct {
	report.Head
	queue.Answer
	// Asked are the jobs that the command line names.
	Asked []string `json:"asked,omitempty"`
	// Helps are changes that were tried for the one job that the command line names, if it waits.
	Helps []queue.Help `json:"helps,omitempty"`
}

// New returns the report on the answer. version is Faultline's version.
func New(result *simulation.Result, answer *queue.Answer, asked []string, version string) *Report {
	return &Report{Head: report.NewHead(result, Kind, version), Answer: *answer, Asked: asked}
}
