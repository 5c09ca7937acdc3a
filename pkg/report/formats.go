package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Options are what a reader can choose about text and wide. JSON, YAML and CSV always hold everything; a page or a picture counts
// what is too much for it.
type Options struct {
	// Color paints with ANSI escape sequences; the layout stays the same.
	Color bool
	// Quiet is one line a step.
	Quiet bool
	// All lists every pod and every other detail, however many there are.
	All bool
	// Width is how many characters a line may have. Longer lines are wrapped, and tables leave columns out; 0 does neither.
	Width int
}

// Formats are the ways to write a kind of report, in the order in which a help text lists them.
type Formats[R any] []Format[R]

// Format is one way to write a report.
type Format[R any] struct {
	name  string
	write func(w io.Writer, r *R, opts Options) error
}

// Names are the names of the formats, as -o takes them.
func (f Formats[R]) Names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].name
	}
	return names
}

// Write writes the report in the format of that name; what people read begins with how far the command came if it was interrupted. An unknown format is an error that lists the known ones; any other error is
// the renderer's or the writer's.
func (f Formats[R]) Write(w io.Writer, r *R, name string, opts Options) error {
	for i := range f {
		if f[i].name != name {
			continue
		}
		if of, ok := any(r).(interface{ partial() string }); ok && of.partial() != "" && slices.Contains([]string{"text", "wide", "markdown"}, name) {
			if _, err := fmt.Fprintf(w, "Partial: %s\n\n", of.partial()); err != nil {
				return err
			}
		}
		return f[i].write(w, r, opts)
	}
	return fmt.Errorf("unknown output format %q; use one of %s", name, strings.Join(f.Names(), ", "))
}

// Text is a format that follows the options.
func Text[R any](name string, render func(r *R, opts Options) []byte) Format[R] {
	return rendered(name, func(r *R, opts Options) ([]byte, error) { return render(r, opts), nil })
}

// Plain is a format that is the same whatever the options.
func Plain[R any](name string, render func(r *R) []byte) Format[R] {
	return rendered(name, func(r *R, _ Options) ([]byte, error) { return render(r), nil })
}

// Encoded is a format for other programs, which may fail to hold the report.
func Encoded[R any](name string, render func(r *R) ([]byte, error)) Format[R] {
	return rendered(name, func(r *R, _ Options) ([]byte, error) { return render(r) })
}

// rendered is a format that is written when all of it is there.
func rendered[R any](name string, render func(r *R, opts Options) ([]byte, error)) Format[R] {
	return Format[R]{name, func(w io.Writer, r *R, opts Options) error {
		out, err := render(r, opts)
		if err == nil {
			_, err = w.Write(out)
		}
		return err
	}}
}

// JSON is the model as JSON, complete. That of 50,000 pods is 25 MB, which encoding/json holds, and no copy of it is made.
func JSON[R any]() Format[R] {
	return Format[R]{"json", func(w io.Writer, r *R, _ Options) error { return writeJSON(w, Complete(r)) }}
}

// YAML is the model as YAML, complete.
func YAML[R any]() Format[R] {
	return Encoded("yaml", func(r *R) ([]byte, error) { return EncodeYAML(Complete(r)) })
}

func EncodeJSON(model any) ([]byte, error) {
	var out bytes.Buffer
	if err := writeJSON(&out, model); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeJSON(w io.Writer, model any) error {
	encoder := json.NewEncoder(escaper{w})
	encoder.SetEscapeHTML(false) // scheduler messages stay legible
	encoder.SetIndent("", "  ")
	return encoder.Encode(model)
}

func EncodeYAML(model any) ([]byte, error) {
	data, err := EncodeJSON(model)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(data)
}

// Escape writes invisible characters as \uXXXX, which strings of JSON and of JavaScript take for the characters themselves: some
// drive terminals, and a YAML reader refuses some and takes U+0085 for a line break. Line feeds and tabs are the layout's: those in
// strings are escaped already.
func Escape(data []byte) []byte {
	if !bytes.ContainsFunc(data, Invisible) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if r <= 0xffff && Invisible(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// escaper escapes what is written: of an Encoder, a value at a time.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	if _, err := e.w.Write(Escape(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Invisible reports whether a page of text should not have the character.
func Invisible(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// EncodeCSV writes the table as RFC 4180 has it, but with the line ends of every other format. Names of objects, values of labels and
// kube-scheduler's messages cannot begin as a formula does; a step's name can, and gets an apostrophe before it, which a
// spreadsheet takes for "this is text".
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
