package report

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Options are a reader's choices about text and wide. JSON, YAML and CSV always have everything. A page or a picture counts the details for
// which it has no room.
type Options struct {
	// Color paints with ANSI escape sequences. The layout stays the same.
	Color bool
	// Quiet prints one line per step.
	Quiet bool
	// Story describes in sentences how pods went through the scheduling cycle.
	Story bool
	// Wide adds columns to tables.
	Wide bool
	// Page is for an HTML page, which has room to list or fold away the details that text leaves out.
	Page bool
	// All lists every pod and every other detail, however many there are.
	All bool
	// Width is how many characters a line may have. Longer lines are wrapped, and tables leave out columns. 0 is no limit.
	Width int
	// Rename returns a text with the program's name as the user calls it, in the commands that a report suggests. Nil leaves texts as they are.
	Rename func(string) string
}

// Formats are the ways to write a kind of report, in the order in which a help text lists them.
type Formats[R any] []Format[R]

// Format is one way to write a report.
type Format[R any] struct {
	Name  string
	Write func(w io.Writer, r *R, opts Options) error
}

// Names returns the names of the formats, as -o takes them.
func (f Formats[R]) Names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].Name
	}
	return names
}

// Write writes the report in the format with that name. Text for people begins with a line that says how far an interrupted command came.
// The error about an unknown format lists the known ones; any other error comes from the renderer or the writer.
func (f Formats[R]) Write(w io.Writer, r *R, name string, opts Options) error {
	for i := range f {
		if f[i].Name != name {
			continue
		}
		if of, ok := any(r).(interface{ partial() string }); ok && of.partial() != "" && slices.Contains([]string{"text", "wide", "markdown"}, name) {
			if _, err := fmt.Fprintf(w, "Partial: %s\n\n", of.partial()); err != nil {
				return err
			}
		}
		return f[i].Write(w, r, opts)
	}
	return fmt.Errorf("unknown output format %q; use one of %s", name, strings.Join(f.Names(), ", "))
}

// RenderedFormat is a format that is rendered in memory before it is written.
func RenderedFormat[R any](name string, render func(r *R, opts Options) ([]byte, error)) Format[R] {
	return Format[R]{name, func(w io.Writer, r *R, opts Options) error {
		out, err := render(r, opts)
		if err == nil {
			_, err = w.Write(out)
		}
		return err
	}}
}

// ModelFormats are the formats json and yaml: the model itself, for other programs.
func ModelFormats[R any]() []Format[R] {
	return []Format[R]{
		{"json", func(w io.Writer, r *R, _ Options) error { return writeJSON(w, r, jsontext.WithIndent("  ")) }},
		{"yaml", func(w io.Writer, r *R, _ Options) error { return writeYAML(w, r) }},
	}
}

// EncodeJSON returns the model as indented JSON.
func EncodeJSON(model any) ([]byte, error) {
	var out bytes.Buffer
	err := writeJSON(&out, model, jsontext.WithIndent("  "))
	return out.Bytes(), err
}

// CompactJSON returns the model as JSON without spaces between values.
func CompactJSON(model any) ([]byte, error) {
	var out bytes.Buffer
	err := writeJSON(&out, model)
	return out.Bytes(), err
}

// writeJSON writes the same JSON as encoding/json, which holds the whole output twice: 150 MB for 50,000 pods. A list without entries is []
// and never null, so that a consumer can loop over it.
func writeJSON(w io.Writer, model any, layout ...json.Options) error {
	out := bufio.NewWriter(w)
	opts := json.JoinOptions(jsonv1.DefaultOptionsV1(), json.FormatNilSliceAsNull(false),
		jsontext.EscapeForHTML(false), // scheduler messages stay legible
		json.JoinOptions(layout...))
	if err := json.MarshalWrite(manifest.NewEscaper(out), model, opts); err != nil {
		return err
	}
	if err := out.WriteByte('\n'); err != nil {
		return err
	}
	return out.Flush()
}

// EncodeCSV writes the table as CSV of RFC 4180, but with the line ends of the other formats. No name of an object, no label and no message
// of kube-scheduler can begin as a formula does, with =, +, - or @. A step's name can. It gets an apostrophe before it, so that a
// spreadsheet takes it for text.
func EncodeCSV(table [][]string) ([]byte, error) {
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	for _, cells := range table {
		safe := make([]string, len(cells))
		for i, text := range cells {
			safe[i] = manifest.Clean(text)
			if strings.IndexAny(text, "=+-@") == 0 {
				safe[i] = "'" + safe[i]
			}
		}
		if err := writer.Write(safe); err != nil {
			return nil, err
		}
	}
	writer.Flush()
	return out.Bytes(), writer.Error()
}
