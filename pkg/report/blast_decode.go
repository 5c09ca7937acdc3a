package report

// DecodeBlast reads a report back from its JSON or YAML.
func DecodeBlast(file string, data []byte) (*BlastReport, error) {
	r, err := DecodeModel[BlastReport](file, data, BlastKind)
	if err != nil {
		return nil, err
	}
	return r, checkSteps(file, r.Steps, func(step *BlastStep) string { return step.Name })
}
