// Package sarif writes what was found as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html), which forges
// show beside the lines of a change. Neither times nor random ids are in it.
package sarif

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	// Version 3 of this library writes each default of the standard, too: 20 empty lists a run. Version 2 writes what was set.
	"github.com/owenrumney/go-sarif/v2/sarif"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// Rule is a kind of result. What is empty is left out.
type Rule struct {
	ID, Level               string
	Short, Full, Help, Page string
}

// Result is one thing that was found.
type Result struct {
	Rule, Level, Message string
	// Place is where it is, as step/namespace/kind/name; Source is where its cause stands in a file, or nil. GitHub shows only the latter.
	Place  string
	Source *manifest.Place
}

// Encode writes the results of a version of Faultline.
func Encode(version string, rules []Rule, results []Result) ([]byte, error) {
	log, err := sarif.New(sarif.Version210)
	if err != nil {
		return nil, err
	}
	run := sarif.NewRunWithInformationURI("Faultline", "https://github.com/faultline/faultline")
	if version != "" {
		run.Tool.Driver.WithVersion(version)
	}
	for _, rule := range rules {
		described := run.AddRule(rule.ID).
			WithShortDescription(sarif.NewMultiformatMessageString(rule.Short + ".")).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(rule.Level))
		if rule.Full != "" {
			described.WithFullDescription(sarif.NewMultiformatMessageString(rule.Full))
		}
		if rule.Help != "" {
			described.WithHelp(sarif.NewMultiformatMessageString(rule.Help))
		}
		if rule.Page != "" {
			described.WithHelpURI(rule.Page)
		}
	}
	for _, result := range results {
		run.AddResult(sarif.NewRuleResult(result.Rule).
			WithRuleIndex(slices.IndexFunc(rules, func(rule Rule) bool { return rule.ID == result.Rule })).
			WithLevel(result.Level).
			WithMessage(sarif.NewTextMessage(unlinked(doc.Clean(result.Message)))).
			WithLocations([]*sarif.Location{result.location()}))
	}
	log.AddRun(run)
	return report.EncodeJSON(log)
}

// Findings writes findings.
func Findings(h report.Head, found []expect.Finding) ([]byte, error) {
	var rules []Rule
	for _, rule := range expect.Rules {
		rules = append(rules, Rule{ID: rule.ID, Level: rule.Level, Short: rule.Short, Full: rule.Full, Help: rule.Help})
	}
	var results []Result
	for _, f := range found {
		place := f.Step
		if f.Workload != "" {
			place += "/" + f.Namespace + "/" + f.Workload
		}
		results = append(results, Result{Rule: f.ID, Level: f.Level, Message: "step " + f.Step + ": " + f.Message, Place: place, Source: f.Source})
	}
	return Encode(h.Version, rules, results)
}

func (r *Result) location() *sarif.Location {
	location := sarif.NewLocation().WithLogicalLocations([]*sarif.LogicalLocation{sarif.NewLogicalLocation().WithFullyQualifiedName(doc.Clean(r.Place))})
	if r.Source == nil || r.Source.File == "-" { // the standard input is no file
		return location
	}
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithUri(uri(r.Source.File)))
	if r.Source.Line > 0 {
		physical.WithRegion(sarif.NewRegion().WithStartLine(r.Source.Line))
	}
	return location.WithPhysicalLocation(physical)
}

// uri is the path as a relative reference, or as a file's URI where it is absolute.
func uri(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}

// unlinked keeps a message from holding a link, "[text](target)", which could only come from somebody's file.
func unlinked(message string) string { return strings.ReplaceAll(message, "](", `\](`) }
