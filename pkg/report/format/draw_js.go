package format

import "github.com/faultline/faultline/pkg/report/doc"

// drawBars and drawCourse are nil in WebAssembly, where a page draws its own pictures: the library and its fonts would add 3 MB to the
// download.
var (
	drawBars   func(d *doc.Doc, b *doc.Bars, format string) ([]byte, error)
	drawCourse func(d *doc.Doc, c *doc.Course, format string) ([]byte, error)
)
