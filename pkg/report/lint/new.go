package lint

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/words"
)

// New puts what the checks found into the model. The version is Faultline's own.
func New(result *lint.Result, version string) *Report {
	r := &Report{Head: report.NewHead(result.Simulation, Kind, version), Checks: NewChecks(result.Checks)}
	if result.Left > 0 {
		r.Notes = append(slices.Clone(r.Notes), fmt.Sprintf("outvoted and term-decides-nothing did not look at %s, since each takes another run.", words.Count(result.Left, "rule")))
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
		r.Findings = append(r.Findings, newFinding(f))
	}
	for _, i := range result.Ignored {
		r.IgnoredFindings = append(r.IgnoredFindings, Ignored{newFinding(i.Finding), i.Reason})
	}
	return r
}

// NewChecks puts checks into the model.
func NewChecks(checks []lint.Check) []Check {
	var all []Check
	for _, c := range checks {
		all = append(all, Check{ID: c.ID, Severity: string(c.Severity), Title: c.Title, Simulated: c.Simulated, Page: c.Page()})
	}
	return all
}

func newFinding(f lint.Finding) Finding {
	found := Finding{
		Check: f.Check, Severity: string(f.Severity), Namespace: f.Object.Namespace, Kind: f.Object.Kind, Name: f.Object.Name,
		ExpandedFrom: f.ExpandedFrom, Field: f.Field, Step: f.Step, Message: f.Message, Fix: f.Fix, Page: lint.Check{ID: f.Check}.Page(),
	}
	if f.Source != nil {
		found.Source = &Source{Source: *report.NewSource(*f.Source), Document: f.Source.Document, Path: f.Source.Path}
	}
	return found
}
