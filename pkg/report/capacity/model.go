// Package capacity has the report on how many more replicas fit.
package capacity

import (
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on how many more replicas fit.
const Kind = "CapacityReport"

// Report says how many more replicas fit before the first pod stays Pending, and what prevents the next one.
type Report struct {
	report.Head
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Mode is the way in which nodes fail; missing unless failures are to be survived.
	Mode string `json:"mode,omitempty"`
	// CronJobs are the CronJobs of which a run counts as under way.
	CronJobs []capacity.CronJob `json:"cronJobs,omitempty"`
	// Usage compares the requests of workloads with what they use, as far as that is known. The workload with the most unused CPU comes
	// first.
	Usage []capacity.Usage `json:"usage,omitempty"`
	// Safety says, for each level that is to be survived, whether every pod comes back after any loss now.
	Safety []capacity.Safety `json:"safety,omitempty"`
	// Mixes are the workloads, each by itself, or the requested mixes.
	Mixes []capacity.Mix `json:"mixes"`
	// Largest are the largest pods, by CPU and by memory, that fit now on some node which takes pods without tolerations.
	Largest []capacity.Pod `json:"largest,omitempty"`
	// Stranded is the free capacity that no workload can use, by node group; missing if workloads are named.
	Stranded *capacity.Stranded `json:"stranded,omitempty"`
}

// New returns the report. result must be of a capacity.Base. version is Faultline's version.
func New(result *simulation.Result, mixes []capacity.Mix, safety []capacity.Safety, opts capacity.Options, version string) *Report {
	state := result.State()
	r := &Report{
		Head: report.NewHead(result, Kind, version), Nodes: len(state.Nodes), Safety: safety, Mixes: mixes, Largest: capacity.LargestPods(state),
	}
	if len(opts.Survive) > 0 {
		r.Mode = string(opts.Mode)
	}
	return r
}

// question is the title of the report.
func (r *Report) question() string {
	if len(r.Mixes) == 1 {
		return "Room for " + r.Mixes[0].Name
	}
	return "Room for more replicas"
}
