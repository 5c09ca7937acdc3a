package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// expectationsJUnit has a suite for each step with a case for each expectation; a step without any has one case, "runs". A failure
// holds, besides what was wanted and seen, why the step came as it did and what kube-scheduler said of Pending pods.
func expectationsJUnit(r *Report) ([]byte, error) {
	suites := junitSuites{Name: clean(r.Scenario)}
	for i := range r.Steps {
		s := &r.Steps[i]
		cases := s.cases()
		if len(cases) == 0 {
			cases = []junitCase{{Name: "runs"}}
		}
		suites.add(s.Name, cases)
	}
	return suites.write()
}

// Tested is one scenario of a set that was tested: its report, or what kept it from one.
type Tested struct {
	Path   string
	Report *Report
	Err    error
}

// WriteTestedJUnit writes a suite for each scenario with a case for each expectation of each of its steps. A scenario without any
// has one case, "runs", which fails where it does not.
func WriteTestedJUnit(w io.Writer, tested []Tested) error {
	suites := junitSuites{}
	for _, t := range tested {
		runs := junitCase{Name: "runs"}
		var cases []junitCase
		switch {
		case t.Err != nil:
			runs.Failure = &junitFailure{Message: "it cannot be run", Type: "not-run", Text: cleanLines(strings.Split(t.Err.Error(), "\n"))}
		default:
			for i := range t.Report.Steps {
				for _, c := range t.Report.Steps[i].cases() {
					c.Name = t.Report.Steps[i].Name + ": " + c.Name
					cases = append(cases, c)
				}
			}
		}
		if len(cases) == 0 {
			cases = []junitCase{runs}
		}
		suites.add(t.Path, cases)
	}
	data, err := suites.write()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// cases are the step's expectations.
func (s *Step) cases() []junitCase {
	var cases []junitCase
	for _, e := range s.Expectations {
		c := junitCase{Name: e.Want}
		if e.Source != nil {
			c.File, c.Line = e.Source.File, e.Source.Line
		}
		if !e.Met {
			c.Failure = &junitFailure{Message: e.failure(), Type: ExpectationNotMet, Text: s.reasons(e)}
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
		of := ownerOf(pods[0].Namespace, pods[0].Workload, pods[0].Name)
		lines = append(lines, fmt.Sprintf("%s of %s/%s Pending: %s", count(len(pods), "pod"), of.namespace, of.workload, cmp.Or(pods[0].Message, silent)))
	}
	return cleanLines(lines)
}
