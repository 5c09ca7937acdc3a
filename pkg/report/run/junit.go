package run

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/format/junit"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// expectationsJUnit has a suite for each step with a case for each expectation; a step without any has one case, "runs". A failure
// holds, besides what was wanted and seen, why the step came as it did and what kube-scheduler said of Pending pods.
func expectationsJUnit(r *Report) ([]byte, error) {
	suites := junit.Suites{Name: text.Clean(r.Scenario)}
	for i := range r.Steps {
		s := &r.Steps[i]
		cases := s.cases()
		if len(cases) == 0 {
			cases = []junit.Case{{Name: "runs"}}
		}
		suites.Add(s.Name, cases)
	}
	return suites.Write()
}

// Tested is one scenario of a set that was tested: its report, or what kept it from one.
type Tested struct {
	Path   string
	Report *Report
	Err    error
}

// WriteJUnit writes a suite for each scenario with a case for each expectation of each of its steps. A scenario without any
// has one case, "runs", which fails where it does not.
func WriteJUnit(w io.Writer, tested []Tested) error {
	suites := junit.Suites{}
	for _, t := range tested {
		runs := junit.Case{Name: "runs"}
		var cases []junit.Case
		switch {
		case t.Err != nil:
			runs.Failure = &junit.Failure{Message: "it cannot be run", Type: "not-run", Text: junit.CleanLines(strings.Split(t.Err.Error(), "\n"))}
		default:
			for i := range t.Report.Steps {
				for _, c := range t.Report.Steps[i].cases() {
					c.Name = t.Report.Steps[i].Name + ": " + c.Name
					cases = append(cases, c)
				}
			}
		}
		if len(cases) == 0 {
			cases = []junit.Case{runs}
		}
		suites.Add(t.Path, cases)
	}
	data, err := suites.Write()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// cases are the step's expectations.
func (s *Step) cases() []junit.Case {
	var cases []junit.Case
	for _, e := range s.Expectations {
		c := junit.Case{Name: e.Want}
		if e.Source != nil {
			c.File, c.Line = e.Source.File, e.Source.Line
		}
		if !e.Met {
			c.Failure = &junit.Failure{Message: e.Failure(), Type: expect.NotMet, Text: s.reasons(e)}
		}
		cases = append(cases, c)
	}
	return cases
}

// reasons are the lines of a failure.
func (s *Step) reasons(e Expectation) string {
	lines := []string{"want " + e.Want, "got  " + e.Got}
	if e.Why != "" {
		lines = append(lines, "why  "+e.Why)
	}
	for _, why := range s.Why {
		lines = append(lines, "why  "+why)
	}
	for _, pods := range s.refusals() {
		of := pods[0].workload()
		lines = append(lines, fmt.Sprintf("%s of %s/%s Pending: %s", words.Count(len(pods), "pod"), of.Namespace, of, cmp.Or(pods[0].Message, expect.NoMessage)))
	}
	return junit.CleanLines(lines)
}
