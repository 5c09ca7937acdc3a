// Package markdown renders documents as GitHub flavoured Markdown, for a comment on a change.
package markdown

import (
	"cmp"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxBytes bounds a page in bytes, with room to spare: a comment on GitHub holds 65,536 characters.
	maxBytes = 60_000
	// maxSection bounds each section, so that the next ones find room.
	maxSection = maxBytes / 4
	// maxWords is how many characters of a text from elsewhere are shown.
	maxWords = 400
)

// Render writes the document: the answer, what it is about, and the sections that find room; details are folded away.
func Render(d *doc.Doc) []byte {
	m := &page{}
	for i, s := range d.Sections {
		part := &page{}
		part.section(s, i == 0, d.Judged)
		if part.out.Len()+m.out.Len() > maxBytes {
			m.block("and %s", words.Count(len(d.Sections)-i, "more section"))
			break
		}
		if part.out.Len() > 0 {
			m.block("%s", strings.TrimSuffix(part.out.String(), "\n"))
		}
		if i == 0 && d.Head.Kind != "" {
			m.about(d.Head)
		}
	}
	return []byte(m.out.String())
}

// page is a page of GitHub flavoured Markdown in the making, for a comment on a change. Texts from elsewhere go through prose,
// code or summary, which take markup out of them.
type page struct{ out strings.Builder }

// block writes a block of its own, set off from the one before.
func (m *page) block(format string, args ...any) {
	if m.out.Len() > 0 {
		m.out.WriteString("\n")
	}
	fmt.Fprintf(&m.out, format+"\n", args...)
}

// section writes the blocks of a section that find room. The first line of the answer stands out.
func (m *page) section(s *doc.Section, answer, judged bool) {
	switch {
	case s.Folded:
		m.block("%s", summary(s.Title))
		defer m.block("</details>")
	case s.Title != "":
		m.block("### %s", prose(s.Title))
	}
	for i, block := range s.Blocks {
		if m.out.Len() > maxSection {
			m.block("and %s", words.Count(len(s.Blocks)-i, "more line"))
			return
		}
		switch b := block.(type) {
		case doc.Line:
			switch text, indent := b.Text(); {
			case answer && i == 0 && judged:
				m.block("**%s %s**", marks[b[0].Style], prose(text))
			case answer && i == 0:
				m.block("**%s**", prose(text))
			case indent > 0:
				m.item(i, s.Blocks, strings.Repeat("  ", (indent-1)/2)+"- "+styled(b))
			default:
				m.block("%s", styled(b))
			}
		case doc.Verbatim:
			m.block("%s", Fenced(list.Each(b, strings.TrimSpace)))
		case doc.Table:
			m.table(b)
		case doc.More:
			m.block("and %d more %s", b.N, words.Pick(b.N, b.Noun, b.Nouns))
		case doc.Fields:
			m.fields(b)
		}
	}
}

// marks stand before an answer that passes or fails.
var marks = map[doc.Style]string{doc.Green: "✅", doc.Yellow: "⚠️", doc.Red: "❌"}

// item writes a line of a list, which begins with a blank one.
func (m *page) item(i int, blocks []doc.Block, line string) {
	if i > 0 {
		if before, is := blocks[i-1].(doc.Line); is {
			if _, indent := before.Text(); indent > 0 {
				m.out.WriteString(line + "\n")
				return
			}
		}
	}
	m.block("%s", line)
}

// table writes a table with titles as one, and another as a list.
func (m *page) table(t doc.Table) {
	if t.Rows[0][0].Style == doc.Bold {
		m.rows(t.Rows, cmp.Or(t.Noun, "row"))
		return
	}
	var items []string
	for _, cells := range t.Rows {
		var parts []string
		for _, c := range cells {
			if c.Text != "" {
				parts = append(parts, prose(c.Text))
			}
		}
		items = append(items, strings.Join(parts, ": "))
	}
	m.items(items)
}

// fields writes what the line below the answer does not have.
func (m *page) fields(fields doc.Fields) {
	var items []string
	for _, f := range fields {
		for _, line := range f.Lines {
			if !f.Head {
				items = append(items, prose(f.Title)+" "+prose(line))
			}
		}
	}
	m.items(items)
}

func (m *page) items(lines []string) {
	if len(lines) > 0 {
		m.block("- %s", strings.Join(lines, "\n- "))
	}
}

// rows writes the first rows of a table, and counts the rest; numbers stand on the right.
func (m *page) rows(table [][]doc.Cell, noun string) {
	if len(table) < 2 {
		return
	}
	head, rule := make([]string, len(table[0])), make([]string, len(table[0]))
	for i, title := range table[0] {
		head[i], rule[i] = prose(sentenceCase(title.Text)), "---"
		if _, err := strconv.Atoi(strings.Trim(table[1][i].Text, "<>%")); err == nil {
			rule[i] = "---:"
		}
	}
	m.block("%s%s", line(head), strings.TrimSuffix(line(rule), "\n"))
	for i, row := range table[1:] {
		if i == doc.MaxPods || m.out.Len() > maxSection {
			m.block("and %s", words.Count(len(table)-1-i, "more "+noun))
			return
		}
		cells := make([]string, len(row))
		for j, c := range row {
			if c.Text != doc.None {
				cells[j] = prose(c.Text)
			}
		}
		m.out.WriteString(line(cells))
	}
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

// Code is a name from elsewhere as code. A code span cannot hold every text, least of all in a table.
func Code(text string) string {
	text = shortened(text)
	if strings.Contains(text, "`") || strings.Contains(text, `\|`) || strings.HasSuffix(text, `\`) || strings.TrimSpace(text) == "" {
		return "<code>" + entities.Replace(text) + "</code>"
	}
	return "`" + text + "`"
}

// summary begins details. Its first line is HTML up to the blank one after it.
func summary(title string) string {
	return "<details><summary><code>" + html.EscapeString(shortened(title)) + "</code></summary>"
}

// shortened is the text without control characters, and cut where it is too long.
func shortened(given string) string {
	given = doc.Clean(given)
	if utf8.RuneCountInString(given) > maxWords {
		given = string([]rune(given)[:maxWords-1]) + "…"
	}
	return given
}

// about is the line below the verdict.
func (m *page) about(h report.Head) {
	line := doc.ClusterLine(h.Cluster) + "; " + doc.SchedulerLine(h)
	if h.Ties == "random" {
		line += fmt.Sprintf("; equal nodes drawn at random, seed %d", h.Seed)
	}
	if h.Scenario != "" {
		m.block("%s: %s", Code(h.Scenario), prose(line))
		return
	}
	m.block("%s", prose(line))
}

// styled is a line with its titles set off.
func styled(line doc.Line) string {
	text := ""
	for _, c := range line {
		if words := strings.TrimSpace(c.Text); c.Style == doc.Bold && words != "" {
			text += strings.Replace(c.Text, words, "**"+prose(words)+"**", 1)
			continue
		}
		text += prose(c.Text)
	}
	return strings.TrimSpace(text)
}

// Fenced is lines to be copied, between fences that are longer than any in them.
func Fenced(lines []string) string {
	text, fence := "", "```"
	for _, line := range lines {
		text += doc.Clean(line) + "\n"
	}
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence
}
