package report

// verifyMarkdown is the verdict, the divergences and what they could be, the Pending pods, and what was left out.
func verifyMarkdown(r *VerifyReport) []byte {
	m := &markdown{}
	for i, line := range r.verdict() {
		if i == 0 {
			m.block("**%s**", prose(line.text))
		} else {
			m.block("%s", prose(line.text))
		}
	}
	h := r.Head
	h.Scenario = "" // a command line
	m.about(h)
	m.table(r.divergences(), "divergence")
	var causes []string
	for _, line := range r.words() {
		causes = append(causes, prose(line))
	}
	m.list("What they could be", causes)
	var assumed []string
	for _, a := range r.Assumed {
		assumed = append(assumed, prose(a.text()))
	}
	if len(assumed) > 0 {
		m.block("%s", assumedVerdict)
		m.items(assumed)
	}
	var pending []string
	for _, p := range r.Pending {
		pending = append(pending, code(p.Namespace+"/"+p.Name)+": "+prose(p.text()))
	}
	if len(pending) > 0 {
		m.block("%s", prose(r.pendingVerdict()))
		m.items(pending)
	}
	var left []string
	for _, s := range r.Skipped {
		left = append(left, prose(count(s.Count, "pod")+": "+s.Why))
	}
	m.list("Skipped", left)
	if len(r.Ignored) > 0 {
		m.list("Ignored", []string{prose(ignoredLines(r.Ignored, false)[0])})
	}
	return m.bytes()
}
