// Package junit writes test cases as XML that CI systems read.
package junit

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"github.com/faultline/faultline/pkg/report/doc"
)

// Suites is a JUnit report in XML, with the elements of https://github.com/testmoapp/junitxml#complete-junit-xml-example that are needed
// here. Every command uses the same names: a suite is a scenario, and its first case is that the scenario runs. The class of any other case
// is scenario.step, and its name is what was checked. Times are measured by the caller; readers take a missing time for unknown, and 0 for
// a test that ran. Known libraries lack the file and the line of a case.
type Suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Time     string   `xml:"time,attr,omitempty"`
	Suites   []Suite  `xml:"testsuite"`
	// Took is the sum of the times of all suites.
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

// Case is one test. Without a Failure it has passed.
type Case struct {
	Name string `xml:"name,attr"`
	// Classname is the step's name. Add puts the name of the scenario in front.
	Classname string   `xml:"classname,attr"`
	File      string   `xml:"file,attr,omitempty"`
	Line      int      `xml:"line,attr,omitempty"`
	Time      string   `xml:"time,attr,omitempty"`
	Failure   *Failure `xml:"failure"`
	Out       *Output  `xml:"system-out"`
}

// Failure says why a case failed: in one line, as a kind, and in full.
type Failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

// Output is further output of a case, such as warnings.
type Output struct {
	Text string `xml:",cdata"`
}

// NotRun returns the failure of a scenario that could not be run.
func NotRun(err error) *Failure {
	return &Failure{Message: "it cannot be run", Type: "not-run", Text: CleanLines(strings.Split(err.Error(), "\n"))}
}

// Add appends a suite for a scenario: a case for the run, with its failure if there is one, then the given cases. took is the time of the run, or 0 if it was
// not measured. Add removes characters that XML cannot hold.
func (j *Suites) Add(scenario string, took time.Duration, failure *Failure, cases []Case) {
	suite := Suite{Name: doc.Clean(scenario), Time: formatSeconds(took), Cases: append([]Case{{Name: "runs", Time: formatSeconds(took), Failure: failure}}, cases...)}
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

// formatSeconds returns the time in seconds, or "" if it was not measured.
func formatSeconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}

// CleanLines joins lines, and removes control characters from each.
func CleanLines(lines []string) string {
	safe := make([]string, len(lines))
	for i := range lines {
		safe[i] = doc.Clean(lines[i])
	}
	return strings.Join(safe, "\n")
}

func (j *Suites) Write() ([]byte, error) {
	j.Name, j.Time = "simulate", formatSeconds(j.Took)
	data, err := xml.MarshalIndent(j, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
