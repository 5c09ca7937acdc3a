package blast

import (
	"fmt"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/junit"
	"github.com/faultline/faultline/pkg/words"
)

// failuresJUnit returns JUnit with a case for each level of each step. A case fails if the level has findings of level error. Its output
// has the other findings.
func failuresJUnit(r *Report) ([]byte, error) {
	suites := junit.Suites{}
	var cases []junit.Case
	for i := range r.Steps {
		s := &r.Steps[i]
		for j, short := range s.levelNames() {
			c := junit.Case{Classname: s.Name, Name: "failure of one " + doc.DomainNoun(s.Levels[j].TopologyKey, short)}
			if r.Simultaneous > 1 {
				c.Name = fmt.Sprintf("failure of %s together", words.Count(r.Simultaneous, doc.DomainNoun(s.Levels[j].TopologyKey, short)))
			}
			var errors, warnings []string
			found, note := splitOneReplica(s.findings(j))
			for _, f := range found {
				line := f.ID + ": " + f.Message
				if f.Level != expect.Error {
					warnings = append(warnings, line)
					continue
				}
				if errors = append(errors, line); len(errors) == 1 {
					c.Failure = &junit.Failure{Message: f.Message, Type: f.ID}
					if f.Source != nil {
						c.File, c.Line = f.Source.File, f.Source.Line
					}
				}
			}
			if c.Failure != nil {
				c.Failure.Text = junit.CleanLines(errors)
			}
			if note != "" {
				warnings = append(warnings, expect.OneReplica+": "+note)
			}
			if len(warnings) > 0 {
				c.Out = &junit.Output{Text: junit.CleanLines(warnings)}
			}
			cases = append(cases, c)
		}
	}
	suites.Add(r.Scenario, 0, nil, cases)
	return suites.Write()
}
