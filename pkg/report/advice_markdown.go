package report

import (
	"strings"
)

// adviceMarkdown is the advice, the figures, and details of each candidate.
func adviceMarkdown(r *AdviceReport) []byte {
	m := &markdown{}
	shown, rest := r.shown()
	m.block("**%s**", prose(r.Advice))
	m.block("%s", prose(r.about()))
	m.about(r.Head)
	m.table(r.table(shown), "candidate")
	m.details(len(shown), "candidate", func(i int) string {
		c, d := shown[i], &markdown{}
		d.block("%s", summary(c.Name, rulesText(c.Rules)))
		var lines []string
		for _, line := range r.words(c)[1:] {
			lines = append(lines, prose(line))
		}
		if len(lines) > 0 {
			d.items(lines)
		}
		var commands []string
		if c.Changed() {
			commands = append(commands, "PATCH="+ShellWord(string(c.Patch)), r.apply(`"$PATCH"`))
		}
		for _, command := range r.commands(c, func(words string) string { return `"` + words + `$PATCH"` }) {
			commands = append(commands, command.Command+"  # "+command.Shows)
		}
		for i := range commands {
			commands[i] = clean(commands[i])
		}
		d.block("````shell\n%s\n````", strings.Join(commands, "\n"))
		d.block("</details>")
		return d.text()
	})
	var lines []string
	for _, line := range r.beaten(rest) {
		lines = append(lines, prose(line))
	}
	m.list("Not shown", lines)
	return m.bytes()
}
