package format

import "github.com/faultline/faultline/pkg/report/doc"

// drawBars and drawCourse are missing where a page draws its own pictures: their fonts and their library are 3 MB of a download.
var (
	drawBars   func(d *doc.Doc, b *doc.Bars, format string) ([]byte, error)
	drawCourse func(d *doc.Doc, c *doc.Course, format string) ([]byte, error)
)
