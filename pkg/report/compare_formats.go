package report

var CompareFormats = formats[CompareReport]{
	textFormat("text", func(r *CompareReport, opts Options) []byte {
		t := compareText{page: newPage(opts), report: r}
		t.everything()
		return t.bytes()
	}),
	jsonFormat(completeCompare),
	yamlFormat(completeCompare),
	plainFormat("markdown", compareMarkdown),
	encodedFormat("csv", compareCSV),
	svgFormat(compareChart),
	pngFormat(compareChart),
}

// completeCompare is complete for a CompareReport.
func completeCompare(r *CompareReport) *CompareReport {
	c := *r
	c.Head, c.Variants = completeHead(r.Head), list(r.Variants)
	for i := range c.Variants {
		c.Variants[i].Levels = list(c.Variants[i].Levels)
	}
	return &c
}
