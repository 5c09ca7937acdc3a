// Package capacity is the report on how much more fits.
package capacity

import (
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on how much more fits.
const Kind = "CapacityReport"

// Report is how many more replicas fit before the first pod stays Pending, and what keeps the next from it.
type Report struct {
	report.Head
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Mode is how nodes fail, where failures are to be survived.
	Mode string `json:"mode,omitempty"`
	// CronJobs are those of which a run is counted as being under way.
	CronJobs []capacity.CronJob `json:"cronJobs,omitempty"`
	// Usage is how much of what they request workloads use, as far as it is known; the one that leaves most cpu unused comes first.
	Usage []capacity.Usage `json:"usage,omitempty"`
	// Safety is whether everything comes back as the cluster is, for each level of which a domain may fail.
	Safety []capacity.Safety `json:"safety,omitempty"`
	// Mixes are the workloads, each by itself, or the mixes that were asked for.
	Mixes []capacity.Mix `json:"mixes"`
	// Largest are the largest pods that fit on some node that takes pods without tolerations, by CPU and by memory, as the cluster is now.
	Largest []capacity.Pod `json:"largest,omitempty"`
	// Stranded is free capacity that nothing of the cluster can use, by node group; missing where workloads are named.
	Stranded *capacity.Stranded `json:"stranded,omitempty"`
}

// New makes the report. The result is of a capacity.Base. The version is Faultline's own.
func New(result *simulation.Result, mixes []capacity.Mix, safety []capacity.Safety, opts capacity.Options, version string) *Report {
	state := result.Steps[len(result.Steps)-1].State
	r := &Report{
		Head: report.NewHead(result, Kind, version), Nodes: len(state.Nodes), Safety: safety, Mixes: mixes, Largest: capacity.LargestPods(state),
	}
	if len(opts.Survive) > 0 {
		r.Mode = string(opts.Mode)
	}
	return r
}
