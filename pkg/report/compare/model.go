// Package compare is the report that sets variants of a scenario side by side.
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

// Kind is the kind of a report that sets variants side by side.
const Kind = "CompareReport"

// Report sets variants of a scenario side by side with the scenario as it is.
type Report struct {
	report.Head
	// Step is the step after which the clusters are compared.
	Step string `json:"step"`
	// Workloads are those whose skew and blast radius are reported, as kind/name in lower case; empty: all but DaemonSets and bare pods.
	Workloads []string `json:"workloads,omitempty"`
	// Variants are the scenario as it is, called baseline, and its variants.
	Variants []Variant `json:"variants"`
}

// Variant is what one variant comes to.
type Variant struct {
	Name string `json:"name"`
	// Description is the variant's own, in its words.
	Description string `json:"description,omitempty"`
	// Front means that no other variant is better in one of these and worse in none: Pending pods, the blast radius of each level, what
	// a failure of each level leaves without a node, cost.
	Front bool `json:"front"`
	whatif.Found
}

// New puts what variants come to into the model. Variants that were not finished are nil. The version is Faultline's own.
func New(base *whatif.Base, variants []scenario.LoadedVariant, found []*whatif.Found, opts whatif.Options, version string) *Report {
	r := &Report{Head: report.NewHead(base.Result, Kind, version), Step: opts.Step, Workloads: figures.WorkloadNames(opts.Metric)}
	if r.Step == "" {
		r.Step = base.Result.Steps[len(base.Result.Steps)-1].Name
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
