package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v2/sarif"

	"github.com/faultline/faultline/pkg/ask/lint"
)

// LintKind is the kind of a report on rules that do not do what they say.
const LintKind = "LintReport"

// LintReport is which rules of a scenario do not do what they say.
type LintReport struct {
	Head
	// Summary counts the findings by their severity.
	Summary LintSummary `json:"summary"`
	// Findings are in order of their objects' first appearance, then of the checks.
	Findings []LintFinding `json:"findings"`
	// IgnoredFindings are those that annotations say are meant.
	IgnoredFindings []LintIgnored `json:"ignoredFindings,omitempty"`
	// Checks are those that were made, in their order.
	Checks []LintCheck `json:"checks"`
}

// LintSummary counts findings.
type LintSummary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// LintCheck is a check that was made.
type LintCheck struct {
	// ID is stable, in kebab-case.
	ID string `json:"id"`
	// Severity is the highest that its findings have.
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	// Title says in a few words what it finds.
	Title string `json:"title"`
	// Simulated tells that it looks at what comes of the rules, not at the rules alone.
	Simulated bool `json:"simulated,omitempty"`
	// Page is the address of its page.
	Page string `json:"page"`
}

// LintFinding is one rule that does not do what it says.
type LintFinding struct {
	// Check is the ID of the check.
	Check string `json:"check"`
	// Severity is error, warning or note.
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	// Namespace, Kind and Name are those of the object in which the rule is written.
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// ExpandedFrom is the custom resource from which the object was made; missing where there is none.
	ExpandedFrom string `json:"expandedFrom,omitempty"`
	// Field is the rule's place in the object.
	Field string `json:"field"`
	// Source is where the object stands; missing where no file has it.
	Source *LintSource `json:"source,omitempty"`
	// Step is the first step in which it was found.
	Step string `json:"step"`
	// Message says in a sentence what was found, Fix what to do.
	Message string `json:"message"`
	Fix     string `json:"fix"`
	// Page is the address of the check's page.
	Page string `json:"page"`
}

// LintSource is where an object begins.
type LintSource struct {
	Source
	// Document is the number of the document in the file, from 1; missing where it is the only one.
	Document int `json:"document,omitempty"`
	// Path is the place in the document, such as items[3] in a List; missing for the document itself.
	Path string `json:"path,omitempty"`
}

// LintIgnored is a finding that an annotation says is meant.
type LintIgnored struct {
	LintFinding
	// Reason is the annotation's.
	Reason string `json:"reason"`
}

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

// Fails tells whether a finding is at least as grave as the severity; "none" is graver than all.
func (r *LintReport) Fails(on string) bool {
	return slices.ContainsFunc(r.Findings, func(f LintFinding) bool {
		return slices.Contains(lint.Severities, lint.Severity(on)) && lint.Severity(f.Severity).AtLeast(lint.Severity(on))
	})
}

var LintFormats = formats[LintReport]{
	textFormat("text", func(r *LintReport, opts Options) []byte {
		t := &lintText{page: newPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.bytes()
	}),
	jsonFormat(completeLint),
	yamlFormat(completeLint),
	encodedFormat("sarif", (*LintReport).sarif),
}

// completeLint is complete for a LintReport.
func completeLint(r *LintReport) *LintReport {
	c := *r
	c.Head, c.Findings, c.Checks = completeHead(r.Head), list(r.Findings), list(r.Checks)
	return &c
}

var checksFormats = formats[[]lint.Check]{
	plainFormat("text", func(checks *[]lint.Check) []byte {
		var p page
		rows := [][]cell{plain.row("CHECK", "SEVERITY", "FINDS")}
		for _, c := range *checks {
			rows = append(rows, plain.row(c.ID, string(c.Severity), c.Title))
		}
		p.table("", rows...)
		return p.out.Bytes()
	}),
	encodedFormat("json", func(checks *[]lint.Check) ([]byte, error) { return toJSON(LintChecks(*checks)) }),
	encodedFormat("yaml", func(checks *[]lint.Check) ([]byte, error) { return toYAML(LintChecks(*checks)) }),
}

// WriteLintChecks lists checks: as a table in text, and as they are in a LintReport else.
func WriteLintChecks(w io.Writer, checks []lint.Check, format string) error {
	return checksFormats.Write(w, &checks, format, Options{})
}

// place is the object with its file, as editors take it: shop.yaml:12.
func (f *LintFinding) place() string {
	if f.Source == nil {
		return ""
	}
	file := f.Source.File
	if file == "-" {
		file = "standard input"
	}
	return fmt.Sprintf("%s:%d", file, f.Source.Line)
}

func (f *LintFinding) object() string { return strings.ToLower(f.Kind) + "/" + f.Name }

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
	return at.location()
}
