package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/words"
)

// Statement is a reason why a change fails the gate, or a warning, about one subject.
type Statement struct {
	// About names what the statement is about: a workload, as shop/web, another object, as service/web, or a scenario or command.
	About string
	// Text says what is wrong, with numbers: "3 of 3 pods Pending, no node has pool=db".
	Text string
	// Fails means that the change fails the gate.
	Fails bool
}

// Bounds of a headline: how many subjects it names, and how many characters it has about each.
const maxAbout, maxText = 3, 200

// headline returns the statements as a line of Markdown that begins with the verdict, the reasons to fail first. It has one statement of each of
// up to three subjects and counts the other subjects: "❌ web: 3 of 3 pods Pending, no node has pool=db; db: …; and 9 more". Without statements
// it says that the change passes, as the text says.
func headline(all []Statement, passes string) string {
	if len(all) == 0 {
		return "✅ " + markdown.Line(passes)
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Statement) int { return rank(b) - rank(a) })
	var parts []string
	subjects := list.GroupBy(sorted, func(s Statement) string { return s.About })
	for _, of := range subjects[:min(maxAbout, len(subjects))] {
		parts = append(parts, nameAbout(of[0].About)+": "+markdown.Line(words.Shorten(of[0].Text, maxText)))
	}
	if more := len(subjects) - maxAbout; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return sign(sorted[0].Fails) + " " + strings.Join(parts, "; ")
}

// nameAbout returns the name of a subject as Markdown; a command is code.
func nameAbout(about string) string {
	if strings.Contains(about, " ") || markdown.Line(about) != about {
		return markdown.CodeSpan(about)
	}
	return about
}

// rank is higher for a statement that fails.
func rank(s Statement) int {
	if s.Fails {
		return 1
	}
	return 0
}

func sign(fails bool) string {
	if fails {
		return "❌"
	}
	return "⚠️"
}
