// Package junit writes test cases as XML that CI systems read.
package junit

import (
	"encoding/xml"
	"strings"

	"github.com/faultline/faultline/pkg/report/format/text"
)

// Suites is the XML that readers of JUnit reports take, as far as there is something to put into it here. Nothing in it says when or
// how long: a simulation has no clock. The elements are those of
// https://github.com/testmoapp/junitxml#complete-junit-xml-example; libraries at hand do not know a case's file and line.
type Suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []Suite  `xml:"testsuite"`
}

type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Time     string `xml:"time,attr"`
	Cases    []Case `xml:"testcase"`
}

type Case struct {
	Name      string   `xml:"name,attr"`
	Classname string   `xml:"classname,attr"`
	File      string   `xml:"file,attr,omitempty"`
	Line      int      `xml:"line,attr,omitempty"`
	Time      string   `xml:"time,attr"`
	Failure   *Failure `xml:"failure"`
	Out       *Output  `xml:"system-out"`
}

type Failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

type Output struct {
	Text string `xml:",cdata"`
}

// Add makes a suite of the cases, whose names have the characters taken out that XML cannot hold.
func (j *Suites) Add(name string, cases []Case) {
	suite := Suite{Name: text.Clean(name), Time: "0", Tests: len(cases), Cases: cases}
	for i := range cases {
		c := &cases[i]
		c.Classname, c.Time = strings.Trim(j.Name+"."+suite.Name, "."), "0"
		c.Name, c.File = text.Clean(c.Name), text.Clean(c.File)
		if c.Failure != nil {
			suite.Failures++
			c.Failure.Message = text.Clean(c.Failure.Message)
		}
	}
	j.Tests += suite.Tests
	j.Failures += suite.Failures
	j.Suites = append(j.Suites, suite)
}

// CleanLines joins lines, each without control characters.
func CleanLines(lines []string) string {
	safe := make([]string, len(lines))
	for i := range lines {
		safe[i] = text.Clean(lines[i])
	}
	return strings.Join(safe, "\n")
}

func (j *Suites) Write() ([]byte, error) {
	j.Time = "0"
	data, err := xml.MarshalIndent(j, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
