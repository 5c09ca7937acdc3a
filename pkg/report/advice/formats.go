package advice

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the answer, and patch the command of the advice, or nothing if the advice
// changes nothing.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, Patches: func(r *Report) []string {
	if best := r.advised(); best.Changed() {
		return []string{best.Apply}
	}
	return nil
}}.Formats()
