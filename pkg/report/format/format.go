// Package format writes a report in every format that makes sense for it. A report says what it has to show, and each format has one
// renderer for all reports.
package format

import (
	"io"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/findings"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Of is what a kind of report has to show. A nil field leaves out its formats. JSON and YAML are always there: they are the model.
type Of[R any] struct {
	// Question returns the title of the page and of the picture, without the name of the input.
	Question func(r *R) string
	// Doc returns the report as people read it. Text follows the options of the command; a page has its own.
	Doc func(r *R, opts report.Options) *doc.Doc
	// Brief means that the option Quiet reduces the text to the answer, which is the document's first line, and the proof.
	Brief bool
	// Wide means that the option Wide adds columns to the document.
	Wide bool
	// Page returns a page of the report's own, in place of one made of the document.
	Page func(r *R) *page.Page
	// CSV returns rows of plain values below their titles, for a spreadsheet.
	CSV func(r *R) [][]string
	// JUnit and Findings return what a CI system shows beside a change.
	JUnit    func(r *R) ([]byte, error)
	Findings func(r *R) findings.Findings
	// Bars returns a picture of bars, for the page and as svg or png; nil if there is nothing to draw.
	Bars func(r *R) *doc.Bars
	// Course returns a picture of counts over time, for the page and as svg or png; nil if there is nothing to draw.
	Course func(r *R) *doc.Course
	// Draw returns any other picture, as svg or png. It is nil in a program without pictures.
	Draw func(r *R, format string) ([]byte, error)
	// Names returns names, one per line.
	Names func(r *R) []string
	// Patches returns the commands that make the advised changes, one per line.
	Patches func(r *R) []string
}

// Formats returns the formats in the order of a help text.
func (of Of[R]) Formats() report.Formats[R] {
	var all report.Formats[R]
	add := func(name string, render func(r *R, opts report.Options) ([]byte, error)) {
		all = append(all, report.RenderedFormat(name, render))
	}
	if of.Doc != nil {
		add("text", of.text)
	}
	if of.Wide {
		add("wide", func(r *R, opts report.Options) ([]byte, error) {
			opts.Wide = true
			return of.text(r, opts)
		})
	}
	all = append(all, report.ModelFormats[R]()...)
	if of.Doc != nil {
		add("markdown", func(r *R, opts report.Options) ([]byte, error) {
			return markdown.Render(of.document(r, report.Options{Page: true, Rename: opts.Rename})), nil
		})
		all = append(all, report.Format[R]{Name: "html", Write: of.html})
	}
	if of.CSV != nil {
		add("csv", func(r *R, _ report.Options) ([]byte, error) { return report.EncodeCSV(of.CSV(r)) })
	}
	if of.JUnit != nil {
		add("junit", func(r *R, _ report.Options) ([]byte, error) { return of.JUnit(r) })
	}
	if of.Findings != nil {
		for name, write := range findings.Formats {
			add(name, func(r *R, _ report.Options) ([]byte, error) {
				found := of.Findings(r)
				return write(&found)
			})
		}
	}
	if of.Bars != nil && drawBars != nil {
		of.Draw = func(r *R, format string) ([]byte, error) {
			return drawBars(of.Doc(r, report.Options{Page: true}), of.Bars(r), format)
		}
	}
	if of.Course != nil && drawCourse != nil {
		of.Draw = func(r *R, format string) ([]byte, error) {
			return drawCourse(of.Doc(r, report.Options{Page: true}), of.Course(r), format)
		}
	}
	if of.Draw != nil {
		for _, picture := range []string{"svg", "png"} {
			add(picture, func(r *R, _ report.Options) ([]byte, error) { return of.Draw(r, picture) })
		}
	}
	if of.Names != nil {
		add("name", func(r *R, _ report.Options) ([]byte, error) {
			var names doc.Doc
			for _, name := range of.Names(r) {
				names.Linef(doc.Plain, "%s", name)
			}
			return text.Render(&names, report.Options{}), nil
		})
	}
	if of.Patches != nil {
		add("patch", func(r *R, _ report.Options) ([]byte, error) {
			var patches doc.Doc
			for _, command := range of.Patches(r) {
				patches.Verbatim(command)
			}
			return text.Render(&patches, report.Options{}), nil
		})
	}
	return all
}

func (of Of[R]) text(r *R, opts report.Options) ([]byte, error) { //nolint:unparam // add takes formats that can fail
	d := of.document(r, opts)
	if of.Brief && opts.Quiet {
		answer := 1
		if d.Head.Proof != nil {
			answer += len(d.Head.Proof.Lines())
		}
		d.Sections = []*doc.Section{{Blocks: d.Sections[0].Blocks[:answer]}}
	}
	return text.Render(d, opts), nil
}

// document returns the report as people read it, with the name of the program as they call it.
func (of Of[R]) document(r *R, opts report.Options) *doc.Doc {
	d := of.Doc(r, opts)
	if opts.Rename != nil {
		d.Rename(opts.Rename)
	}
	return d
}

func (of Of[R]) html(w io.Writer, r *R, opts report.Options) error {
	if of.Page != nil {
		return of.Page(r).WriteHTML(w)
	}
	var picture page.Picture
	switch {
	case of.Course != nil:
		picture.Course = of.Course(r)
	case of.Bars != nil:
		picture.Bars = of.Bars(r)
	case of.Draw != nil:
		var err error
		if picture.SVG, err = of.Draw(r, "svg"); err != nil {
			return err
		}
	}
	d := of.document(r, report.Options{Page: true, Rename: opts.Rename})
	d.Question = of.Question(r)
	return page.WriteDoc(w, d, picture)
}
