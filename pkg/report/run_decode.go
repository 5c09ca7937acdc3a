package report

// Decode reads a report back from its JSON or YAML.
func Decode(file string, data []byte) (*Report, error) {
	r, err := DecodeModel[Report](file, data, Kind)
	if err != nil {
		return nil, err
	}
	return r, checkSteps(file, r.Steps, func(step *Step) string { return step.Name })
}
