package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Page is what an HTML report shows. Report, or Explain, or both are given; Blast is nil where failures were not looked at.
type Page struct {
	Report  *Report        `json:"report,omitempty"`
	Blast   *BlastReport   `json:"blast,omitempty"`
	Explain *ExplainReport `json:"explain,omitempty"`
}

// WriteHTML renders one self-contained page: the essentials as plain HTML, everything as data, and the script that shows the data.
// The page loads nothing, and its Content-Security-Policy allows no more than its own style and script.
func WriteHTML(w io.Writer, page Page) error {
	if page.Report == nil && page.Explain == nil {
		return errors.New("no report for the page; give a report, an explanation, or both")
	}
	shell, err := newShell(page)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := pageShell.Execute(&out, shell); err != nil {
		return err
	}
	_, err = w.Write(escape(out.Bytes()))
	return err
}

//go:embed html
var pageAssets embed.FS

// pageScripts are the parts of the page's script, in order.
var pageScripts = []string{"data.js", "dom.js", "map.js", "failure.js", "tables.js", "scores.js", "explain.js", "page.js"}

var (
	pageShell  = template.Must(template.ParseFS(pageAssets, "html/page.html"))
	pageStyle  = asset("page.css")
	pageScript = func() string {
		var all strings.Builder
		for _, name := range pageScripts {
			all.WriteString(asset(name))
		}
		return all.String()
	}()
	pagePolicy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'",
		sourceHash(pageStyle), sourceHash(pageScript))
)

func asset(name string) string {
	data, err := pageAssets.ReadFile("html/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(data)
}

// sourceHash names inline text in a Content-Security-Policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// shell is what the page says without its script.
type shell struct {
	Head
	// Title is the page's name.
	Title string
	// Verdict says in a sentence how the whole went; Outcome is met, failed, or open where nothing was expected.
	Verdict, Outcome string
	// Steps and Pods are those of the reports.
	Steps []Step
	Pods  []Explanation
	// IgnoredKinds are the ignored objects by kind.
	IgnoredKinds []ignoredKind

	Policy string
	Style  template.CSS
	Script template.JS
	Data   template.JS
}

// ignoredKind are the ignored objects of one kind, the first of them by name.
type ignoredKind struct {
	APIVersion, Kind string
	Count            int
	Names            string
}

// question is what an explanation answers: "web-0 is on worker-2".
func question(pods []Explanation) string {
	switch {
	case len(pods) != 1:
		return count(len(pods), "pod") + " are where they are, or Pending"
	case pods[0].Node == "":
		return pods[0].Name + " is Pending"
	}
	return pods[0].Name + " is on " + pods[0].Node
}

func newShell(page Page) (*shell, error) {
	data, err := pack(page)
	if err != nil {
		return nil, err
	}
	s := &shell{Policy: pagePolicy, Style: template.CSS(pageStyle), Script: template.JS(pageScript), Data: template.JS(data)}
	if page.Explain != nil {
		s.Head, s.Pods = page.Explain.Head, page.Explain.Pods
		s.Verdict, s.Outcome = "Why "+question(s.Pods), "open"
	}
	if page.Report != nil {
		s.Head, s.Steps = page.Report.Head, page.Report.Steps
		s.Verdict, s.Outcome = verdict(s.Steps)
	}
	s.Title = s.Scenario
	if s.Title == "" {
		s.Title = "Faultline report"
	}
	s.IgnoredKinds = ignoredKinds(s.Ignored)
	return s, nil
}

// verdict is one sentence: whether the expectations were met, and whether every pod runs.
func verdict(steps []Step) (sentence, outcome string) {
	if len(steps) == 0 {
		return "The scenario has no steps.", "open"
	}
	total, failed := 0, 0
	for _, step := range steps {
		total += len(step.Expectations)
		failed += len(failures(step.Expectations))
	}
	switch {
	case total == 0:
		sentence, outcome = "Nothing was expected", "open"
	case failed == 0:
		sentence, outcome = fmt.Sprintf("%d of %s met", total, count(total, "expectation")), "met"
	default:
		sentence, outcome = fmt.Sprintf("%d of %s not met", failed, count(total, "expectation")), "failed"
	}
	last := steps[len(steps)-1].Summary
	switch {
	case last.Pods == 0:
		sentence += "; after the last step there are no pods"
	case last.Running == last.Pods:
		sentence += "; after the last step every pod runs (" + fmt.Sprint(last.Pods) + ")"
	default:
		sentence += fmt.Sprintf("; after the last step %d of %s running, %d Pending", last.Running, count(last.Pods, "pod"), last.Pending)
		if last.NotReady > 0 {
			sentence += fmt.Sprintf(", %d on lost nodes", last.NotReady)
		}
	}
	waiting := 0
	for _, step := range steps[:len(steps)-1] {
		if step.Summary.Pending > 0 {
			waiting++
		}
	}
	if waiting > 0 {
		sentence += fmt.Sprintf("; pods stayed Pending in %s before it", count(waiting, "step"))
	}
	return sentence + ".", outcome
}

func ignoredKinds(ignored []Ignored) []ignoredKind {
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
			kind.Names = orNone(object.Name)
		case kind.Count <= named:
			kind.Names += ", " + orNone(object.Name)
		case kind.Count == named+1:
			kind.Names += ", …"
		}
	}
	return kinds
}
