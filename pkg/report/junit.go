package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/faultline/faultline/pkg/expect"
)

// junitSuites is the XML that readers of JUnit reports take, as far as it has something to hold here. Nothing in it tells when or
// how long: a simulation has no clock. The elements are those of
// https://github.com/testmoapp/junitxml#complete-junit-xml-example; libraries at hand do not know a case's file and line.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure"`
	Out       *junitText    `xml:"system-out"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

type junitText struct {
	Text string `xml:",cdata"`
}

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
			c.Failure = &junitFailure{Message: e.failure(), Type: expect.NotMet, Text: s.reasons(e)}
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
				if f.Level != expect.Error {
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

// add makes a suite of the cases, whose names have the characters taken out that XML cannot hold.
func (j *junitSuites) add(name string, cases []junitCase) {
	suite := junitSuite{Name: clean(name), Time: "0", Tests: len(cases), Cases: cases}
	for i := range cases {
		c := &cases[i]
		c.Classname, c.Time = strings.Trim(j.Name+"."+suite.Name, "."), "0"
		c.Name, c.File = clean(c.Name), clean(c.File)
		if c.Failure != nil {
			suite.Failures++
			c.Failure.Message = clean(c.Failure.Message)
		}
	}
	j.Tests += suite.Tests
	j.Failures += suite.Failures
	j.Suites = append(j.Suites, suite)
}

// cleanLines joins lines, each without control characters.
func cleanLines(lines []string) string {
	safe := make([]string, len(lines))
	for i := range lines {
		safe[i] = clean(lines[i])
	}
	return strings.Join(safe, "\n")
}

func (j *junitSuites) write() ([]byte, error) {
	j.Time = "0"
	data, err := xml.MarshalIndent(j, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
