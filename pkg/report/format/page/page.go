// Package page writes self-contained HTML pages: a Page shows reports with a script, a Figure shows a picture and a table without one.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Page is a report as one self-contained page: the essentials as plain HTML, everything as data, and the script that shows the data.
// The page loads nothing, and its Content-Security-Policy allows no more than its own style and script.
type Page struct {
	Head report.Head
	// Verdict says in a sentence how the whole went; Outcome is met, failed, or open where nothing was expected.
	Verdict, Outcome string
	// Steps and Pods are the essentials, for readers without the script.
	Steps []Step
	Pods  []Pod
	// Data is what the script shows.
	Data Data
}

// Data is the models of the reports on the page, each nil where there is none.
type Data struct {
	Report  any `json:"report,omitempty"`
	Blast   any `json:"blast,omitempty"`
	Explain any `json:"explain,omitempty"`
}

// Step is a row of the table of steps.
type Step struct {
	Name, Action     string
	Running, Pending int
	Expectations     []Expectation
}

// Expectation is an expectation of a step.
type Expectation struct {
	Want, Got string
	Met       bool
}

// Pod is a row of the table of pods.
type Pod struct{ Namespace, Name, Step, Node, Message string }

// WriteHTML writes the page.
func (p *Page) WriteHTML(w io.Writer) error {
	html, err := p.HTML()
	if err != nil {
		return err
	}
	_, err = w.Write(html)
	return err
}

// HTML is the page.
func (p *Page) HTML() ([]byte, error) {
	data, err := pack(p.Data)
	if err != nil {
		return nil, err
	}
	return execute("page.html", struct {
		shell
		Steps        []Step
		Pods         []Pod
		IgnoredKinds []ignoredKind
		Script, Data template.JS
	}{
		shell: newShell(p.Head, "Faultline report", p.Verdict, p.Outcome, "script-src "+sourceHash(pageScript)+"; "),
		Steps: p.Steps, Pods: p.Pods, IgnoredKinds: ignoredKinds(p.Head.Ignored), Script: template.JS(pageScript), Data: template.JS(data),
	})
}

// Figure is one self-contained page without a script: a verdict, a picture, and a table of its numbers.
type Figure struct {
	Head report.Head
	// Name is the page's where the scenario has none.
	Name, Verdict string
	// SVG is the picture.
	SVG []byte
	// About stands above the table, Rest below it. The first row holds the titles, and the first Texts columns are words, the others numbers.
	About, Rest string
	Table       [][]string
	Texts       int
}

// HTML is the page.
func (f *Figure) HTML() ([]byte, error) {
	return execute("figure.html", struct {
		shell
		About, Rest string
		Picture     template.URL
		Titles      []string
		Rows        [][]string
		Texts       int
	}{
		shell: newShell(f.Head, f.Name, f.Verdict, "open", ""), About: f.About, Rest: f.Rest,
		Picture: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(f.SVG)),
		Titles:  f.Table[0], Rows: f.Table[1:], Texts: f.Texts,
	})
}

//go:embed assets
var pageAssets embed.FS

// pageScripts are the parts of the page's script, in order.
var pageScripts = []string{"data.js", "dom.js", "map.js", "failure.js", "tables.js", "scores.js", "explain.js", "page.js"}

var (
	pageTemplates = template.Must(template.ParseFS(pageAssets, "assets/*.html"))
	pageStyle     = asset("page.css")
	pageScript    = func() string {
		var all strings.Builder
		for _, name := range pageScripts {
			all.WriteString(asset(name))
		}
		return all.String()
	}()
)

func asset(name string) string {
	data, err := pageAssets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(data)
}

func execute(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := pageTemplates.ExecuteTemplate(&out, name, data)
	return report.Escape(out.Bytes()), err
}

// sourceHash names inline text in a Content-Security-Policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// shell is what every page begins and ends with.
type shell struct {
	report.Head
	Title, Verdict, Outcome string
	Policy                  string
	Style                   template.CSS
}

// newShell allows the page its style and pictures in itself, and what else is given.
func newShell(h report.Head, name, verdict, outcome, allowed string) shell {
	s := shell{Head: h, Title: name, Verdict: verdict, Outcome: outcome, Style: template.CSS(pageStyle)}
	if h.Scenario != "" {
		s.Title = h.Scenario
	}
	s.Policy = fmt.Sprintf("default-src 'none'; style-src %s; %simg-src data:; base-uri 'none'; form-action 'none'", sourceHash(pageStyle), allowed)
	return s
}

// ignoredKind are the ignored objects of one kind, the first of them by name.
type ignoredKind struct {
	APIVersion, Kind string
	Count            int
	Names            string
}

func ignoredKinds(ignored []report.Ignored) []ignoredKind {
	const named = 5
	var kinds []ignoredKind
	place := map[[2]string]int{}
	for _, object := range ignored {
		key := [2]string{object.APIVersion, object.Kind}
		i, known := place[key]
		if !known {
			i = len(kinds)
			place[key] = i
			kinds = append(kinds, ignoredKind{APIVersion: object.APIVersion, Kind: object.Kind})
		}
		kind := &kinds[i]
		kind.Count++
		switch {
		case kind.Count == 1:
			kind.Names = text.OrNone(object.Name)
		case kind.Count <= named:
			kind.Names += ", " + text.OrNone(object.Name)
		case kind.Count == named+1:
			kind.Names += ", …"
		}
	}
	return kinds
}
