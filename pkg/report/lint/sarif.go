package lint

import (
	"fmt"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/format/sarif"
)

// sarif is the report as SARIF. Ignored findings are left out.
func (r *Report) sarif() ([]byte, error) {
	var rules []sarif.Rule
	for _, c := range r.Checks {
		rules = append(rules, sarif.Rule{ID: c.ID, Level: string(c.Severity), Short: c.Title, Page: c.Page})
	}
	var results []sarif.Result
	for i := range r.Findings {
		f := &r.Findings[i]
		result := sarif.Result{
			Rule: f.Check, Level: string(f.Severity), Message: fmt.Sprintf("%s: %s. Fix: %s.", object(f), f.Message, f.Fix),
			Place: f.Step + "/" + f.Namespace + "/" + object(f) + "/" + f.Field,
		}
		if f.Source != nil {
			result.Source = &manifest.Place{File: f.Source.File, Line: f.Source.Line}
		}
		results = append(results, result)
	}
	return sarif.Encode(r.Version, rules, results)
}
