//go:build !js

package format

import (
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/chart"
)

// drawBars draws the bars of a document, with its answer as a note.
var drawBars = func(d *doc.Doc, b *doc.Bars, format string) ([]byte, error) {
	return chart.Bars(chart.Title(d.Head, b.Title), d.Answer(), b).Draw(format)
}

// drawCourse draws the course of a document, with its answer as a note.
var drawCourse = func(d *doc.Doc, c *doc.Course, format string) ([]byte, error) {
	return chart.Course(chart.Title(d.Head, c.Title), d.Answer(), c).Draw(format)
}
