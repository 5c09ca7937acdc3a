package report

import (
	"fmt"
)

// failuresJUnit has a suite for each step with a case for each level. It fails where the level has findings of level error, and
// tells of the others on its output.
func failuresJUnit(r *BlastReport) ([]byte, error) {
	suites := junitSuites{Name: clean(r.Scenario)}
	for i := range r.Steps {
		s := &r.Steps[i]
		var cases []junitCase
		for j, short := range s.levels() {
			c := junitCase{Name: "failure of one " + domainNoun(s.Levels[j].TopologyKey, short)}
			if r.Simultaneous > 1 {
				c.Name = fmt.Sprintf("failure of %s together", count(r.Simultaneous, domainNoun(s.Levels[j].TopologyKey, short)))
			}
			var errors, warnings []string
			for _, f := range s.findings(j) {
				line := f.ID + ": " + f.Message
				if f.Level != Error {
					warnings = append(warnings, line)
					continue
				}
				if errors = append(errors, line); len(errors) == 1 {
					c.Failure = &junitFailure{Message: f.Message, Type: f.ID}
					if f.Source != nil {
						c.File, c.Line = f.Source.File, f.Source.Line
					}
				}
			}
			if c.Failure != nil {
				c.Failure.Text = cleanLines(errors)
			}
			if len(warnings) > 0 {
				c.Out = &junitText{cleanLines(warnings)}
			}
			cases = append(cases, c)
		}
		suites.add(s.Name, cases)
	}
	return suites.write()
}
