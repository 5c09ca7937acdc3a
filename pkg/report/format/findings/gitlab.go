package findings

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// issue is an element of GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
type issue struct {
	Description string   `json:"description"`
	CheckName   string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// GitLab writes the findings as a code quality report. It leaves out findings without a file, which GitLab requires. The fingerprint does
// not depend on the line, so that a finding stays the same if lines are added above it.
func (f *Findings) GitLab() ([]byte, error) {
	issues := []issue{}
	seen := map[string]int{}
	for _, result := range f.Results {
		if !result.inFile() {
			continue
		}
		found := issue{Description: doc.Clean(result.Message), CheckName: result.Rule, Severity: "info"}
		switch result.Level {
		case "error":
			found.Severity = "major"
		case "warning":
			found.Severity = "minor"
		}
		found.Location.Path, found.Location.Lines.Begin = filepath.ToSlash(result.Source.File), max(result.Source.Line, 1)
		key := fmt.Sprintf("%q", []string{result.Rule, found.Location.Path, result.Place})
		found.Fingerprint = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, key, seen[key])))
		seen[key]++
		issues = append(issues, found)
	}
	return report.EncodeJSON(issues)
}
