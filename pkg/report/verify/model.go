// Package verify has the report on how well the simulation agrees with a cluster.
package verify

import (
	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on how well the simulation agrees with a cluster.
const Kind = "VerifyReport"

// Report says how well the simulation agrees with a real cluster: whether the nodes of its pods are among the best that the scheduler finds
// for them, on the cluster as it was just before each was scheduled.
type Report struct {
	report.Head
	// Namespace is the namespace whose pods are counted and listed, though all pods are on the cluster; missing if all are counted.
	Namespace string `json:"namespace,omitempty"`
	// With are the sources beside the dump: events, audit log, earlier dump.
	With []string `json:"with,omitempty"`
	verify.Count
	// MinAgreement is the required agreement in percent; missing if none is required.
	MinAgreement *float64 `json:"minAgreement,omitempty"`
	// Divergences are the pods whose node is not among the best, in the order of the replay.
	Divergences []verify.Divergence `json:"divergences"`
	// Assumed are the pods that are gone and are not completely recorded.
	Assumed []verify.Assumed `json:"assumed,omitempty"`
	// Pending are the dump's pods without a node.
	Pending []verify.Pending `json:"pending,omitempty"`
	// Skipped are the pods that were not scheduled again.
	Skipped []verify.Skipped `json:"skipped,omitempty"`
}

// New returns the report. minAgreement is the required agreement in percent, or nil. version is Faultline's version.
func New(result *verify.Result, minAgreement *float64, version string) *Report {
	of := &simulation.Result{Scenario: result.Scenario, Initial: result.State, Notes: result.Notes, Partial: result.Partial}
	return &Report{
		Head: report.NewHead(of, Kind, version), Namespace: result.Namespace, With: result.With, Count: result.Count(), MinAgreement: minAgreement,
		Divergences: result.Divergences(), Assumed: result.Assumed, Pending: result.Pending, Skipped: result.Skipped,
	}
}

// Met reports whether the agreement is as high as required. If no choice can be judged, it is.
func (r *Report) Met() bool {
	return r.MinAgreement == nil || 100*float64(r.Explained) >= *r.MinAgreement*float64(r.Judged())
}
