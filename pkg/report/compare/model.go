// Package compare has the report that compares variants of a scenario.
package compare

import (
	"fmt"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/figures"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Kind is the kind of a report that compares variants.
const Kind = "CompareReport"

// Report compares variants of a scenario with the scenario without changes.
type Report struct {
	report.Head
	// Step is the step after which the clusters are compared.
	Step string `json:"step"`
	// Workloads are the workloads whose skew and blast radius are reported, as kind/name in lower case; missing for all except DaemonSets
	// and pods without a workload.
	Workloads []string `json:"workloads,omitempty"`
	// Variants are the scenario without changes, called baseline, and its variants.
	Variants []Variant `json:"variants"`
}

// Variant has the figures of one variant.
type Variant struct {
	Name string `json:"name"`
	// Description is the description in the scenario file.
	Description string `json:"description,omitempty"`
	// Front means that no other variant is better in one of these goals and at least as good in the others: Pending pods, and for each
	// level the blast radius and the pods that do not come back after a failure, and cost.
	Front bool `json:"front"`
	whatif.Found
}

// New returns the report on the variants. A nil in found is a variant that was not finished. version is Faultline's version.
func New(base *whatif.Base, variants []scenario.LoadedVariant, found []*whatif.Found, opts whatif.Options, version string) *Report {
	r := &Report{Head: report.NewHead(base.Result, Kind, version), Step: opts.Step, Workloads: figures.WorkloadNames(opts.Metric)}
	if r.Step == "" {
		r.Step = base.Result.Last().Name
	}
	r.Variants = []Variant{{Name: scenario.Baseline, Found: base.Found}}
	for i := range variants {
		if found[i] != nil {
			r.Variants = append(r.Variants, Variant{Name: variants[i].Name, Description: variants[i].Description, Found: *found[i]})
		}
	}
	if all := 1 + len(variants); len(r.Variants) < all {
		r.Partial = fmt.Sprintf("interrupted after %d of %s; the others are not compared", len(r.Variants), words.Count(all, "variant"))
	}
	r.Notes = append(r.Notes, figures.HowChanged(variants, func(v scenario.LoadedVariant) *scenario.Scenario { return v.Scenario })...)
	goals := make([]map[string]float64, len(r.Variants))
	for i := range r.Variants {
		goals[i] = r.Variants[i].Goals()
	}
	for i, front := range metric.Front(goals) {
		r.Variants[i].Front = front
	}
	return r
}
