package blast

import (
	"github.com/faultline/faultline/pkg/report"
)

// Decode reads a report back from its JSON or YAML.
func Decode(file string, data []byte) (*Report, error) {
	r, err := report.Decode[Report](file, data, Kind)
	if err != nil {
		return nil, err
	}
	problems := report.Problems{File: file}
	report.CheckSteps(&problems, r.Steps, func(step *Step) string { return step.Name })
	return r, problems.Err()
}
