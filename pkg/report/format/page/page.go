// Package page writes self-contained HTML pages: a Page shows reports with a script, and WriteDoc writes a document without one.
package page

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// Page is a report as one self-contained page: the essentials as plain HTML, all data, and the script that shows the data. The page loads
// nothing, and its Content-Security-Policy allows only its own style and script.
type Page struct {
	Head report.Head
	// Question is the title, without the name of the input.
	Question string
	// Verdict sums up the report in a sentence. Outcome is met, failed, or open if nothing was expected.
	Verdict, Outcome string
	// Steps and Pods are the essentials, for readers without scripts.
	Steps []Step
	Pods  []Pod
	// Course is a picture above the report; nil for none.
	Course *doc.Course
	// Data is what the script shows.
	Data Data
}

// Data has the models of the reports on the page; each can be nil.
type Data struct {
	Report  any `json:"report,omitempty"`
	Blast   any `json:"blast,omitempty"`
	Explain any `json:"explain,omitempty"`
	// Labels are the labels by which the map groups nodes, by the name of the node.
	Labels map[string]map[string]string `json:"labels,omitempty"`
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
	title := cmp.Or(doc.Title(p.Head, p.Question), "Faultline report")
	out := bufio.NewWriter(w)
	m := markup{manifest.NewEscaper(out)}
	m.head(p.Head, title, "script-src "+sourceHash(pageScript)+"; ")
	m.writef(`<a class="skip" href="#report">Skip to the report</a>
<header class="head">
<div class="bar">
%v
<div class="tools" id="tools"></div>
</div>
`, brand)
	m.about(p.Head, title, p.Verdict, p.Outcome)
	m.notes(p.Head.Notes)
	m.ignored(p.Head.Ignored)
	m.writef("</header>\n")
	m.course(p.Course)
	m.writef(`<noscript>
<p class="aside">The map, the failures and the score tables need JavaScript, which is part of this file; it loads nothing. These are the essentials.</p>
`)
	m.steps(p.Steps)
	m.pods(p.Pods)
	m.writef(`</noscript>
<main id="report" tabindex="-1"></main>
%v<p id="live" class="hidden" aria-live="polite"></p>
<div id="tip" role="presentation" hidden></div>
<script type="application/json" id="data">`, footer(p.Head, "This page holds its data and loads nothing."))
	if err := pack(m, p.Data); err != nil {
		return err
	}
	m.writef(`</script>
<script>%v</script>
</body>
</html>
`, raw(pageScript))
	return out.Flush()
}

func (m markup) notes(notes []string) {
	if len(notes) == 0 {
		return
	}
	m.writef(`<details class="aside"><summary>Notes (%v)</summary><ul>`, len(notes))
	for _, note := range notes {
		m.writef("<li>%v</li>", note)
	}
	m.writef("</ul></details>\n")
}

func (m markup) ignored(ignored []report.Ignored) {
	if len(ignored) == 0 {
		return
	}
	m.writef(`<details class="aside"><summary>Objects that take no part in scheduling (%v)</summary>
<table><thead><tr><th scope="col">Kind</th><th scope="col">API version</th><th scope="col" class="number">Objects</th><th scope="col">Names</th></tr></thead>
<tbody>`, len(ignored))
	for _, kind := range ignoredKinds(ignored) {
		m.writef(`<tr><td>%v</td><td>%v</td><td class="number">%v</td><td>%v</td></tr>`, kind.Kind, kind.APIVersion, kind.Count, kind.Names)
	}
	m.writef("</tbody></table></details>\n")
}

func (m markup) steps(steps []Step) {
	if len(steps) == 0 {
		return
	}
	m.writef(`<table><thead><tr><th scope="col">Step</th><th scope="col">Action</th><th scope="col" class="number">Running</th><th scope="col" class="number">Pending</th><th scope="col">Expectations</th></tr></thead>
<tbody>`)
	for _, step := range steps {
		m.writef(`<tr><td>%v</td><td>%v</td><td class="number">%v</td><td class="number">%v</td><td>`, step.Name, step.Action, step.Running, step.Pending)
		for _, e := range step.Expectations {
			if e.Met {
				m.writef("<div>✓ %v</div>", e.Want)
			} else {
				m.writef("<div>✕ %v; got %v</div>", e.Want, e.Got)
			}
		}
		m.writef("</td></tr>")
	}
	m.writef("</tbody></table>\n")
}

func (m markup) pods(pods []Pod) {
	if len(pods) == 0 {
		return
	}
	m.writef(`<table><thead><tr><th scope="col">Pod</th><th scope="col">Step</th><th scope="col">Node</th><th scope="col">Message</th></tr></thead>
<tbody>`)
	for _, pod := range pods {
		m.writef("<tr><td>%v/%v</td><td>%v</td><td>%v</td><td>%v</td></tr>", pod.Namespace, pod.Name, pod.Step, pod.Node, pod.Message)
	}
	m.writef("</tbody></table>\n")
}

// pageStyle and pageScript are parts of every page. pkg/web/build.mjs bundles them from pkg/web/report and pkg/web/shared.
var (
	//go:embed bundle/page.css
	pageStyle string
	//go:embed bundle/page.js
	pageScript string
)

// sourceHash returns the hash of inline text for a Content-Security-Policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ignoredKind counts the ignored objects of one kind, and names the first of them.
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
			kind.Names = doc.OrNone(object.Name)
		case kind.Count <= named:
			kind.Names += ", " + doc.OrNone(object.Name)
		case kind.Count == named+1:
			kind.Names += ", …"
		}
	}
	return kinds
}
