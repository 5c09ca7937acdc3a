// Package lint is the report on rules that do not do what they say.
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

// Report is which rules of a scenario do not do what they say.
type Report struct {
	report.Head
	// Summary counts the findings by their severity.
	Summary Summary `json:"summary"`
	// KnownFindings are those that the baseline has, too. They are not counted.
	KnownFindings []lint.Finding `json:"knownFindings,omitempty"`
	lint.Result

	lines map[field]int // of the rules, where they are known
}

// Summary counts findings.
type Summary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// New makes the report on what the checks found. The version is Faultline's own.
func New(result *lint.Result, version string) *Report {
	r := &Report{Head: report.NewHead(result.Simulation, Kind, version), Result: *result}
	if result.Unexamined > 0 {
		r.Notes = append(slices.Clone(r.Notes), fmt.Sprintf("outvoted and term-decides-nothing did not look at %s, since each takes another run.", words.Count(result.Unexamined, "rule")))
	}
	if len(result.LeftOut) > 0 {
		left := list.Each(result.LeftOut, func(l lint.LeftOut) string { return fmt.Sprintf("%s (%s)", l.Check, words.And(l.Unread)) })
		r.Notes = append(slices.Clone(r.Notes), "not checked, since what they look at may not be read: "+words.And(left)+".")
	}
	r.count()
	return r
}

func (r *Report) count() {
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

// Since sets the findings aside that an earlier report has, too. A finding is the same if the check, its severity, the object and the field are,
// whatever the position in a list.
func (r *Report) Since(old *Report) {
	type same struct {
		check    string
		severity lint.Severity
		object   lint.Object
		field    string
	}
	of := func(f lint.Finding) same {
		return same{f.Check, f.Severity, f.Object, index.ReplaceAllString(f.Field, "")}
	}
	known := map[same]int{}
	for _, f := range slices.Concat(old.Findings, old.KnownFindings) {
		known[of(f)]++
	}
	r.KnownFindings = nil
	r.Findings = list.Without(r.Findings, func(f lint.Finding) bool {
		is := known[of(f)] > 0
		if is {
			known[of(f)]--
			r.KnownFindings = append(r.KnownFindings, f)
		}
		return is
	})
	r.count()
}

// index is a position in a list.
var index = regexp.MustCompile(`\[\d+\]`)

// Fails reports whether any finding has at least that severity; no finding has "none".
func (r *Report) Fails(on string) bool {
	least := lint.Severity(on)
	return slices.Contains(lint.Severities, least) && slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return f.Severity.AtLeast(least) })
}

// place is the object with its file, as editors take it: shop.yaml:12.
func place(f *lint.Finding) string {
	if f.Source == nil {
		return ""
	}
	file := f.Source.File
	if file == "-" {
		file = "standard input"
	}
	return fmt.Sprintf("%s:%d", file, f.Source.Line)
}

func object(f *lint.Finding) string { return strings.ToLower(f.Kind) + "/" + f.Name }
