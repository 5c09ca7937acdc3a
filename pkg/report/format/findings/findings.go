// Package findings writes findings for the pages of a change: as SARIF, as GitHub's workflow commands, or as GitLab's code quality report.
// They contain neither times nor random ids.
package findings

import (
	"slices"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
)

// Findings are the findings of a report, with the version of Faultline that wrote it.
type Findings struct {
	Version string
	Rules   []Rule
	Results []Result
}

// Formats yields the formats of findings by name, in the order of a help text.
func Formats(yield func(name string, write func(*Findings) ([]byte, error)) bool) {
	_ = yield("sarif", (*Findings).SARIF) && yield("github", (*Findings).GitHub) && yield("gitlab", (*Findings).GitLab)
}

// IsFormat reports whether the name is that of a format of findings.
func IsFormat(name string) bool {
	for format := range Formats {
		if format == name {
			return true
		}
	}
	return false
}

// Rule is a kind of finding. Empty fields are left out.
type Rule struct {
	ID, Level               string
	Short, Full, Help, Page string
}

// Result is one finding.
type Result struct {
	Rule, Level, Message string
	// Place says what it is about, as step/namespace/kind/name. Source is the place of its cause in a file, or nil. GitHub shows only
	// Source.
	Place  string
	Source *manifest.Place
}

// New converts the findings of expectations and failures.
func New(h report.Head, found []expect.Finding) Findings {
	all := Findings{Version: h.Version}
	for _, rule := range expect.Rules {
		all.Rules = append(all.Rules, Rule{ID: rule.ID, Level: rule.Level, Short: rule.Short, Full: rule.Full, Help: rule.Help})
	}
	for _, f := range found {
		place := f.Step
		if f.Workload != "" {
			place += "/" + f.Namespace + "/" + f.Workload
		}
		all.Results = append(all.Results, Result{Rule: f.ID, Level: f.Level, Message: "step " + f.Step + ": " + f.Message, Place: place, Source: f.Source})
	}
	return all
}

// Add appends the findings of another report, and the rules that are not yet there.
func (f *Findings) Add(other Findings) {
	for _, rule := range other.Rules {
		if f.ruleIndex(rule.ID) < 0 {
			f.Rules = append(f.Rules, rule)
		}
	}
	f.Results = append(f.Results, other.Results...)
}

// ruleIndex returns the index of a rule, or -1.
func (f *Findings) ruleIndex(id string) int {
	return slices.IndexFunc(f.Rules, func(rule Rule) bool { return rule.ID == id })
}

// inFile reports whether the cause is in a file; standard input is not a file.
func (r *Result) inFile() bool { return r.Source != nil && r.Source.File != manifest.Stdin }
