package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxMarkdown bounds a page in bytes, with room to spare: a comment on GitHub holds 65,536 characters.
	maxMarkdown = 60_000
	// maxSection bounds each list before the details, so that the next ones find room.
	maxSection = maxMarkdown / 4
	// maxWords is how many characters of a text from elsewhere are shown.
	maxWords = 400
)

// markdown is a page of GitHub flavoured Markdown in the making, for a comment on a change. Texts from elsewhere go through prose,
// code or summary, which is where markup is taken out of them.
type markdown struct{ out strings.Builder }

// block writes a block of its own, set off from the one before.
func (m *markdown) block(format string, args ...any) {
	if m.out.Len() > 0 {
		m.out.WriteString("\n")
	}
	fmt.Fprintf(&m.out, format+"\n", args...)
}

// bytes is the page.
func (m *markdown) bytes() []byte { return []byte(m.out.String()) }

// text is a part of a page.
func (m *markdown) text() string { return m.out.String() }

// upTo writes as many of n items as the limit and the page's room leave, and counts the rest.
func (m *markdown) upTo(limit, room, n int, noun string, item func(i int) string) {
	for i := range n {
		text := item(i)
		if room -= len(text); i == limit || room < 0 {
			m.block("and %s", count(n-i, "more "+noun))
			return
		}
		m.out.WriteString(text)
	}
}

// table writes a table of prose; numbers stand on the right.
func (m *markdown) table(table [][]cell, noun string) {
	if len(table) < 2 {
		return
	}
	head, rule := make([]string, len(table[0])), make([]string, len(table[0]))
	for i, title := range table[0] {
		head[i], rule[i] = prose(sentenceCase(title.text)), "---"
		if _, err := strconv.Atoi(strings.Trim(table[1][i].text, "<>%")); err == nil {
			rule[i] = "---:"
		}
	}
	m.block("%s%s", line(head), strings.TrimSuffix(line(rule), "\n"))
	m.upTo(maxPods, maxSection, len(table)-1, noun, func(i int) string {
		cells := make([]string, len(table[i+1]))
		for j, c := range table[i+1] {
			if c.text != none {
				cells[j] = prose(c.text)
			}
		}
		return line(cells)
	})
}

// line is a line of a table.
func line(cells []string) string {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// sentenceCase turns the titles of text, "NOT REPLACED", into those of a page, "Not replaced".
func sentenceCase(title string) string {
	if title == "" {
		return ""
	}
	return title[:1] + strings.ToLower(title[1:])
}

// markup are the characters that mean something to GitHub. "@name" would notify somebody and "#1" point at an issue, save in code.
var markup = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`, "://", "&#58;//",
	"@", "`@`", "#", "`#`",
)

// prose is text from elsewhere as a reader sees it, on one line.
func prose(text string) string { return markup.Replace(shortened(text)) }

// entities are the same characters where nothing but entities can hold them: in an element.
var entities = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "~", "&#126;",
	"$", "&#36;", ":", "&#58;", "|", "&#124;",
)

// code is a name from elsewhere. A code span cannot hold every text, least of all in a table.
func code(text string) string {
	text = shortened(text)
	if strings.Contains(text, "`") || strings.Contains(text, `\|`) || strings.HasSuffix(text, `\`) || strings.TrimSpace(text) == "" {
		return "<code>" + entities.Replace(text) + "</code>"
	}
	return "`" + text + "`"
}

// summary begins details. Its first line is HTML up to the blank one after it.
func summary(name, text string) string {
	line := "<code>" + html.EscapeString(shortened(name)) + "</code>"
	if text != "" {
		line += ": " + strings.NewReplacer("@", "<code>@</code>", "#", "<code>#</code>").Replace(html.EscapeString(shortened(text)))
	}
	return "<details><summary>" + line + "</summary>"
}

// shortened is the text without control characters, and cut where it is too long.
func shortened(given string) string {
	given = clean(given)
	if utf8.RuneCountInString(given) > maxWords {
		given = string([]rune(given)[:maxWords-1]) + "…"
	}
	return given
}

// details writes what can be folded away, item by item, into the room that is left.
func (m *markdown) details(n int, noun string, item func(i int) string) {
	m.upTo(n, maxMarkdown-m.out.Len(), n, noun, func(i int) string { return "\n" + item(i) })
}

func (m *markdown) list(title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	m.block("%s:", title)
	m.items(texts)
}

func (m *markdown) items(texts []string) {
	m.out.WriteString("\n")
	m.upTo(maxDetails, maxSection, len(texts), "line", func(i int) string { return "- " + texts[i] + "\n" })
}

// about is the line below the verdict.
func (m *markdown) about(h Head) {
	line := clusterLine(h.Cluster) + "; " + schedulerLine(h)
	if h.Ties == "random" {
		line += fmt.Sprintf("; equal nodes drawn at random, seed %d", h.Seed)
	}
	if h.Scenario != "" {
		m.block("%s: %s", code(h.Scenario), prose(line))
		return
	}
	m.block("%s", prose(line))
}

func proses(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = prose(text)
	}
	return all
}
