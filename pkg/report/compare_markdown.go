package report

// compareMarkdown is the verdict, the numbers, and what failures leave behind.
func compareMarkdown(r *CompareReport) []byte {
	m := &markdown{}
	m.block("**%s**", prose(r.verdict()))
	m.block("%s", prose(r.about()))
	m.about(r.Head)
	m.table(r.table(), "variant")
	if failures := r.failures(); len(failures) > 1 {
		m.block("%s", leftBehind)
		m.table(failures, "failure")
	}
	m.list("Variants", proses(r.descriptions()))
	return m.bytes()
}
