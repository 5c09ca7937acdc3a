// Package junit writes test cases as XML that CI systems read.
package junit

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"github.com/faultline/faultline/pkg/report/doc"
)

// Suites is the XML that readers of JUnit reports take, as far as there is something to put into it here. Every command names alike: a suite
// is a scenario, whose first case is that it runs; the class of the others is scenario.step, and their name what was checked. Times are what
// the caller has measured; readers take a missing one for unknown, and 0 for a test that ran. The elements are those of
// https://github.com/testmoapp/junitxml#complete-junit-xml-example; libraries at hand do not know a case's file and line.
type Suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Time     string   `xml:"time,attr,omitempty"`
	Suites   []Suite  `xml:"testsuite"`
	// Took is the time of all suites.
	Took time.Duration `xml:"-"`
}

// Suite is the tests of one scenario.
type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Time     string `xml:"time,attr,omitempty"`
	Cases    []Case `xml:"testcase"`
}

// Case is one test; without a Failure it has passed.
type Case struct {
	Name string `xml:"name,attr"`
	// Classname is the step's name; Add puts the scenario's in front.
	Classname string   `xml:"classname,attr"`
	File      string   `xml:"file,attr,omitempty"`
	Line      int      `xml:"line,attr,omitempty"`
	Time      string   `xml:"time,attr,omitempty"`
	Failure   *Failure `xml:"failure"`
	Out       *Output  `xml:"system-out"`
}

// Failure is why a case failed: in a line, as a kind, and in full.
type Failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

// Output is what a case says besides, such as warnings.
type Output struct {
	Text string `xml:",cdata"`
}

// NotRun is the failure of a scenario that could not be run.
func NotRun(err error) *Failure {
	return &Failure{Message: "it cannot be run", Type: "not-run", Text: CleanLines(strings.Split(err.Error(), "\n"))}
}

// Add makes a suite of a scenario that took that long to run, or failed to, 0 if that was not measured, and of the cases. Characters that XML cannot hold are taken out
// of names.
func (j *Suites) Add(scenario string, took time.Duration, failure *Failure, cases []Case) {
	suite := Suite{Name: doc.Clean(scenario), Time: seconds(took), Cases: append([]Case{{Name: "runs", Time: seconds(took), Failure: failure}}, cases...)}
	suite.Tests = len(suite.Cases)
	for i := range suite.Cases {
		c := &suite.Cases[i]
		c.Classname = strings.Trim(suite.Name+"."+doc.Clean(c.Classname), ".")
		c.Name, c.File = doc.Clean(c.Name), doc.Clean(c.File)
		if c.Failure != nil {
			suite.Failures++
			c.Failure.Message = doc.Clean(c.Failure.Message)
		}
	}
	j.Tests += suite.Tests
	j.Failures += suite.Failures
	j.Took += took
	j.Suites = append(j.Suites, suite)
}

// seconds is empty for what was not measured.
func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}

// CleanLines joins lines, each without control characters.
func CleanLines(lines []string) string {
	safe := make([]string, len(lines))
	for i := range lines {
		safe[i] = doc.Clean(lines[i])
	}
	return strings.Join(safe, "\n")
}

func (j *Suites) Write() ([]byte, error) {
	j.Name, j.Time = "simulate", seconds(j.Took)
	data, err := xml.MarshalIndent(j, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
