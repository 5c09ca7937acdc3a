// Package lint is the report on rules that do not do what they say.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on rules that do not do what they say.
const Kind = "LintReport"

// Report is which rules of a scenario do not do what they say.
type Report struct {
	report.Head
	// Summary counts the findings by their severity.
	Summary Summary `json:"summary"`
	// Findings are in order of their objects' first appearance, then of the checks.
	Findings []Finding `json:"findings"`
	// IgnoredFindings are those that annotations say are meant.
	IgnoredFindings []Ignored `json:"ignoredFindings,omitempty"`
	// Checks are those that were made, in their order.
	Checks []Check `json:"checks"`
}

// Summary counts findings.
type Summary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Check is a check that was made.
type Check struct {
	// ID is stable, in kebab-case.
	ID string `json:"id"`
	// Severity is the highest that its findings have.
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	// Title says in a few words what it finds.
	Title string `json:"title"`
	// Simulated means that it examines the placements, not the rules alone.
	Simulated bool `json:"simulated,omitempty"`
	// Page is the address of its page.
	Page string `json:"page"`
}

// Finding is one rule that does not do what it says.
type Finding struct {
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
	Source *Source `json:"source,omitempty"`
	// Step is the first step in which it was found.
	Step string `json:"step"`
	// Message says in a sentence what was found, Fix what to do.
	Message string `json:"message"`
	Fix     string `json:"fix"`
	// Page is the address of the check's page.
	Page string `json:"page"`
}

// Source is where an object begins.
type Source struct {
	report.Source
	// Document is the number of the document in the file, from 1; missing where it is the only one.
	Document int `json:"document,omitempty"`
	// Path is the place in the document, such as items[3] in a List; missing for the document itself.
	Path string `json:"path,omitempty"`
}

// Ignored is a finding that an annotation says is meant.
type Ignored struct {
	Finding
	// Reason is the annotation's.
	Reason string `json:"reason"`
}

// Fails reports whether any finding has at least that severity; no finding has "none".
func (r *Report) Fails(on string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return slices.Contains(lint.Severities, lint.Severity(on)) && lint.Severity(f.Severity).AtLeast(lint.Severity(on))
	})
}

// place is the object with its file, as editors take it: shop.yaml:12.
func (f *Finding) place() string {
	if f.Source == nil {
		return ""
	}
	file := f.Source.File
	if file == "-" {
		file = "standard input"
	}
	return fmt.Sprintf("%s:%d", file, f.Source.Line)
}

func (f *Finding) object() string { return strings.ToLower(f.Kind) + "/" + f.Name }
