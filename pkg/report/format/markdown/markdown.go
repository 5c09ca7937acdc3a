// Package markdown writes pages of GitHub flavoured Markdown, for a comment on a change.
package markdown

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// MaxBytes bounds a page in bytes, with room to spare: a comment on GitHub holds 65,536 characters.
	MaxBytes = 60_000
	// maxSection bounds each list before the details, so that the next ones find room.
	maxSection = MaxBytes / 4
	// maxWords is how many characters of a text from elsewhere are shown.
	maxWords = 400
)

// Page is a page of GitHub flavoured Markdown in the making, for a comment on a change. Texts from elsewhere go through prose,
// code or summary, which is where markup is taken out of them.
type Page struct{ out strings.Builder }

// Block writes a block of its own, set off from the one before.
func (m *Page) Block(format string, args ...any) {
	if m.out.Len() > 0 {
		m.out.WriteString("\n")
	}
	fmt.Fprintf(&m.out, format+"\n", args...)
}

// Bytes is the page.
func (m *Page) Bytes() []byte { return []byte(m.out.String()) }

// Text is a part of a page.
func (m *Page) Text() string { return m.out.String() }

// upTo writes as many of n items as the limit and the page's room leave, and counts the rest.
func (m *Page) upTo(limit, room, n int, noun string, item func(i int) string) {
	for i := range n {
		text := item(i)
		if room -= len(text); i == limit || room < 0 {
			m.Block("and %s", words.Count(n-i, "more "+noun))
			return
		}
		m.out.WriteString(text)
	}
}

// Table writes a table of prose; numbers stand on the right.
func (m *Page) Table(table [][]text.Cell, noun string) {
	if len(table) < 2 {
		return
	}
	head, rule := make([]string, len(table[0])), make([]string, len(table[0]))
	for i, title := range table[0] {
		head[i], rule[i] = Prose(sentenceCase(title.Text)), "---"
		if _, err := strconv.Atoi(strings.Trim(table[1][i].Text, "<>%")); err == nil {
			rule[i] = "---:"
		}
	}
	m.Block("%s%s", line(head), strings.TrimSuffix(line(rule), "\n"))
	m.upTo(text.MaxPods, maxSection, len(table)-1, noun, func(i int) string {
		cells := make([]string, len(table[i+1]))
		for j, c := range table[i+1] {
			if c.Text != text.None {
				cells[j] = Prose(c.Text)
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

// Prose is text from elsewhere as a reader sees it, on one line.
func Prose(text string) string { return markup.Replace(shortened(text)) }

// entities are the same characters where nothing but entities can hold them: in an element.
var entities = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "~", "&#126;",
	"$", "&#36;", ":", "&#58;", "|", "&#124;",
)

// Code is a name from elsewhere. A code span cannot hold every text, least of all in a table.
func Code(text string) string {
	text = shortened(text)
	if strings.Contains(text, "`") || strings.Contains(text, `\|`) || strings.HasSuffix(text, `\`) || strings.TrimSpace(text) == "" {
		return "<code>" + entities.Replace(text) + "</code>"
	}
	return "`" + text + "`"
}

// Summary begins details. Its first line is HTML up to the blank one after it.
func Summary(name, text string) string {
	line := "<code>" + html.EscapeString(shortened(name)) + "</code>"
	if text != "" {
		line += ": " + strings.NewReplacer("@", "<code>@</code>", "#", "<code>#</code>").Replace(html.EscapeString(shortened(text)))
	}
	return "<details><summary>" + line + "</summary>"
}

// shortened is the text without control characters, and cut where it is too long.
func shortened(given string) string {
	given = text.Clean(given)
	if utf8.RuneCountInString(given) > maxWords {
		given = string([]rune(given)[:maxWords-1]) + "…"
	}
	return given
}

// Details writes what can be folded away, item by item, into the room that is left.
func (m *Page) Details(n int, noun string, item func(i int) string) {
	m.upTo(n, MaxBytes-m.out.Len(), n, noun, func(i int) string { return "\n" + item(i) })
}

func (m *Page) List(title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	m.Block("%s:", title)
	m.Items(texts)
}

func (m *Page) Items(texts []string) {
	m.out.WriteString("\n")
	m.upTo(text.MaxDetails, maxSection, len(texts), "line", func(i int) string { return "- " + texts[i] + "\n" })
}

// About is the line below the verdict.
func (m *Page) About(h report.Head) {
	line := text.ClusterLine(h.Cluster) + "; " + text.SchedulerLine(h)
	if h.Ties == "random" {
		line += fmt.Sprintf("; equal nodes drawn at random, seed %d", h.Seed)
	}
	if h.Scenario != "" {
		m.Block("%s: %s", Code(h.Scenario), Prose(line))
		return
	}
	m.Block("%s", Prose(line))
}

func Proses(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = Prose(text)
	}
	return all
}
