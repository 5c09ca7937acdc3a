package report

import "io"

var diffFormats = formats[DiffReport]{
	{"text", asText(func(r *DiffReport, opts Options) []byte {
		t := newDiffText(r, opts)
		if opts.Quiet {
			t.line(t.verdict())
		} else {
			t.everything()
		}
		return t.bytes()
	})},
	{"json", always(func(r *DiffReport) ([]byte, error) { return toJSON(r) })},
	{"yaml", always(func(r *DiffReport) ([]byte, error) { return toYAML(r) })},
	{"markdown", plainly(diffMarkdown)},
}

// DiffFormats are the names of the output formats of a DiffReport.
func DiffFormats() []string { return diffFormats.names() }

// WriteDiff renders the report as Write does. Quiet is the verdict alone, and All lists everything that differs.
func WriteDiff(w io.Writer, r *DiffReport, format string, opts Options) error {
	return diffFormats.write(w, r, format, opts)
}
