package report

import (
	"encoding/xml"
	"strings"
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
