package advice

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := writer{Page: text.NewPage(opts), report: r}
		t.everything()
		return t.Bytes()
	}),
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Candidates = report.CompleteHead(r.Head), report.List(r.Candidates)
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		candidate.Rules, candidate.Levels, candidate.Commands = report.List(candidate.Rules), report.List(candidate.Levels), report.List(candidate.Commands)
		if candidate.Rollout != nil {
			rollout := *candidate.Rollout
			rollout.Levels = report.List(rollout.Levels)
			candidate.Rollout = &rollout
		}
		if candidate.Trials != nil {
			trials := *candidate.Trials
			trials.Radius = report.List(trials.Radius)
			candidate.Trials = &trials
		}
	}
	return &c
}
