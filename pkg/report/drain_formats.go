package report

var DrainFormats = formats[DrainReport]{
	textFormat("text", func(r *DrainReport, opts Options) []byte {
		t := newDrainText(r, opts)
		t.everything()
		return t.bytes()
	}),
	jsonFormat(completeDrain),
	yamlFormat(completeDrain),
	plainFormat("markdown", drainMarkdown),
}

// completeDrain is complete for a DrainReport.
func completeDrain(r *DrainReport) *DrainReport {
	c := *r
	c.Head, c.Nodes = completeHead(r.Head), list(r.Nodes)
	return &c
}
