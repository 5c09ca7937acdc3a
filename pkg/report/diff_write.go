package report

import "io"

// DiffFormats are the names of the output formats of a DiffReport, in the order in which a help text gives them.
func DiffFormats() []string { return []string{"text", "json", "yaml", "markdown"} }

// WriteDiff renders the report as Write does. Quiet is the verdict alone, and All lists everything that differs.
func WriteDiff(w io.Writer, r *DiffReport, format string, opts Options) error {
	out, err := renderDiff(r, format, opts)
	return deliver(w, out, err)
}

func renderDiff(r *DiffReport, format string, opts Options) ([]byte, error) {
	switch format {
	case "text":
		t := newDiffText(r, opts)
		if opts.Quiet {
			t.line(t.verdict())
		} else {
			t.everything()
		}
		return t.out.Bytes(), nil
	case "json":
		return toJSON(r)
	case "yaml":
		return toYAML(r)
	case "markdown":
		return diffMarkdown(r), nil
	}
	return nil, unknownFormat(format, DiffFormats())
}
