package report

var DiffFormats = formats[DiffReport]{
	textFormat("text", func(r *DiffReport, opts Options) []byte {
		t := newDiffText(r, opts)
		if opts.Quiet {
			t.line(t.verdict())
		} else {
			t.everything()
		}
		return t.bytes()
	}),
	encodedFormat("json", func(r *DiffReport) ([]byte, error) { return toJSON(r) }),
	encodedFormat("yaml", func(r *DiffReport) ([]byte, error) { return toYAML(r) }),
	plainFormat("markdown", diffMarkdown),
}
