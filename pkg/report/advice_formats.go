package report

var AdviceFormats = formats[AdviceReport]{
	textFormat("text", func(r *AdviceReport, opts Options) []byte {
		t := adviceText{page: newPage(opts), report: r}
		t.everything()
		return t.bytes()
	}),
	jsonFormat(completeAdvice),
	yamlFormat(completeAdvice),
	plainFormat("markdown", adviceMarkdown),
}

// completeAdvice is complete for an AdviceReport.
func completeAdvice(r *AdviceReport) *AdviceReport {
	c := *r
	c.Head, c.Candidates = completeHead(r.Head), list(r.Candidates)
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		candidate.Rules, candidate.Levels, candidate.Commands = list(candidate.Rules), list(candidate.Levels), list(candidate.Commands)
		if candidate.Rollout != nil {
			rollout := *candidate.Rollout
			rollout.Levels = list(rollout.Levels)
			candidate.Rollout = &rollout
		}
		if candidate.Trials != nil {
			trials := *candidate.Trials
			trials.Radius = list(trials.Radius)
			candidate.Trials = &trials
		}
	}
	return &c
}
