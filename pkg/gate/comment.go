package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/lint"
	"github.com/faultline/faultline/pkg/words"
)

// Section is the part of a comment about one subject.
type Section struct {
	// Name is the path of a scenario, or a command.
	Name string
	*Judgement
	// Note says what the subject was compared with, if not with the same subject in the base; Lines are the lines of an error.
	Note  string
	Lines []string
	// Unchanged means that both sides are the same.
	Unchanged bool
}

// Comment is what a reviewer reads about a change.
type Comment struct {
	Sections []Section
	// Compared means that there is a base to compare with.
	Compared bool
	// Notes are about the whole comparison, and Tests are the lines of the tests if one fails.
	Notes, Tests []string
	// Expectations is how many expectations were checked.
	Expectations int
}

// maxLines is how many lines the sections of a comment have. Nobody reads more, and GitHub folds no comment.
const maxLines = 160

// Statements returns the statements of all sections.
func (c *Comment) Statements() []Statement {
	var all []Statement
	for i := range c.Sections {
		if c.Sections[i].Judgement != nil {
			all = append(all, c.Sections[i].Statements...)
		}
	}
	return list.Distinct(all)
}

// Markdown returns the comment: a headline, then a section for each subject with a difference.
func (c *Comment) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", headline(c.Statements(), c.passes()))
	for _, note := range c.Notes {
		fmt.Fprintf(&out, "\n%s\n", note)
	}
	if len(c.Tests) > 0 {
		fmt.Fprintf(&out, "\n%s\n", markdown.CodeBlock(c.Tests))
	}
	if !c.Compared {
		return out.String()
	}
	var same, cut []string
	left := maxLines - strings.Count(out.String(), "\n")
	sections := slices.Clone(c.Sections)
	slices.SortStableFunc(sections, func(a, b Section) int { return b.rank() - a.rank() })
	for i := range sections {
		s := &sections[i]
		if s.Unchanged || s.rank() == 0 && s.Note == "" && !s.differs() {
			same = append(same, markdown.CodeSpan(s.Name))
			continue
		}
		text := s.markdown()
		if n := strings.Count(text, "\n"); n > left && i > 0 {
			cut = append(cut, fmt.Sprintf("%s %s", markdown.CodeSpan(s.Name), headline(s.statements(), noWorse)))
			continue
		}
		left -= strings.Count(text, "\n")
		out.WriteString(text)
	}
	if len(cut) > 0 {
		fmt.Fprintf(&out, "\n### Left out, to keep the comment short\n\n")
		for _, line := range cut[:min(len(cut), maxCut)] {
			fmt.Fprintf(&out, "- %s\n", line)
		}
		if more := len(cut) - maxCut; more > 0 {
			fmt.Fprintf(&out, "- and %d more\n", more)
		}
	}
	if len(same) > 0 {
		other := ""
		if slices.ContainsFunc(c.Sections, func(s Section) bool { return s.Judgement != nil && len(s.RolledOut) > 0 }) {
			other = "other "
		}
		fmt.Fprintf(&out, "\nNo %sdifference: %s.\n", other, words.Few(same))
	}
	return out.String()
}

// maxCut is how many of the sections that are left out have a line.
const maxCut = 20

const noWorse = "nothing is worse"

// passes says in what way the change passes, if nothing is stated.
func (c *Comment) passes() string {
	text := "nothing is worse than in the base"
	switch {
	case !c.Compared:
		return "every expectation is met"
	case len(c.Sections) > 0 && !slices.ContainsFunc(c.Sections, func(s Section) bool { return s.Unchanged || s.Judgement != nil }):
		return "there is nothing to judge"
	case c.Expectations > 0:
		text = "every expectation is met, and " + text
	}
	var declared, rolledOut []string
	for i := range c.Sections {
		j := c.Sections[i].Judgement
		if j == nil {
			continue
		}
		rolledOut = append(rolledOut, j.RolledOut...)
		for _, name := range j.Added {
			declared = append(declared, name+" is new")
		}
		if j.Compared != nil {
			declared = append(declared, describeAllDeclared(j.Compared.Declared)...)
		}
	}
	declared = list.Distinct(declared)
	if len(declared) > 0 {
		text += "; declared: " + strings.Join(declared[:min(maxAbout, len(declared))], ", ")
	}
	if more := len(declared) - maxAbout; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(rolledOut) > 0 {
		text += "; a rollout replaces the pods of " + words.Few(list.Distinct(rolledOut))
	}
	return text
}

// describeAllDeclared describes the differences. A workload that becomes one of another kind keeps the kind in its name.
func describeAllDeclared(all []diff.DeclaredDiff) []string {
	of := map[string]map[cluster.WorkloadRef]bool{}
	for _, d := range all {
		name := nameWorkload(d.WorkloadRef)
		if of[name] == nil {
			of[name] = map[cluster.WorkloadRef]bool{}
		}
		of[name][d.WorkloadRef] = true
	}
	var described []string
	for i := range all {
		name := nameWorkload(all[i].WorkloadRef)
		if len(of[name]) > 1 {
			name = all[i].Qualified()
		}
		described = append(described, describeDeclared(&all[i], name))
	}
	return described
}

// describeDeclared returns "web is new", "web: 2 replicas → 3 replicas" or "web drops budget web with minAvailable 1".
func describeDeclared(d *diff.DeclaredDiff, name string) string {
	switch {
	case d.What == "workload" && d.Old == "":
		return name + " is new"
	case d.What == "workload":
		return name + " is removed"
	case d.Old == "":
		return name + " adds " + d.New
	case d.New == "":
		return name + " drops " + d.Old
	}
	return fmt.Sprintf("%s: %s → %s", name, d.Old, d.New)
}

func (s *Section) statements() []Statement {
	if s.Judgement == nil {
		return nil
	}
	return s.Statements
}

// rank is higher for a section that fails, and for one with a warning.
func (s *Section) rank() int {
	switch all := s.statements(); {
	case slices.ContainsFunc(all, func(s Statement) bool { return s.Fails }):
		return 2
	case len(all) > 0:
		return 1
	}
	return 0
}

// differs reports whether the section has anything to show.
func (s *Section) differs() bool {
	if s.Judgement == nil {
		return false
	}
	return len(s.Notes) > 0 || s.comparedDiffer() || s.Lint != nil && len(s.Lint.Findings) > 0
}

// comparedDiffer reports whether the comparison has found any difference.
func (j *Judgement) comparedDiffer() bool {
	return j.Compared != nil && len(j.Compared.Declared)+len(j.Compared.Steps)+len(j.Compared.Failures)+len(j.Compared.Added)+len(j.Compared.Removed) > 0
}

// markdown returns the section: a headline of its own, what differs, the messages of Pending pods, and new findings.
func (s *Section) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n### %s\n", markdown.CodeSpan(s.Name))
	if s.Note != "" {
		fmt.Fprintf(&out, "\n%s\n", s.Note)
	}
	if len(s.Lines) > 0 {
		fmt.Fprintf(&out, "\n%s\n", markdown.CodeBlock(s.Lines))
	}
	if s.Judgement == nil {
		return out.String()
	}
	fmt.Fprintf(&out, "\n%s\n", headline(s.Statements, noWorse))
	for _, note := range s.Notes {
		fmt.Fprintf(&out, "\n%s\n", markdown.Line(words.UpperFirst(note)))
	}
	if len(s.Pending) > 0 {
		fmt.Fprintf(&out, "\n%s\n", markdown.CodeBlock(s.Pending))
	}
	if s.comparedDiffer() {
		fmt.Fprintf(&out, "\n%s", markdown.Render(s.Compared.Changes()))
	}
	if s.Lint != nil && len(s.Lint.Findings) > 0 {
		out.WriteString("\n")
		_ = lint.Formats.Write(&out, s.Lint, "markdown", report.Options{}) // a write to memory cannot fail
	}
	return out.String()
}
