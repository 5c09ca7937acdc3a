// Package lint has the report on rules that do not do what they say.
package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/words"
)

// Kind is the kind of a report on rules that do not do what they say.
const Kind = "LintReport"

// Report lists the rules of a scenario that do not do what they say.
type Report struct {
	report.Head
	// Summary counts the findings by their severity.
	Summary Summary `json:"summary"`
	// KnownFindings are the findings that the baseline also has. They are not counted.
	KnownFindings []lint.Finding `json:"knownFindings,omitempty"`
	lint.Result

	lines map[field]int // lines of the rules in their files, if known
}

// Summary counts findings.
type Summary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// New returns the report on the findings of the checks. version is Faultline's version.
func New(result *lint.Result, version string) *Report {
	r := &Report{Head: report.NewHead(result.Simulation, Kind, version), Result: *result}
	if result.Unexamined > 0 {
		r.Notes = append(slices.Clone(r.Notes), fmt.Sprintf("outvoted and term-decides-nothing did not look at %s, since each takes another run.", words.Count(result.Unexamined, "rule")))
	}
	if len(result.LeftOut) > 0 {
		left := list.Map(result.LeftOut, func(l lint.LeftOut) string { return fmt.Sprintf("%s (%s)", l.Check, words.And(l.Unread)) })
		r.Notes = append(slices.Clone(r.Notes), "not checked, since what they look at may not be read: "+words.And(left)+".")
	}
	r.countFindings()
	return r
}

func (r *Report) countFindings() {
	r.Summary = Summary{}
	for _, f := range r.Findings {
		switch f.Severity {
		case lint.Error:
			r.Summary.Errors++
		case lint.Warning:
			r.Summary.Warnings++
		case lint.Note:
			r.Summary.Notes++
		}
	}
}

// Decode reads a report back from its JSON or YAML.
func Decode(file string, data []byte) (*Report, error) {
	return report.Decode[Report](file, data, Kind)
}

// SetKnown sets aside the findings that an earlier report also has. Two findings are the same if they have the same check, severity, object
// and field; positions in a list do not count. Where an object has several, as in a scenario that applies the object once more in each step,
// those with the same message are paired first: a new finding is the one whose message is new.
func (r *Report) SetKnown(old *Report) {
	type same struct {
		check    string
		severity lint.Severity
		object   lint.Object
		field    string
		message  string
	}
	identify := func(f lint.Finding, message string) same {
		return same{f.Check, f.Severity, f.Object, indexPattern.ReplaceAllString(f.Field, ""), message}
	}
	unpaired := slices.Concat(old.Findings, old.KnownFindings)
	isKnown := make([]bool, len(r.Findings))
	for _, message := range []func(lint.Finding) string{
		func(f lint.Finding) string { return f.Message },
		func(lint.Finding) string { return "" },
	} {
		found := map[same][]int{}
		for i, f := range r.Findings {
			if key := identify(f, message(f)); !isKnown[i] {
				found[key] = append(found[key], i)
			}
		}
		unpaired = list.Without(unpaired, func(f lint.Finding) bool {
			key := identify(f, message(f))
			if len(found[key]) == 0 {
				return false
			}
			isKnown[found[key][0]], found[key] = true, found[key][1:]
			return true
		})
	}
	var known []lint.Finding
	added := []lint.Finding{}
	for i, f := range r.Findings {
		if isKnown[i] {
			known = append(known, f)
		} else {
			added = append(added, f)
		}
	}
	r.KnownFindings, r.Findings = known, added
	r.countFindings()
}

// Keep removes the findings that keep refuses. It gets each finding with its check.
func (r *Report) Keep(keep func(*lint.Finding, *lint.Check) bool) {
	checks := list.IndexBy(r.Checks, func(c lint.Check) string { return c.ID })
	r.Findings = list.Where(r.Findings, func(f lint.Finding) bool {
		check := checks[f.Check]
		return keep(&f, &check)
	})
	r.countFindings()
}

// indexPattern matches a position in a list.
var indexPattern = regexp.MustCompile(`\[\d+\]`)

// Fails reports whether a finding is at least as severe as on. For "none" it is false.
func (r *Report) Fails(on string) bool {
	least := lint.Severity(on)
	return slices.Contains(lint.Severities, least) && slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return f.Severity.AtLeast(least) })
}

// fileAndLine returns the file and the line of the object, as editors take them: shop.yaml:12.
func fileAndLine(f *lint.Finding) string {
	if f.Source == nil {
		return ""
	}
	file := f.Source.File
	if file == "-" {
		file = "standard input"
	}
	return fmt.Sprintf("%s:%d", file, f.Source.Line)
}

func objectName(f *lint.Finding) string { return strings.ToLower(f.Kind) + "/" + f.Name }
