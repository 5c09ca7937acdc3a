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
	// maxBytes bounds a document in bytes, with some reserve: a comment on GitHub may have 65,536 characters.
	maxBytes = 60_000
	// maxSection bounds each section, so that there is room for the next ones.
	maxSection = maxBytes / 4
	// maxWords is the largest number of characters of a text that does not come from Faultline.
	maxWords = 400
)

// Render returns the document as Markdown: the answer, the scenario and the cluster, then the sections that fit. Details are folded away.
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

// page builds a page of GitHub flavoured Markdown. Texts that do not come from Faultline go through [escapeProse], [CodeSpan] or [foldedHead], which escape
// markup.
type page struct{ out strings.Builder }

// block writes a block, with a blank line before it.
func (m *page) block(format string, args ...any) {
	if m.out.Len() > 0 {
		m.out.WriteString("\n")
	}
	fmt.Fprintf(&m.out, format+"\n", args...)
}

// section writes the blocks of a section that fit. The first line of the answer is bold.
func (m *page) section(s *doc.Section, answer, judged bool) {
	switch {
	case s.Folded:
		m.block("%s", foldedHead(s.Title))
		defer m.block("</details>")
	case s.Title != "":
		m.block("### %s", escapeProse(s.Title))
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
				m.block("**%s %s**", marks[b[0].Style], escapeProse(text))
			case answer && i == 0:
				m.block("**%s**", escapeProse(text))
			case indent > 0:
				m.item(i, s.Blocks, strings.Repeat("  ", (indent-1)/2)+"- "+boldTitles(b))
			default:
				m.block("%s", boldTitles(b))
			}
		case doc.Verbatim:
			m.block("%s", CodeBlock(list.Map(b, strings.TrimSpace)))
		case doc.Table:
			m.table(b)
		case doc.More:
			m.block("and %d more %s", b.N, words.Pick(b.N, b.Noun, b.Nouns))
		case doc.Fields:
			m.fields(b)
		}
	}
}

// marks are the signs before an answer that passes or fails.
var marks = map[doc.Style]string{doc.Green: "✅", doc.Yellow: "⚠️", doc.Red: "❌"}

// item writes an item of a list. The first item has a blank line before it.
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

// table writes a table with titles as a table, and any other as a list.
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
				parts = append(parts, escapeProse(c.Text))
			}
		}
		items = append(items, strings.Join(parts, ": "))
	}
	m.items(items)
}

// fields writes the fields that the line below the answer does not have.
func (m *page) fields(fields doc.Fields) {
	var items []string
	for _, f := range fields {
		for _, line := range f.Lines {
			if !f.Head {
				items = append(items, escapeProse(f.Title)+" "+escapeProse(line))
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

// rows writes the first rows of a table, and counts the rest. Columns of numbers are aligned to the right.
func (m *page) rows(table [][]doc.Cell, noun string) {
	if len(table) < 2 {
		return
	}
	head, rule := make([]string, len(table[0])), make([]string, len(table[0]))
	for i, title := range table[0] {
		head[i], rule[i] = escapeProse(doc.SentenceCase(title.Text)), "---"
		if _, err := strconv.Atoi(strings.Trim(table[1][i].Text, "<>%")); err == nil {
			rule[i] = "---:"
		}
	}
	m.block("%s%s", tableRow(head), strings.TrimSuffix(tableRow(rule), "\n"))
	for i, row := range table[1:] {
		if i == doc.MaxPods || m.out.Len() > maxSection {
			m.block("and %s", words.Count(len(table)-1-i, "more "+noun))
			return
		}
		cells := make([]string, len(row))
		for j, c := range row {
			if c.Text != doc.None {
				cells[j] = escapeProse(c.Text)
			}
		}
		m.out.WriteString(tableRow(cells))
	}
}

// tableRow returns a row of a table.
func tableRow(cells []string) string {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// markupEscapes escapes the characters that mean something to GitHub. Outside of code, "@name" would notify somebody, and "#1" would link an
// issue.
var markupEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`, "://", "&#58;//",
	"@", "`@`", "#", "`#`",
)

// escapeProse returns a text on one line, so that a reader sees its characters as they are.
func escapeProse(text string) string { return markupEscapes.Replace(shortenText(text)) }

// Line returns a text as one line of prose.
func Line(text string) string { return escapeProse(text) }

// entityEscapes escapes the same characters in an HTML element, where only entities can hold them.
var entityEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "~", "&#126;",
	"$", "&#36;", ":", "&#58;", "|", "&#124;",
)

// CodeSpan returns a name as code. It uses an element for a text that a code span cannot hold, for example in a table.
func CodeSpan(text string) string {
	text = shortenText(text)
	if strings.Contains(text, "`") || strings.Contains(text, `\|`) || strings.HasSuffix(text, `\`) || strings.TrimSpace(text) == "" {
		return "<code>" + entityEscapes.Replace(text) + "</code>"
	}
	return "`" + text + "`"
}

// foldedHead returns the beginning of folded details. Its first line is HTML up to the blank line after it.
func foldedHead(title string) string {
	return "<details><summary><code>" + html.EscapeString(shortenText(title)) + "</code></summary>"
}

// shortenText returns the text without control characters, and cut at maxWords.
func shortenText(given string) string {
	given = doc.Clean(given)
	if utf8.RuneCountInString(given) > maxWords {
		given = string([]rune(given)[:maxWords-1]) + "…"
	}
	return given
}

// about writes the line below the answer: scenario, cluster and scheduler.
func (m *page) about(h report.Head) {
	line := doc.ClusterLine(h.Cluster) + "; " + doc.SchedulerLine(h)
	if h.Ties == "random" {
		line += fmt.Sprintf("; equal nodes drawn at random, seed %d", h.Seed)
	}
	if h.Scenario != "" {
		m.block("%s: %s", CodeSpan(h.Scenario), escapeProse(line))
		return
	}
	m.block("%s", escapeProse(line))
}

// boldTitles returns a line with its titles in bold.
func boldTitles(line doc.Line) string {
	text := ""
	for _, c := range line {
		if words := strings.TrimSpace(c.Text); c.Style == doc.Bold && words != "" {
			text += strings.Replace(c.Text, words, "**"+escapeProse(words)+"**", 1)
			continue
		}
		text += escapeProse(c.Text)
	}
	return strings.TrimSpace(text)
}

// CodeBlock returns lines as a code block, between fences that are longer than any fence in them.
func CodeBlock(lines []string) string {
	text, fence := "", "```"
	for _, line := range lines {
		text += doc.Clean(line) + "\n"
	}
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence
}
