package report

import (
	"fmt"
	"slices"

	"github.com/owenrumney/go-sarif/v2/sarif"
)

// sarif is the report as SARIF 2.1.0; see toSARIF. Ignored findings are left out.
func (r *LintReport) sarif() ([]byte, error) {
	log, err := sarif.New(sarif.Version210)
	if err != nil {
		return nil, err
	}
	run := sarif.NewRunWithInformationURI("Faultline", "https://github.com/faultline/faultline")
	if r.Version != "" {
		run.Tool.Driver.WithVersion(r.Version)
	}
	for _, c := range r.Checks {
		run.AddRule(c.ID).
			WithShortDescription(sarif.NewMultiformatMessageString(c.Title + ".")).
			WithHelpURI(c.Page).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(c.Severity))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		run.AddResult(sarif.NewRuleResult(f.Check).
			WithRuleIndex(slices.IndexFunc(r.Checks, func(c LintCheck) bool { return c.ID == f.Check })).
			WithLevel(f.Severity).
			WithMessage(sarif.NewTextMessage(unlinked(clean(fmt.Sprintf("%s: %s. Fix: %s.", f.object(), f.Message, f.Fix))))).
			WithLocations([]*sarif.Location{f.location()}))
	}
	log.AddRun(run)
	return toJSON(log)
}

// location is the object's place; the field is its logical one.
func (f *LintFinding) location() *sarif.Location {
	at := Finding{Step: f.Step, Namespace: f.Namespace, Workload: f.object() + "/" + f.Field}
	if f.Source != nil {
		at.Source = &f.Source.Source
	}
	return location(at)
}
