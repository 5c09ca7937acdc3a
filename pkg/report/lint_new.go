package report

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/lint"
)

// NewLint puts what the checks found into the model. The version is Faultline's own.
func NewLint(result *lint.Result, version string) *LintReport {
	r := &LintReport{Head: newHead(result.Simulation, LintKind, version), Checks: LintChecks(result.Checks)}
	if result.Left > 0 {
		r.Notes = append(slices.Clone(r.Notes), fmt.Sprintf("outvoted and term-decides-nothing did not look at %s, since each takes another run.", count(result.Left, "rule")))
	}
	for _, f := range result.Findings {
		switch f.Severity {
		case lint.Error:
			r.Summary.Errors++
		case lint.Warning:
			r.Summary.Warnings++
		case lint.Note:
			r.Summary.Notes++
		}
		r.Findings = append(r.Findings, newLintFinding(f))
	}
	for _, i := range result.Ignored {
		r.IgnoredFindings = append(r.IgnoredFindings, LintIgnored{newLintFinding(i.Finding), i.Reason})
	}
	return r
}

// LintChecks puts checks into the model.
func LintChecks(checks []lint.Check) []LintCheck {
	var all []LintCheck
	for _, c := range checks {
		all = append(all, LintCheck{ID: c.ID, Severity: string(c.Severity), Title: c.Title, Simulated: c.Simulated, Page: c.Page()})
	}
	return all
}

func newLintFinding(f lint.Finding) LintFinding {
	found := LintFinding{
		Check: f.Check, Severity: string(f.Severity), Namespace: f.Object.Namespace, Kind: f.Object.Kind, Name: f.Object.Name,
		ExpandedFrom: f.ExpandedFrom, Field: f.Field, Step: f.Step, Message: f.Message, Fix: f.Fix, Page: lint.Check{ID: f.Check}.Page(),
	}
	if f.Source != nil {
		found.Source = &LintSource{Source: *newSource(*f.Source), Document: f.Source.Document, Path: f.Source.Path}
	}
	return found
}
