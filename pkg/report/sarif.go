package report

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	// Version 3 of this library writes each default of the standard, too: 20 empty lists a run. Version 2 writes what was set.
	"github.com/owenrumney/go-sarif/v2/sarif"
)

// toSARIF writes findings as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html), which forges show
// beside the lines of a change. Each result has a logical location, step/namespace/kind/name, and a physical one where a file has
// its cause. GitHub shows only the latter. Neither times nor random ids are in it.
func toSARIF(h Head, found []Finding) ([]byte, error) {
	log, err := sarif.New(sarif.Version210)
	if err != nil {
		return nil, err
	}
	run := sarif.NewRunWithInformationURI("Faultline", "https://github.com/faultline/faultline")
	if h.Version != "" {
		run.Tool.Driver.WithVersion(h.Version)
	}
	rules := Rules()
	for _, rule := range rules {
		run.AddRule(rule.ID).
			WithShortDescription(sarif.NewMultiformatMessageString(rule.Short + ".")).
			WithFullDescription(sarif.NewMultiformatMessageString(rule.Full)).
			WithHelp(sarif.NewMultiformatMessageString(rule.Help)).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(rule.Level))
	}
	for _, f := range found {
		run.AddResult(sarif.NewRuleResult(f.ID).
			WithRuleIndex(slices.IndexFunc(rules, func(rule Rule) bool { return rule.ID == f.ID })).
			WithLevel(f.Level).
			WithMessage(sarif.NewTextMessage(unlinked(clean("step " + f.Step + ": " + f.Message)))).
			WithLocations([]*sarif.Location{location(f)}))
	}
	log.AddRun(run)
	return toJSON(log)
}

func location(f Finding) *sarif.Location {
	parts := []string{f.Step}
	if f.Workload != "" {
		parts = append(parts, f.Namespace, f.Workload)
	}
	location := sarif.NewLocation().WithLogicalLocations([]*sarif.LogicalLocation{
		sarif.NewLogicalLocation().WithFullyQualifiedName(clean(strings.Join(parts, "/"))),
	})
	if f.Source == nil || f.Source.File == "-" { // the standard input is no file
		return location
	}
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithUri(uri(f.Source.File)))
	if f.Source.Line > 0 {
		physical.WithRegion(sarif.NewRegion().WithStartLine(f.Source.Line))
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

// unlinked keeps a message from holding a link, "[text](target)", which it could only have from somebody's file.
func unlinked(message string) string { return strings.ReplaceAll(message, "](", `\](`) }
