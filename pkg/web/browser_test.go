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

// startServer serves the page with an engine. A wrapper may change the engine's answers.
func startServer(t *testing.T, wrap ...func(http.Handler) http.Handler) (address string) {
	t.Helper()
	engine := playground.New("test")
	var handler http.Handler = web.New(engine, engine, 1, nil)
	for _, around := range wrap {
		handler = around(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// smallScenario is a scenario of three zones with a node each, and of a Deployment of three pods with a hard rule that puts each pod in a zone of
// its own.
func smallScenario(t *testing.T) playground.Input {
	t.Helper()
	return playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": string(reporttest.ReadFile(t, "testdata/small.yaml"))}}
}

// linkTo returns the address of the page with a scenario, as the page itself writes it.
func linkTo(t *testing.T, version string, in playground.Input, view map[string]any) string {
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

// pageUser is a user of the page, who also sees the last report that the page received.
type pageUser struct {
	*browsertest.Browser
	t       *testing.T
	address string
}

// recordReports records the last report. A server sends reports as responses, a worker as text.
const recordReports = `{
  const hear = (found) => { if (found?.report) window.report = JSON.stringify(found.report); return found; };
  const json = Response.prototype.json, parse = JSON.parse;
  Response.prototype.json = async function () { return hear(await json.call(this)); };
  JSON.parse = (...given) => hear(parse(...given));
}`

func openPage(t *testing.T, b *browsertest.Browser, address, path string) *pageUser {
	t.Helper()
	r := &pageUser{b, t, address}
	if _, err := chromedp.Call(r.Ctx, protocol.AddScriptToEvaluateOnNewDocument, protocol.AddScriptToEvaluateOnNewDocumentParams{Source: recordReports}); err != nil {
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

// typeAtLine clicks on the end of the editor's line with the words, and presses keys there.
func (r *pageUser) typeAtLine(words, keys string) {
	r.t.Helper()
	line := fmt.Sprintf(`%s.find((line) => line.textContent.includes(%q))`, lines, words)
	r.WaitUntil(line)
	box := browsertest.Evaluate[[]float64](r.Browser, fmt.Sprintf(`(() => { const line = %s; line.scrollIntoView({block: "center"}); const box = line.getBoundingClientRect(); return [box.left + 20, box.top + box.height / 2]; })()`, line))
	r.Do(chromedp.MouseClickXY(box[0], box[1]))
	r.Press(kb.End + kb.End + keys) // the first one ends a line that is broken
}

// waitForText waits until the editor's text has the words.
func (r *pageUser) waitForText(words string) {
	r.t.Helper()
	r.WaitUntil(fmt.Sprintf(`%s.includes(%q)`, written, words))
}

// choose selects an option, or types a number.
func (r *pageUser) choose(selector, value string) {
	r.t.Helper()
	r.WaitUntil(fmt.Sprintf(`document.querySelector(%q)`, selector))
	browsertest.Evaluate[bool](r.Browser, fmt.Sprintf(`(() => {
  const field = document.querySelector(%q);
  field.focus();
  field.value = %q;
  return field.value === %[2]q && field.dispatchEvent(new Event("change", {bubbles: true}));
})()`, selector, value))
}

// follow changes the fragment of the address, as a link does.
func (r *pageUser) follow(fragment string) {
	r.t.Helper()
	browsertest.Evaluate[bool](r.Browser, fmt.Sprintf(`(location.hash = %q) !== ""`, fragment))
}

// unfoldLevers opens the strip of levers.
func (r *pageUser) unfoldLevers() {
	r.t.Helper()
	r.Click("#levers .fold:not([open]) > summary")
	r.WaitUntil(`document.querySelector("#levers .fold[open]")`)
}

// leverSelector returns the selector of a lever of the Deployment.
func leverSelector(name string) string {
	return fmt.Sprintf(`[data-lever="%s default/deployment/web"]`, name)
}

func (r *pageUser) checkLever(name, value string) {
	r.t.Helper()
	r.WaitUntil(fmt.Sprintf(`document.querySelector(%q)?.value === %q`, leverSelector(name), value))
}

// reload opens the page again, at the address that the page itself has set.
func (r *pageUser) reload() {
	r.t.Helper()
	browsertest.Evaluate[bool](r.Browser, "window.old = true")
	r.Do(chromedp.Reload())
	r.WaitUntil("!window.old")
}

const zone = `[data-key="topology.kubernetes.io/zone"]`

// playgroundChecks has checks for every playground, wherever its engine runs, with the small scenario open.
var playgroundChecks = []struct {
	name string
	at   func(*pageUser)
}{
	{"an edit is answered, and a lever writes the text", checkEditing},
	{"a zone fails", checkFailing},
	{"a link is the state", checkLinks},
	{"a learner predicts", checkQuestions},
}

func runPlaygroundChecks(t *testing.T, address string) {
	for _, test := range playgroundChecks {
		t.Run(test.name, func(t *testing.T) {
			r := openPage(t, browsertest.Start(t), address, linkTo(t, "any", smallScenario(t), map[string]any{}))
			r.WaitForText("#verdict", "All 3 pods run.")
			test.at(r)
		})
	}
}

func checkEditing(r *pageUser) {
	r.typeAtLine("replicas: 3", kb.Backspace+"4")
	r.WaitForText("#verdict", "3 of 4 pods run, 1 Pending.")
	r.WaitForText("#since", "Since your last change")
	r.WaitForText("#why", "3 node(s) didn't match pod anti-affinity rules")
	r.checkLever("replicas", "4")
	r.unfoldLevers()
	r.Click(`button[aria-label="one less: Replicas"]`)
	r.waitForText("replicas: 3\n")
	r.WaitForText("#verdict", "All 3 pods run.")
}

// Each zone has one of three pods, which finds no other zone. The next failure takes one of the remaining two.
func checkFailing(r *pageUser) {
	r.Click(zone + `[data-domain="a"]`)
	r.WaitForText("#panel", "Zone a fails", "1 of 3 pods lost", "1 not back", "2 node(s) didn't match pod anti-affinity rules", "One more zone\n50%", "1 of 2 of deployment/web")
	r.WaitForText("#map", "Without a node: 1", "stranded")
	r.Press(kb.Escape)
	r.WaitForText("#panel", "What if something fails?")

	// Without a rule, the pod comes back.
	r.choose(leverSelector("rule"), "none")
	r.WaitUntil(fmt.Sprintf(`!%s.includes("affinity")`, written))
	r.WaitForText("#since", "Nothing moved since your last change.")
	r.Focus(zone + `[data-domain="a"]`)
	r.Press(kb.Enter)
	r.WaitForText("#panel", "Zone a fails", "1 back", "One more zone\n67%", "2 of 3 of deployment/web")
	r.WaitUntil(`document.querySelector("#map .chip.arrived")`)
	r.Press(kb.Enter)
	r.WaitForText("#panel", "What if something fails?")
}

// The reason why a pod is Pending has the words of the text report, beside the map and in the pod's explanation.
func TestPageSaysWhatPodsWaitFor(t *testing.T) {
	in := smallScenario(t)
	in.Files[in.Main] += "    - {apiVersion: v1, kind: Pod, metadata: {name: apart}, spec: {schedulerName: other, containers: [{name: a, image: a}]}}\n"
	r := openPage(t, browsertest.Start(t), startServer(t), linkTo(t, "any", in, map[string]any{}))
	r.WaitForText("#verdict", "3 of 4 pods run, 1 Pending.")
	r.WaitForText("#why", "Pending", "apart", `Left to the scheduler "other"`)
	r.Click(`#why [data-pod="default/apart"]`)
	r.WaitForText("dialog", "apart Pending", `Left to the scheduler "other"`)
}

// A button reads a live cluster again. No other page has this button.
func TestPageReadsAgain(t *testing.T) {
	engine := playground.New("test")
	engine.Start = smallScenario(t)
	engine.Live.Name = "prod"
	engine.Live.Read = func(context.Context) (playground.Input, error) {
		read := smallScenario(t)
		read.Files[read.Main] = strings.Replace(read.Files[read.Main], "replicas: 3", "replicas: 2", 1)
		return read, nil
	}
	server := httptest.NewServer(web.New(engine, engine, 1, nil))
	t.Cleanup(server.Close)
	r := openPage(t, browsertest.Start(t), server.URL, "/")
	r.WaitForText("#verdict", "All 3 pods run.")
	r.Click("#again")
	r.WaitForText("#verdict", "All 2 pods run.")
	r.waitForText("replicas: 2")
	other := openPage(t, r.Tab(), startServer(t), "/")
	other.WaitForText("#home", "Lessons")
	if browsertest.Evaluate[bool](other.Browser, `Boolean(document.querySelector("#again"))`) {
		t.Error("a page without a live cluster has the button")
	}
}

func checkLinks(r *pageUser) {
	r.typeAtLine("replicas: 3", kb.Backspace+"2")
	r.WaitForText("#verdict", "All 2 pods run.")
	r.WaitForText("#panel", "The worst of each level") // the last answer, which moves the map
	// The address follows a moment after the last change, and a change may come while the one before is encoded.
	const settled = `(() => {
	  if (window.settling !== location.hash) [window.settling, window.settlingSince] = [location.hash, performance.now()];
	  return location.hash.includes("s=") && performance.now() - window.settlingSince > 1500;
	})()`
	r.WaitUntil(settled)
	before := browsertest.Evaluate[string](r.Browser, "location.hash")
	r.Click(zone + `[data-domain="a"]`)
	r.WaitForText("#panel", "Zone a fails", "1 back")
	r.WaitUntil(fmt.Sprintf("location.hash !== %q && %s", before, settled))
	other := openPage(r.t, r.Tab(), r.address, "/"+browsertest.Evaluate[string](r.Browser, "location.hash"))
	other.WaitForText("#panel", "Zone a fails", "1 back")
	for _, same := range []string{"window.report", `document.querySelector("#verdict").innerText`, `document.querySelector("#why").innerText`, `document.querySelector("#told").innerText`, `document.querySelector("#map").innerText`, written} {
		if diff := cmp.Diff(browsertest.Evaluate[string](r.Browser, same), browsertest.Evaluate[string](other.Browser, same)); diff != "" {
			r.t.Errorf("%s (-first tab +second):\n%s", same, diff)
		}
	}
	if hidden := browsertest.Evaluate[bool](other.Browser, `document.querySelector("#notice").hidden`); !hidden {
		r.t.Errorf("a link of the same version says %q", other.Text("#notice"))
	}
}

// answer fills the form of a step's questions. It types numbers, and chooses a node, a message, yes or no.
func (r *pageUser) answer(given ...string) {
	r.t.Helper()
	r.WaitUntil(`document.querySelector("#asked")`)
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
func checkQuestions(r *pageUser) {
	r.follow("#lesson=1-walkthrough")
	r.WaitForText("#lesson", "Hard and soft rules · 1 of 8", "How many pods does each region get?", "Why is the second pod not on the control plane?")
	const seen = `document.querySelector("#verdict").innerText + document.querySelector("#tables").innerText + document.querySelector("#map").innerText + document.querySelector("#stepbar").innerText`
	if before := browsertest.Evaluate[string](r.Browser, seen); strings.Contains(before, "running") || strings.Contains(before, "met") || strings.Contains(before, "web") {
		r.t.Errorf("the answer can be seen before the question is answered: %s", before)
	}
	r.answer("1", "1", "node(s) were unschedulable")
	r.WaitForText("#asked", "✓ Right.", "Not yet. Look at the taints of the nodes", "Check again")
	r.answer("node(s) were unschedulable")
	r.WaitForText("#lesson", "✓ How many pods does each region get? Right: east 1, west 1.", "east 1, west 1. The first pod had 3 of 4 nodes left",
		"✕ Why is the second pod not on the control plane? Not right: node(s) were unschedulable.", "node(s) had untolerated taint(s). The pods do not tolerate", "1 of 8 steps done, 1 of 2 answers right.")
	r.WaitUntil(`document.activeElement.matches("#lesson .predict")`)
	r.WaitForText("#verdict", "All 2 pods run.")
	r.Click(`#map [data-domain="affinity-worker3"]`)
	r.WaitForText("#panel", "Node affinity-worker3 fails", "1 not back")
	r.Press(kb.Escape)

	// Chance decides which of three equal workers has one pod more.
	r.Click("#tab-5")
	r.answer("0", "3", "3", "4")
	r.WaitForText("#lesson", "✓ How many pods does each node get? Right: affinity-control-plane 0, affinity-worker 3,", "affinity-worker3 3, by chance among equal nodes. Every pod on a worker", "2 of 8 steps done, 2 of 3 answers right.")
	r.WaitUntil(`document.querySelector("#lesson .predict.right") && !document.querySelector("#lesson .predict .bad")`)

	// The map takes the answer to a question about nodes, and shows the cluster before the step.
	r.Click("#lesson .pager button:last-child")
	r.WaitForText("#lesson", "7 of 8", "Which nodes get a pod?")
	r.WaitUntil(`document.activeElement.matches("#asked input") && document.querySelector("#lesson .pager button:last-child").disabled`)
	r.Click("#tab-7")
	r.WaitForText("#lesson", "8 of 8", "Which node gets the third?")
	r.Click(`#map [data-domain="affinity-worker2"]`)
	r.WaitUntil(`document.querySelector("#map .guessed .name")?.textContent === "affinity-worker2"`)
	r.answer("it has as many points, and chance decided")
	r.WaitForText("#asked", "Not yet.")
	r.answer("it has fewer points by PodTopologySpread")
	r.WaitForText("#lesson", "Right, at the second try: it has fewer points by PodTopologySpread.")
	r.WaitForText("#lesson", "✓ Both regions have a pod. Which node gets the third? Right: affinity-worker2.", "3 of 8 steps done")

	// The page keeps what was answered, and also what was skipped.
	r.WaitUntil(`location.hash.endsWith("step=weighted-3")`)
	r.reload()
	r.WaitForText("#lesson", "8 of 8", "✓ Both regions have a pod.", "3 of 8 steps done, 4 of 5 answers right.")
	r.Click("#lesson .pager button:last-child")
	r.WaitForText("#lesson", "4 of 5 answers right", "hard-region-2 1 of 2 right", "Why is the second pod not on the control plane?", "weighted-2 not answered", "weighted-3 right at the second try",
		"Next: Soft or hard when a zone fails", "All lessons")
	r.Click("#tab-6")
	r.WaitForText("#lesson", "7 of 8", "What do you expect?")
	r.Click("#asked .link")
	r.WaitForText("#lesson", "4 of 8 steps done, 4 of 5 answers right.")
	r.Click("#lesson .progress .link")
	r.WaitForText("#lesson", "1 of 8", "What do you expect?")
}

func TestPageServed(t *testing.T) { runPlaygroundChecks(t, startServer(t)) }
