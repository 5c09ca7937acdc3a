package report

// sweepMarkdown is the verdict and a table of points.
func sweepMarkdown(r *SweepReport) []byte {
	m := &markdown{}
	m.block("**%s**", prose(r.verdict()))
	m.block("%s", prose(r.about()))
	m.about(r.Head)
	shown, rest := r.shown(false)
	m.table(r.table(shown), "point")
	if rest != "" {
		m.block("%s", prose(rest))
	}
	return m.bytes()
}
