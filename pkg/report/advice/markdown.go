package advice

import (
	"strings"

	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// markdownPage is the advice, the figures, and details of each candidate.
func markdownPage(r *Report) []byte {
	m := &markdown.Page{}
	shown, rest := r.shown()
	m.Block("**%s**", markdown.Prose(r.Advice))
	m.Block("%s", markdown.Prose(r.about()))
	m.About(r.Head)
	m.Table(r.table(shown), "candidate")
	m.Details(len(shown), "candidate", func(i int) string {
		c, d := shown[i], &markdown.Page{}
		d.Block("%s", markdown.Summary(c.Name, rulesText(c.Rules)))
		var lines []string
		for _, line := range r.words(c)[1:] {
			lines = append(lines, markdown.Prose(line))
		}
		if len(lines) > 0 {
			d.Items(lines)
		}
		var commands []string
		if c.Changed() {
			commands = append(commands, "PATCH="+ShellWord(string(c.Patch)), r.apply(`"$PATCH"`))
		}
		for _, command := range r.commands(c, func(words string) string { return `"` + words + `$PATCH"` }) {
			commands = append(commands, command.Command+"  # "+command.Shows)
		}
		for i := range commands {
			commands[i] = text.Clean(commands[i])
		}
		d.Block("````shell\n%s\n````", strings.Join(commands, "\n"))
		d.Block("</details>")
		return d.Text()
	})
	var lines []string
	for _, line := range r.beaten(rest) {
		lines = append(lines, markdown.Prose(line))
	}
	m.List("Not shown", lines)
	return m.Bytes()
}
