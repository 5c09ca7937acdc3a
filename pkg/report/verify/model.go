// Package verify is the report on how true the simulation is to a cluster.
package verify

import (
	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on how true the simulation is to a cluster.
const Kind = "VerifyReport"

// Report is how true the simulation is to a real cluster: whether the nodes that its pods have are among the best that the
// scheduler finds for them, each on the cluster as it was just before.
type Report struct {
	report.Head
	// Namespace is that of the pods that are counted and listed, on the cluster with all; missing where all are.
	Namespace string `json:"namespace,omitempty"`
	// With are the sources besides the dump: events, audit log, earlier dump.
	With []string `json:"with,omitempty"`
	verify.Count
	// MinAgreement is the agreement in percent that was asked for; missing where none was.
	MinAgreement *float64 `json:"minAgreement,omitempty"`
	// Divergences are the pods whose node is not among the best, in the order of the replay.
	Divergences []verify.Divergence `json:"divergences"`
	// Assumed are the pods that are gone and of which not everything is recorded.
	Assumed []verify.Assumed `json:"assumed,omitempty"`
	// Pending are the dump's pods without a node.
	Pending []verify.Pending `json:"pending,omitempty"`
	// Skipped are the pods that were not scheduled again.
	Skipped []verify.Skipped `json:"skipped,omitempty"`
}

// New makes the report. minAgreement is the agreement in percent that is asked for, or nil. The version is Faultline's own.
func New(result *verify.Result, minAgreement *float64, version string) *Report {
	of := &simulation.Result{Scenario: result.Scenario, Initial: result.State, Notes: result.Notes, Partial: result.Partial}
	return &Report{
		Head: report.NewHead(of, Kind, version), Namespace: result.Namespace, With: result.With, Count: result.Count(), MinAgreement: minAgreement,
		Divergences: result.Divergences(), Assumed: result.Assumed, Pending: result.Pending, Skipped: result.Skipped,
	}
}

// Met reports whether the agreement is as high as was asked for. Where nothing can be judged, nothing speaks against it.
func (r *Report) Met() bool {
	return r.MinAgreement == nil || 100*float64(r.Explained) >= *r.MinAgreement*float64(r.Judged())
}
