package findings

import (
	"net/url"
	"path/filepath"
	"strings"

	// Version 3 of this library writes each default of the standard, too: 20 empty lists a run. Version 2 writes what was set.
	"github.com/owenrumney/go-sarif/v2/sarif"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// SARIF writes the findings as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html), which forges show beside the
// lines of a change.
func (f *Findings) SARIF() ([]byte, error) {
	log, err := sarif.New(sarif.Version210)
	if err != nil {
		return nil, err
	}
	run := sarif.NewRunWithInformationURI("Faultline", "https://github.com/faultline/faultline")
	if f.Version != "" {
		run.Tool.Driver.WithVersion(f.Version)
	}
	for _, rule := range f.Rules {
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
	for _, result := range f.Results {
		run.AddResult(sarif.NewRuleResult(result.Rule).
			WithRuleIndex(f.ruleIndex(result.Rule)).
			WithLevel(result.Level).
			WithMessage(sarif.NewTextMessage(escapeLinks(doc.Clean(result.Message)))).
			WithLocations([]*sarif.Location{result.location()}))
	}
	log.AddRun(run)
	return report.EncodeJSON(log)
}

func (r *Result) location() *sarif.Location {
	location := sarif.NewLocation().WithLogicalLocations([]*sarif.LogicalLocation{sarif.NewLogicalLocation().WithFullyQualifiedName(doc.Clean(r.Place))})
	if !r.inFile() {
		return location
	}
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithUri(fileURI(r.Source.File)))
	if r.Source.Line > 0 {
		physical.WithRegion(sarif.NewRegion().WithStartLine(r.Source.Line))
	}
	return location.WithPhysicalLocation(physical)
}

// fileURI returns a relative path as a relative reference, and an absolute one as a file URI.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}

// escapeLinks prevents a link, "[text](target)", in a message. A link could only come from a user's file.
func escapeLinks(message string) string { return strings.ReplaceAll(message, "](", `\](`) }
