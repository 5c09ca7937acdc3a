package web_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// serve serves the page with an engine. A wrapper may change the engine's answers.
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

// small is a scenario of three zones with a node each, and of a Deployment of three pods with a hard rule that puts each pod in a zone of
// its own.
func small(t *testing.T) playground.Input {
	t.Helper()
	return playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": string(reporttest.File(t, "testdata/small.yaml"))}}
}

// link returns the address of the page with a scenario, as the page itself writes it.
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

// writes waits until the editor's text has the words.
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

// lever returns the selector of a lever of the Deployment.
func lever(name string) string {
	return fmt.Sprintf(`[data-lever="%s default/deployment/web"]`, name)
}

func (r *reader) leverIs(name, value string) {
	r.t.Helper()
	r.Until(fmt.Sprintf(`document.querySelector(%q)?.value === %q`, lever(name), value))
}

// reload opens the page again, at the address that the page itself has set.
func (r *reader) reload() {
	r.t.Helper()
	browsertest.Evaluate[bool](r.Browser, "window.old = true")
	r.Do(chromedp.Reload())
	r.Until("!window.old")
}

const zone = `[data-key="topology.kubernetes.io/zone"]`

// looks has checks for every playground, wherever its engine runs, with the small scenario open.
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

// Each zone has one of three pods, which finds no other zone. The next failure takes one of the remaining two.
func fails(r *reader) {
	r.Click(zone + `[data-domain="a"]`)
	r.Shows("#panel", "Zone a fails", "1 of 3 pods lost", "1 not back", "2 node(s) didn't match pod anti-affinity rules", "One more zone\n50%", "1 of 2 of deployment/web")
	r.Shows("#map", "Without a node: 1", "stranded")
	r.Press(kb.Escape)
	r.Shows("#panel", "What if something fails?")

	// Without a rule, the pod comes back.
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

// The reason why a pod is Pending has the words of the text report, beside the map and in the pod's explanation.
func TestPageSaysWhatPodsWaitFor(t *testing.T) {
	in := small(t)
	in.Files[in.Main] += "    - {apiVersion: v1, kind: Pod, metadata: {name: apart}, spec: {schedulerName: other, containers: [{name: a, image: a}]}}\n"
	r := visit(t, browsertest.Start(t), serve(t), link(t, "any", in, map[string]any{}))
	r.Shows("#verdict", "3 of 4 pods run, 1 Pending.")
	r.Shows("#told", "Pending", "apart", `Left to the scheduler "other"`)
	r.Click(`#told [data-pod="default/apart"]`)
	r.Shows("dialog", "apart Pending", `Left to the scheduler "other"`)
}

// A button reads a live cluster again. No other page has this button.
func TestPageReadsAgain(t *testing.T) {
	engine := playground.New("test")
	engine.Start = small(t)
	engine.Live.Name = "prod"
	engine.Live.Read = func(context.Context) (playground.Input, error) {
		read := small(t)
		read.Files[read.Main] = strings.Replace(read.Files[read.Main], "replicas: 3", "replicas: 2", 1)
		return read, nil
	}
	server := httptest.NewServer(web.New(engine))
	t.Cleanup(server.Close)
	r := visit(t, browsertest.Start(t), server.URL, "/")
	r.Shows("#verdict", "All 3 pods run.")
	r.Click("#again")
	r.Shows("#verdict", "All 2 pods run.")
	r.writes("replicas: 2")
	other := visit(t, r.Tab(), serve(t), "/")
	other.Shows("#verdict", "pods run")
	if browsertest.Evaluate[bool](other.Browser, `Boolean(document.querySelector("#again"))`) {
		t.Error("a page without a live cluster has the button")
	}
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

// answer fills the form of a step's questions. It types numbers, and chooses a node, a message, yes or no.
func (r *reader) answer(given ...string) {
	r.t.Helper()
	r.Until(`document.querySelector("#asked")`)
	typed := 0
	for _, value := range given {
		if value[0] >= '0' && value[0] <= '9' {
			typed++
			field := fmt.Sprintf(`[...document.querySelectorAll("#asked input[type=number]")][%d]`, typed-1)
			browsertest.Evaluate[bool](r.Browser, fmt.Sprintf(`(() => { const field = %s; field.value = %q; return field.dispatchEvent(new Event("input")); })()`, field, value))
			continue
		}
		r.Click(fmt.Sprintf(`#asked input[value=%q]`, value))
	}
	r.Click("#asked [type=submit]")
}

// The questions of a lesson are in its file. The page shows nothing of a step's answer before the questions are answered or skipped.
func predicts(r *reader) {
	r.choose("#example", "lessons/1-walkthrough")
	r.Shows("#lesson", "Hard and soft rules · 1 of 8", "How many pods does each region get?", "Does the control plane get a pod?")
	const seen = `document.querySelector("#verdict").innerText + document.querySelector("#tables").innerText + document.querySelector("#map").innerText + document.querySelector("#stepbar").innerText`
	if before := browsertest.Evaluate[string](r.Browser, seen); strings.Contains(before, "running") || strings.Contains(before, "met") || strings.Contains(before, "web") {
		r.t.Errorf("the answer can be seen before the question is answered: %s", before)
	}
	r.answer("1", "1", "yes")
	r.Shows("#lesson", "✓ How many pods does each region get? east 1, west 1.", "✕ Does the control plane get a pod? no. You said yes.", "Each region gets one.", "1 of 8 steps done, 1 of 2 answers right.")
	r.Until(`document.activeElement.matches("#lesson .predict")`)
	r.Shows("#verdict", "All 2 pods run.")
	r.Click(`#map [data-domain="affinity-worker3"]`)
	r.Shows("#panel", "Node affinity-worker3 fails", "1 not back")
	r.Press(kb.Escape)

	// Chance decides which of three equal workers has one pod more.
	r.Click("#tab-5")
	r.answer("0", "3", "3", "4")
	r.Shows("#lesson", "✓ How many pods does each node get?", "Some nodes are equal, and chance decides among them.", "2 of 8 steps done, 2 of 3 answers right.")
	r.Until(`document.querySelector("#lesson .predict.right") && !document.querySelector("#lesson .predict .bad")`)

	// The map takes the answer to a question about nodes, and shows the cluster before the step.
	r.Click("#lesson .pager button:last-child")
	r.Shows("#lesson", "7 of 8", "How many pods does each region get?")
	r.Click("#lesson .pager button:last-child")
	r.Shows("#lesson", "8 of 8", "Which node gets the third?")
	r.Until(`document.activeElement.matches("#asked input")`)
	r.Click(`#map [data-domain="affinity-worker2"]`)
	r.Until(`document.querySelector("#map .guessed .name")?.textContent === "affinity-worker2"`)
	r.Click("#asked [type=submit]")
	r.Shows("#lesson", "✓ Both regions have a pod. Which node gets the third? affinity-worker2.", "3 of 8 steps done")

	// The page keeps what was answered, and also what was skipped.
	r.Until(`location.hash.endsWith("step=weighted-3")`)
	r.reload()
	r.Shows("#lesson", "8 of 8", "✓ Both regions have a pod.", "3 of 8 steps done, 3 of 4 answers right.")
	r.Click("#tab-6")
	r.Shows("#lesson", "7 of 8", "What do you expect?")
	r.Click("#asked .link")
	r.Shows("#lesson", "To east.", "4 of 8 steps done, 3 of 4 answers right.")
	r.Click("#lesson .progress .link")
	r.Shows("#lesson", "1 of 8", "What do you expect?")
}

func TestPageServed(t *testing.T) { look(t, serve(t)) }
