package run

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/format/junit"
	"github.com/faultline/faultline/pkg/words"
)

// expectationsJUnit returns JUnit with a case for each expectation. A failure has the wanted and the actual value, why the step went as it
// did, and kube-scheduler's messages about Pending pods. There are no durations, so that the same run gives the same bytes.
func expectationsJUnit(r *Report) ([]byte, error) {
	suites := junit.Suites{}
	suites.Add(r.Scenario, 0, nil, r.junitCases())
	return suites.Write()
}

// Tested is a scenario that was tested: its report, or the error that prevented one, and the duration of the test.
type Tested struct {
	Path   string
	Report *Report
	Err    error
	Took   time.Duration
}

// WriteJUnit writes a suite for each scenario, named by its path, with a case for each expectation of each step.
func WriteJUnit(w io.Writer, tested []Tested) error {
	suites := junit.Suites{}
	for _, t := range tested {
		if t.Err != nil {
			suites.Add(t.Path, t.Took, junit.NotRun(t.Err), nil)
		} else {
			suites.Add(t.Path, t.Took, nil, t.Report.junitCases())
		}
	}
	data, err := suites.Write()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// junitCases returns a case for each expectation of all steps.
func (r *Report) junitCases() []junit.Case {
	var cases []junit.Case
	for i := range r.Steps {
		cases = append(cases, r.Steps[i].junitCases()...)
	}
	return cases
}

// junitCases returns a case for each expectation of the step.
func (s *Step) junitCases() []junit.Case {
	var cases []junit.Case
	for _, e := range s.Expectations {
		c := junit.Case{Name: e.Want, Classname: s.Name}
		if e.Source != nil {
			c.File, c.Line = e.Source.File, e.Source.Line
		}
		if !e.Met {
			c.Failure = &junit.Failure{Message: e.String(), Type: expect.NotMet, Text: s.failureText(e)}
		}
		cases = append(cases, c)
	}
	return cases
}

// failureText returns the text of a failure.
func (s *Step) failureText(e expect.Judged) string {
	lines := []string{"want " + e.Want, "got  " + e.Got}
	if e.Why != "" {
		lines = append(lines, "why  "+e.Why)
	}
	for _, why := range s.Why {
		lines = append(lines, "why  "+why)
	}
	for _, pods := range s.pendingByReason() {
		of := pods[0].Owner()
		lines = append(lines, fmt.Sprintf("%s of %s/%s Pending: %s", words.Count(len(pods), "pod"), of.Namespace, of, cmp.Or(pods[0].Why(), expect.NoMessage)))
	}
	for _, b := range s.notScheduled() {
		lines = append(lines, fmt.Sprintf("%s not scheduled by Karmada: %s", cluster.Qualify(b.Namespace, cluster.Ref{Kind: b.Kind, Name: b.Name}.String()), b.reasonText()))
	}
	for _, r := range s.Refused {
		lines = append(lines, fmt.Sprintf("%s/%s refused: %s", r.Namespace, r.Ref, r.Message))
	}
	for _, d := range s.Drains {
		for _, p := range d.Stays {
			lines = append(lines, fmt.Sprintf("%s/%s stays on %s, whose drain does not end: %s", p.Namespace, p.Name, d.Node, p.Reason))
		}
	}
	return junit.CleanLines(lines)
}
