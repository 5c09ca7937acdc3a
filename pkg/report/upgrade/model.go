// Package upgrade has the report on what another release of Kubernetes changes.
package upgrade

import (
	"slices"

	"github.com/faultline/faultline/pkg/ask/upgrade"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on an upgrade.
const Kind = "UpgradeReport"

// Report says what another release of Kubernetes changes for the objects of a scenario.
type Report struct {
	report.Head
	upgrade.Answer
	// FailOn are the unwanted kinds of changes.
	FailOn []string `json:"failOn,omitempty"`
}

// New returns the report on the answer about a run as the earlier release. version is Faultline's version.
func New(result *simulation.Result, answer *upgrade.Answer, failOn []string, version string) *Report {
	return &Report{Head: report.NewHead(result, Kind, version), Answer: *answer, FailOn: failOn}
}

// changeKinds are the kinds of changes that a user can reject. has reports whether a report has a change of the kind.
var changeKinds = []struct {
	name string
	has  func(*Report) bool
}{
	{"moved", func(r *Report) bool { return len(r.changesWhere(isMoved)) > 0 }},
	{"pending", func(r *Report) bool { return len(r.changesWhere(isNewlyPending)) > 0 }},
	{"refused", func(r *Report) bool { return len(r.Refused)+len(r.Problems)+len(r.Unserved) > 0 }},
	{"stored", func(r *Report) bool { return len(r.Completed) > 0 }},
	{"gates", func(r *Report) bool { return len(r.Gates) > 0 }},
	{"any", func(r *Report) bool {
		return len(r.Changes)+len(r.Refused)+len(r.Problems)+len(r.Unserved)+len(r.Accepted)+len(r.Completed)+len(r.Gates) > 0
	}},
}

// FailOns returns the kinds of changes that a user can reject.
func FailOns() []string {
	names := list.Map(changeKinds, func(kind struct {
		name string
		has  func(*Report) bool
	}) string {
		return kind.name
	})
	return names
}

// Met reports whether there is no change of an unwanted kind.
func (r *Report) Met() bool {
	for _, kind := range changeKinds {
		if slices.Contains(r.FailOn, kind.name) && kind.has(r) {
			return false
		}
	}
	return true
}

func isMoved(c upgrade.Change) bool        { return c.From != "" && c.To != "" }
func isNewlyPending(c upgrade.Change) bool { return c.To == "" }
func isNewlyPlaced(c upgrade.Change) bool  { return c.From == "" }

// changesWhere returns the changes for which of returns true.
func (r *Report) changesWhere(of func(upgrade.Change) bool) []upgrade.Change {
	return list.Where(r.Changes, of)
}

// question is the title of the report.
func (r *Report) question() string { return "Upgrade from " + r.From + " to " + r.To }
