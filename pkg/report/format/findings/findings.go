// Package findings writes what was found for the pages of a change: as SARIF, as GitHub's workflow commands, or as GitLab's report on code
// quality. Neither times nor random ids are in it.
package findings

import (
	"slices"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
)

// Findings are what a version of Faultline found.
type Findings struct {
	Version string
	Rules   []Rule
	Results []Result
}

// Formats are the formats of findings by their names, in the order of a help text.
func Formats(yield func(name string, write func(*Findings) ([]byte, error)) bool) {
	_ = yield("sarif", (*Findings).SARIF) && yield("github", (*Findings).GitHub) && yield("gitlab", (*Findings).GitLab)
}

// IsFormat reports whether it is the name of one.
func IsFormat(name string) bool {
	for format := range Formats {
		if format == name {
			return true
		}
	}
	return false
}

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

// Of are the findings that expectations and failures come to.
func Of(h report.Head, found []expect.Finding) Findings {
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

// Add adds the findings of another report, with the rules that are new.
func (f *Findings) Add(other Findings) {
	for _, rule := range other.Rules {
		if f.rule(rule.ID) < 0 {
			f.Rules = append(f.Rules, rule)
		}
	}
	f.Results = append(f.Results, other.Results...)
}

// rule returns the index of a rule, or -1.
func (f *Findings) rule(id string) int {
	return slices.IndexFunc(f.Rules, func(rule Rule) bool { return rule.ID == id })
}

// inFile reports whether the cause stands in a file. The standard input is none.
func (r *Result) inFile() bool { return r.Source != nil && r.Source.File != manifest.Stdin }
