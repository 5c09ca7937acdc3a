package advice

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is the answer alone, and patch the command of the advice; nothing if it is to leave all as it is.
var Formats = format.Of[Report]{Doc: document, Brief: true, Patches: func(r *Report) []string {
	if best := r.best(); best.Changed() {
		return []string{best.Apply}
	}
	return nil
}}.Formats()
