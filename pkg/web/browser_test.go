package web_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/browsertest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/web"
)

// serve serves the page with an engine, whose answers may go through the wrapper.
func serve(t *testing.T, wrap ...func(http.Handler) http.Handler) (address string) {
	t.Helper()
	var handler http.Handler = web.New(playground.New("test"))
	for _, around := range wrap {
		handler = around(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// small is a scenario of three zones with a node each, and of a Deployment of three pods, whose hard rule takes a zone for each.
func small(t *testing.T) playground.Input {
	t.Helper()
	return playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": string(reporttest.File(t, "testdata/small.yaml"))}}
}

// link returns the path of the page with a scenario, as the page itself writes it.
func link(t *testing.T, version string, in playground.Input, view map[string]any) string {
	t.Helper()
	state, err := json.Marshal(map[string]any{"main": in.Main, "files": in.Files, "view": view})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(state); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "/#v=" + version + "&s=" + base64.RawURLEncoding.EncodeToString(packed.Bytes())
}

// reader is a user of the page, who also sees the last report that the page received.
type reader struct {
	*browsertest.Browser
	t       *testing.T
	address string
}

// listening records the last report. A server sends reports as responses, a worker as text.
const listening = `{
  const hear = (found) => { if (found?.report) window.report = JSON.stringify(found.report); return found; };
  const json = Response.prototype.json, parse = JSON.parse;
  Response.prototype.json = async function () { return hear(await json.call(this)); };
  JSON.parse = (...given) => hear(parse(...given));
}`

func visit(t *testing.T, b *browsertest.Browser, address, path string) *reader {
	t.Helper()
	r := &reader{b, t, address}
	if _, err := chromedp.Call(r.Ctx, protocol.AddScriptToEvaluateOnNewDocument, protocol.AddScriptToEvaluateOnNewDocumentParams{Source: listening}); err != nil {
		t.Fatal(err)
	}
	r.Open(address, path)
	return r
}

const (
	editor  = `document.querySelector("#editor").shadowRoot`
	lines   = `[...` + editor + `.querySelectorAll(".cm-line")]`
	written = lines + `.map((line) => line.textContent).join("\n")`
)

// types clicks on the end of the editor's line with the words, and presses keys there.
func (r *reader) types(words, keys string) {
	r.t.Helper()
	line := fmt.Sprintf(`%s.find((line) => line.textContent.includes(%q))`, lines, words)
	r.Until(line)
	box := browsertest.Evaluate[[]float64](r.Browser, fmt.Sprintf(`(() => { const line = %s; line.scrollIntoView({block: "center"}); const box = line.getBoundingClientRect(); return [box.left + 20, box.top + box.height / 2]; })()`, line))
	r.Do(chromedp.MouseClickXY(box[0], box[1]))
	r.Press(kb.End + kb.End + keys) // the first one ends a line that is broken
}

// writes waits until the text has the words.
func (r *reader) writes(words string) {
	r.t.Helper()
	r.Until(fmt.Sprintf(`%s.includes(%q)`, written, words))
}

// choose selects an option, or types a number.
func (r *reader) choose(selector, value string) {
	r.t.Helper()
	r.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	browsertest.Evaluate[bool](r.Browser, fmt.Sprintf(`(() => {
  const field = document.querySelector(%q);
  field.focus();
  field.value = %q;
  return field.value === %[2]q && field.dispatchEvent(new Event("change", {bubbles: true}));
})()`, selector, value))
}

// lever is one of the Deployment.
func lever(name string) string {
	return fmt.Sprintf(`[data-lever="%s default/deployment/web"]`, name)
}

func (r *reader) leverIs(name, value string) {
	r.t.Helper()
	r.Until(fmt.Sprintf(`document.querySelector(%q)?.value === %q`, lever(name), value))
}

const zone = `[data-key="topology.kubernetes.io/zone"]`

// looks are checks for every playground, wherever its engine is, with the small scenario open.
var looks = []struct {
	name string
	at   func(*reader)
}{
	{"an edit is answered, and a lever writes the text", edits},
	{"a zone fails", fails},
	{"a link is the state", links},
	{"a learner predicts", predicts},
}

func look(t *testing.T, address string) {
	for _, test := range looks {
		t.Run(test.name, func(t *testing.T) {
			r := visit(t, browsertest.Start(t), address, link(t, "any", small(t), map[string]any{}))
			r.Shows("#verdict", "All 3 pods run.")
			test.at(r)
		})
	}
}

func edits(r *reader) {
	r.types("replicas: 3", kb.Backspace+"4")
	r.Shows("#verdict", "3 of 4 pods run, 1 Pending.")
	r.Shows("#since", "Since your last change")
	r.Shows("#told", "3 node(s) didn't match pod anti-affinity rules")
	r.leverIs("replicas", "4")
	r.Click(`button[aria-label="one less: Replicas"]`)
	r.writes("replicas: 3\n")
	r.Shows("#verdict", "All 3 pods run.")
}

// A zone has one of three pods, which finds no other zone for itself; the next failure takes one of the remaining two.
func fails(r *reader) {
	r.Click(zone + `[data-domain="a"]`)
	r.Shows("#panel", "Zone a fails", "1 of 3 pods lost", "1 not back", "2 node(s) didn't match pod anti-affinity rules", "One more zone\n50%", "1 of 2 of deployment/web")
	r.Shows("#map", "Without a node: 1", "stranded")
	r.Press(kb.Escape)
	r.Shows("#panel", "What if something fails?")

	// Without a rule it comes back.
	r.choose(lever("rule"), "none")
	r.Until(fmt.Sprintf(`!%s.includes("affinity")`, written))
	r.Shows("#since", "Nothing moved since your last change.")
	r.Focus(zone + `[data-domain="a"]`)
	r.Press(kb.Enter)
	r.Shows("#panel", "Zone a fails", "1 back", "One more zone\n67%", "2 of 3 of deployment/web")
	r.Until(`document.querySelector("#map .chip.arrived")`)
	r.Press(kb.Enter)
	r.Shows("#panel", "What if something fails?")
}

// The reason why a pod waits has the words of the text report, beside the map and in the pod's explanation.
func TestPageSaysWhatPodsWaitFor(t *testing.T) {
	in := small(t)
	in.Files[in.Main] += "    - {apiVersion: v1, kind: Pod, metadata: {name: apart}, spec: {schedulerName: other, containers: [{name: a, image: a}]}}\n"
	r := visit(t, browsertest.Start(t), serve(t), link(t, "any", in, map[string]any{}))
	r.Shows("#verdict", "3 of 4 pods run, 1 Pending.")
	r.Shows("#told", "Pending", "apart", `Left to the scheduler "other"`)
	r.Click(`#told [data-pod="default/apart"]`)
	r.Shows("dialog", "apart Pending", `Left to the scheduler "other"`)
}

func links(r *reader) {
	r.types("replicas: 3", kb.Backspace+"2")
	r.Shows("#verdict", "All 2 pods run.")
	r.Until(`location.hash.includes("s=")`)
	before := browsertest.Evaluate[string](r.Browser, "location.hash")
	r.Click(zone + `[data-domain="a"]`)
	r.Shows("#panel", "Zone a fails", "1 back")
	r.Until(fmt.Sprintf("location.hash !== %q", before)) // a moment later
	other := visit(r.t, r.Tab(), r.address, "/"+browsertest.Evaluate[string](r.Browser, "location.hash"))
	other.Shows("#panel", "Zone a fails", "1 back")
	for _, same := range []string{"window.report", `document.querySelector("#verdict").innerText`, `document.querySelector("#told").innerText`, `document.querySelector("#map").innerText`, written} {
		if diff := cmp.Diff(browsertest.Evaluate[string](r.Browser, same), browsertest.Evaluate[string](other.Browser, same)); diff != "" {
			r.t.Errorf("%s (-first tab +second):\n%s", same, diff)
		}
	}
	if hidden := browsertest.Evaluate[bool](other.Browser, `document.querySelector("#notice").hidden`); !hidden {
		r.t.Errorf("a link of the same version says %q", other.Text("#notice"))
	}
}

// The walkthrough's first step has two pods: the first finds three equal nodes, and the second has to go to the other region.
func predicts(r *reader) {
	r.choose("#example", "lessons/1-walkthrough")
	r.Shows("#lesson", "Hard and soft rules · 1 of 8", "Where will it go?", "pod 1 of 2")
	r.Click(`#map [data-domain="affinity-control-plane"]`)
	r.Shows("#lesson", "No: it goes to affinity-worker", "affinity-control-plane does not take it: node(s) had untolerated taint", "This session: 0 of 1 right, 1 wrong.")
	r.Shows("#scores", "4 searched → 3 feasible → 3 scored")
	r.Click("#lesson .predict .button")
	r.Shows("#lesson", "pod 2 of 2")
	r.Click(`#map [data-domain="affinity-worker3"]`)
	r.Shows("#lesson", "Right: it goes to affinity-worker3", "It is the only node that takes the pod.", "This session: 1 of 2 right, 1 wrong.")
	r.Click("#lesson .predict .button")
	r.Shows("#lesson", "Each region gets one.", "✓")
	r.Shows("#verdict", "All 2 pods run.")
	r.Until(`!document.querySelector("#map .tray")`)
	r.Click(`#map [data-domain="affinity-worker3"]`)
	r.Shows("#panel", "Node affinity-worker3 fails", "1 not back")
	r.Press(kb.Escape)

	// The score is kept while the tab is open.
	r.Click("#lesson .pager button:last-child")
	r.Shows("#lesson", "2 of 8", "pod 1 of 3", "This session: 1 of 2 right, 1 wrong.")
	r.Do(chromedp.Reload())
	r.Until("window.report")
	r.choose("#example", "lessons/1-walkthrough")
	r.Shows("#lesson", "Where will it go?", "This session: 1 of 2 right, 1 wrong.")
}

func TestPageServed(t *testing.T) { look(t, serve(t)) }
