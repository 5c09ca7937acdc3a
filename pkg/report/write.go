package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
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
}

// formats are the ways to render a kind of report, in the order in which a help text gives them.
type formats[R any] []format[R]

type format[R any] struct {
	name   string
	render func(r *R, opts Options) ([]byte, error)
}

func (f formats[R]) names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].name
	}
	return names
}

// write renders the report. An unknown format is an error that lists the legal ones; any other error is the renderer's or the writer's.
func (f formats[R]) write(w io.Writer, r *R, name string, opts Options) error {
	for i := range f {
		if f[i].name != name {
			continue
		}
		out, err := f[i].render(r, opts)
		if err == nil {
			_, err = w.Write(out)
		}
		return err
	}
	return fmt.Errorf("unknown output format %q; use one of %s", name, strings.Join(f.names(), ", "))
}

// asText is the renderer of what cannot fail and looks at the options.
func asText[R any](render func(r *R, opts Options) []byte) func(*R, Options) ([]byte, error) {
	return func(r *R, opts Options) ([]byte, error) { return render(r, opts), nil }
}

// always is the renderer of what looks at no options.
func always[R any](render func(r *R) ([]byte, error)) func(*R, Options) ([]byte, error) {
	return func(r *R, _ Options) ([]byte, error) { return render(r) }
}

// plainly is the renderer of what neither fails nor looks at options.
func plainly[R any](render func(r *R) []byte) func(*R, Options) ([]byte, error) {
	return func(r *R, _ Options) ([]byte, error) { return render(r), nil }
}

// asJSON and asYAML are the renderers of the model; complete gives it an empty list for each missing one that the schema requires.
func asJSON[R any](complete func(*R) *R) func(*R, Options) ([]byte, error) {
	return func(r *R, _ Options) ([]byte, error) { return toJSON(complete(r)) }
}

func asYAML[R any](complete func(*R) *R) func(*R, Options) ([]byte, error) {
	return func(r *R, _ Options) ([]byte, error) { return toYAML(complete(r)) }
}

// asChart is the renderer of a picture.
func asChart[R any](draw func(*R) *chart, name string) func(*R, Options) ([]byte, error) {
	return func(r *R, _ Options) ([]byte, error) { return draw(r).draw(name) }
}

var reportFormats = formats[Report]{
	{"text", asText(func(r *Report, opts Options) []byte { return reportText(r, opts, false) })},
	{"wide", asText(func(r *Report, opts Options) []byte { return reportText(r, opts, true) })},
	{"json", asJSON(complete)},
	{"yaml", asYAML(complete)},
	{"markdown", plainly(reportMarkdown)},
	{"html", always(func(r *Report) ([]byte, error) { return toHTML(Page{Report: r}) })},
	{"csv", always(podsCSV)},
	{"junit", always(expectationsJUnit)},
	{"sarif", always(func(r *Report) ([]byte, error) { return toSARIF(r.Head, r.Findings()) })},
	{"svg", asChart(podsChart, "svg")},
	{"png", asChart(podsChart, "png")},
	{"name", plainly(names)},
}

// Formats are the names of the output formats, in the order in which a help text gives them.
func Formats() []string { return reportFormats.names() }

// Write renders the report. An unknown format is an error that lists the legal ones; any other error is the writer's.
func Write(w io.Writer, r *Report, format string, opts Options) error {
	return reportFormats.write(w, r, format, opts)
}

func reportText(r *Report, opts Options, wide bool) []byte {
	t := runText{page: newPage(opts), report: r, wide: wide}
	if opts.Quiet {
		t.quiet()
	} else {
		t.everything()
	}
	return t.bytes()
}

func toHTML(page Page) ([]byte, error) {
	var out bytes.Buffer
	err := WriteHTML(&out, page)
	return out.Bytes(), err
}

func toJSON(model any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // scheduler messages stay legible
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(model); err != nil {
		return nil, err
	}
	return escape(out.Bytes()), nil
}

func toYAML(model any) ([]byte, error) {
	data, err := toJSON(model)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(data)
}

// escape writes invisible characters as \uXXXX, which strings of JSON and of JavaScript take for the characters themselves: some
// drive terminals, and a YAML reader refuses some and takes U+0085 for a line break. Line feeds and tabs are the layout's: those in
// strings are escaped already.
func escape(data []byte) []byte {
	if !bytes.ContainsFunc(data, invisible) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if r <= 0xffff && invisible(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// invisible tells whether a page of text should not have the character.
func invisible(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// complete returns the report with an empty list for each missing one that the schema requires, since a consumer that
// loops over steps should not have to guard against null.
func complete(r *Report) *Report {
	c := *r
	c.Head = completeHead(c.Head)
	c.Steps = list(slices.Clone(c.Steps))
	for i := range c.Steps {
		workloads := slices.Clone(c.Steps[i].Workloads)
		for j := range workloads {
			workloads[j].Domains = slices.Clone(workloads[j].Domains)
			for k := range workloads[j].Domains {
				workloads[j].Domains[k].Counts = list(workloads[j].Domains[k].Counts)
			}
		}
		c.Steps[i].Workloads = workloads
	}
	return &c
}

func completeHead(h Head) Head {
	h.Scheduler.Profiles = list(h.Scheduler.Profiles)
	h.Cluster.Levels = list(h.Cluster.Levels)
	return h
}

func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// names are the pods after the last step, a line each, as "kubectl get pods -o name" prints them. Where they stand in several
// namespaces, which kubectl would leave out, the namespace goes between: pod/kafka/broker-0.
func names(r *Report) []byte {
	if len(r.Steps) == 0 {
		return nil
	}
	pods := r.Steps[len(r.Steps)-1].Pods
	several := slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Namespace != pods[0].Namespace })
	var p page
	for _, pod := range pods {
		if several {
			p.linef(plain, "pod/%s/%s", pod.Namespace, pod.Name)
		} else {
			p.linef(plain, "pod/%s", pod.Name)
		}
	}
	return p.out.Bytes()
}
