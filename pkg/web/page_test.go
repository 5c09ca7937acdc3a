package web_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/browsertest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/web"
	"github.com/faultline/faultline/scenarios"
)

// openSmallScenario returns a reader of the small scenario.
func openSmallScenario(t *testing.T) *pageUser {
	t.Helper()
	r := openPage(t, browsertest.Start(t), startServer(t), linkTo(t, "test", smallScenario(t), map[string]any{}))
	r.WaitForText("#verdict", "All 3 pods run.")
	return r
}

func TestLeversOfAWorkload(t *testing.T) {
	r := openSmallScenario(t)
	r.choose(leverSelector("replicas"), "4")
	r.waitForText("replicas: 4\n")
	r.WaitForText("#verdict", "3 of 4 pods run, 1 Pending.")

	r.choose(leverSelector("rule"), "soft")
	r.waitForText("preferredDuringSchedulingIgnoredDuringExecution:")
	r.WaitForText("#verdict", "All 4 pods run.")
	r.checkLever("weight", "100")
	r.choose(leverSelector("weight"), "7")
	r.waitForText("weight: 7\n")
	r.choose(leverSelector("key"), "kubernetes.io/hostname")
	r.waitForText("topologyKey: kubernetes.io/hostname\n")

	r.choose(leverSelector("rule"), "hard")
	r.waitForText("requiredDuringSchedulingIgnoredDuringExecution:")
	r.WaitForText("#verdict", "3 of 4 pods run, 1 Pending.")
	r.checkLever("key", "kubernetes.io/hostname")
	r.choose(leverSelector("rule"), "spread")
	r.waitForText("topologySpreadConstraints:")
	r.waitForText("maxSkew: 1\n")
	r.WaitForText("#verdict", "All 4 pods run.")
	r.choose(leverSelector("rule"), "none")
	r.WaitUntil(fmt.Sprintf(`!/affinity|topologySpreadConstraints/i.test(%s)`, written))
	r.WaitForText("#since", "Since your last change")

	r.choose(leverSelector("maxSurge"), "2")
	r.waitForText("maxSurge: 2")
	r.choose(leverSelector("maxSurge"), "50%")
	r.waitForText("maxSurge: 50%")
	r.WaitForText("#verdict", "All 4 pods run.")
	if problem := r.Text("#lever-problem"); problem != "" {
		t.Error(problem)
	}
}

func TestLeversOfNodes(t *testing.T) {
	r := openSmallScenario(t)
	r.unfoldLevers()
	r.Click(`#levers details details:not([open]) > summary`)
	r.choose(`[data-lever="nodes.cluster.0.synthetic.zones.0.0"]`, "2")
	r.waitForText("count: 2")
	r.WaitForText("#map", "a-a-2")
	r.choose(`[data-lever="nodes.cluster.0.synthetic.zones.0.0"]`, "1")
	r.WaitUntil(`!document.querySelector("#map").innerText.includes("a-a-2")`)

	// Without its only node, a zone takes no pod.
	r.Click(`[data-lever="cordon a-a-1"]`)
	r.waitForText("cordon:")
	r.waitForText("a-a-1")
	r.WaitForText("#map", "cordoned")
	r.WaitForText("#verdict", "2 of 3 pods run, 1 Pending.")
	r.WaitUntil(`document.querySelector('[data-lever="cordon a-a-1"]')?.checked`)
	r.Click(`[data-lever="cordon a-a-1"]`)
	r.WaitForText("#verdict", "All 3 pods run.")
	r.WaitUntil(fmt.Sprintf(`!%s.includes("cordon")`, written))
}

func TestTextMovesLevers(t *testing.T) {
	r := openSmallScenario(t)
	r.typeAtLine("replicas: 3", kb.Backspace+"2")
	r.checkLever("replicas", "2")
	r.typeAtLine("topologyKey: topology.kubernetes.io/zone", strings.Repeat(kb.Backspace, len("topology.kubernetes.io/zone"))+"kubernetes.io/hostname")
	r.checkLever("key", "kubernetes.io/hostname")
	r.typeAtLine("requiredDuringSchedulingIgnoredDuringExecution:", " []"+kb.Escape+kb.ArrowDown+kb.End)
	r.WaitForText("#problems", "problem") // which leaves the levers as the text has them
}

// Undo, redo and reset undo changes by a lever, the editor or a link. A claim of a lesson that no longer holds is attributed to the
// reader's change.
func TestChangesAreTakenBack(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/#lesson=2-soft-or-hard&step=hard")
	r.Click("#asked .link")
	r.WaitForText("#verdict", "All 3 pods run. All expected.")
	r.WaitUntil(`location.hash === "#lesson=2-soft-or-hard&step=hard"`)
	r.choose(leverSelector("replicas"), "5")
	r.WaitForText("#verdict", "3 of 5 pods run, 2 Pending. 1 claim of the lesson changed by you.")

	// A link of a changed scenario also has the lesson from which it comes.
	r.WaitUntil(`/^#lesson=2-soft-or-hard&step=hard&v=test&s=/.test(location.hash)`)
	r.reload()
	r.WaitForText("#verdict", "3 of 5 pods run")
	r.Click("#undo [data-focus=reset]")
	r.WaitForText("#verdict", "All 3 pods run. All expected.")
	r.WaitUntil(`location.hash === "#lesson=2-soft-or-hard&step=hard"`)
	browsertest.Evaluate[bool](r.Browser, `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "z", ctrlKey: true, bubbles: true}))`)
	r.WaitForText("#verdict", "3 of 5 pods run")

	r.choose(leverSelector("rule"), "soft")
	r.WaitForText("#lesson", "under a hard soft rule over zones", "Rule of deployment/web hard → soft.")
	r.WaitForText("#verdict", "All 5 pods run. 2 claims of the lesson changed by you.")
	r.WaitForText("#lesson", "≠ pods by topology.kubernetes.io/zone: at most 1 in each; got a 2, b 2, c 1: changed by you")
	r.WaitForText("#stepbar", "≠ 2 changed")
	if red := browsertest.Evaluate[int](r.Browser, `document.querySelectorAll("#lesson .bad, #verdict .failed, #stepbar button:first-child .bad").length`); red > 0 {
		t.Errorf("%d claims are framed as failed", red)
	}
	r.Click("#undo [data-focus=undo]")
	r.checkLever("rule", "hard")
	r.WaitUntil(`document.activeElement.dataset.focus === "undo"`)
	r.Click("#undo [data-focus=redo]")
	r.checkLever("rule", "soft")
}

// Scenarios that are part of the program have links by name.
func TestShortLinks(t *testing.T) {
	b, address := browsertest.Start(t), startServer(t)
	r := openPage(t, b, address, "/#example=zone-failure&step=zone-a-fails&fail=topology.kubernetes.io/zone,b")
	r.WaitForText("#panel", "Zone b fails", "3 not back")
	r.WaitForText("#verdict", "Step 2 of 4: zone-a-fails")
	r = openPage(t, b.Tab(), address, "/#lesson=3-weights&step=one-less")
	r.WaitForText("#lesson", "What a weight is worth · 4 of 8", "What do you expect?")
	r = openPage(t, b.Tab(), address, "/#lesson=none")
	r.WaitForText("#notice", "Nothing was opened: there is no lesson or example lessons/none.")
}

// The opening page has the lessons with the progress in them, the challenges, an empty scenario, and all other scenarios in a folded list.
func TestOpeningPage(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/")
	r.WaitForText("#home", "Lesson 1\nHard and soft rules", "20 min, 8 steps", "Lesson 9", "Challenge: let the rollout end", "Begin with an empty one", "More scenarios: ")
	if seen := browsertest.Evaluate[int](r.Browser, `document.querySelectorAll("#home .others li").length - document.querySelectorAll("#home details:not([open])").length`); seen < 50 {
		t.Errorf("%d other scenarios", seen)
	}
	r.Click(`#home [href="#lesson=3-weights"]`)
	r.WaitForText("#lesson", "What a weight is worth · 1 of 8", "What do you expect?")
	r.WaitUntil(`document.title.startsWith("What a weight is worth") && document.querySelector("#home").innerText === ""`)
	r.Click("#asked .link")
	r.WaitForText("#lesson", "1 of 8 steps done")
	r.WaitUntil(`location.hash.endsWith("step=near")`)
	r.Click("#choose a")
	r.WaitForText("#home", "What a weight is worth", "1 of 8 steps done", "Back to What a weight is worth")
	if seen := browsertest.Evaluate[int](r.Browser, `document.querySelector("#workspace").offsetHeight + document.querySelector("#undo").offsetHeight`); seen > 0 {
		t.Error("the lesson is still in view")
	}
	r.Click("#home .opening button")
	r.WaitForText("#lesson", "1 of 8 steps done")
	r.WaitUntil(`location.hash === "#lesson=3-weights&step=near"`)
	r.follow("#lessons")
	r.Click(`#home [href="#example=empty"]`)
	r.WaitForText("#verdict", "The one pod runs.")
	r.waitForText("kind: Deployment")
	browsertest.Evaluate[bool](r.Browser, `(history.back(), true)`)
	r.WaitForText("#home", "Lessons")

	// A page that came with a scenario opens that, and has its card.
	engine := playground.New("test")
	engine.Start = smallScenario(t)
	server := httptest.NewServer(web.New(engine, engine, 1, nil))
	t.Cleanup(server.Close)
	other := openPage(t, browsertest.Start(t), server.URL, "/")
	other.WaitForText("#verdict", "All 3 pods run.")
	other.Click("#choose a")
	other.Click(`#home [href="#given"]`)
	other.WaitForText("#verdict", "All 3 pods run.")
}

// A challenge says when its goal is reached, and at what price. A reader who changes the goal does not reach it.
func TestChallenge(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/#example=challenges/2-one-node-fewer")
	r.WaitForText("#verdict", "The goal is not reached yet. 5 of 6 hold.")
	r.WaitForText("#stepbar", "○ 1 to do")
	r.choose(leverSelector("rule"), "soft")
	r.WaitForText("#verdict", "✓ The goal is reached.", "Cost so far: 0 pods moved.")
	r.WaitUntil(`location.hash.includes("&s=")`)
	r.reload()
	r.WaitForText("#verdict", "✓ The goal is reached.", "Cost so far: 0 pods moved.")
	r.Click("#undo [data-focus=reset]")
	r.WaitForText("#verdict", "The goal is not reached yet.", "○ one-node-fewer: the failure of any zone leaves no pod of deployment/web stranded", "✓ one-node-fewer: 0 pods Pending")
	r.Click("#verdict .goal .link")
	r.WaitForText("#verdict", "✓ The goal is reached. This is the solution.", "DoNotSchedule", "ScheduleAnyway")
	r.Click("#undo [data-focus=undo]")
	r.WaitForText("#verdict", "The goal is not reached yet.", "Show a solution")
	r.Click(`#files [role=tab]:last-child`)
	r.typeAtLine("failures: [{level", strings.Repeat(kb.Backspace, len("unreplaced: 0}]"))+"unreplaced: 9}]")
	r.WaitForText("#verdict", "You changed the goal.")
}

// The explanation begins with what decided, folds what is the same for all nodes, and can be followed step by step on the map.
func TestScoresOnTheMap(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/#example=kind-walkthrough&step=weighted-2")
	r.WaitForText("#verdict", "weighted-2")
	r.Click(`#map .node:has([data-domain="affinity-worker3"]) .chip[data-pod]`)
	r.WaitForText("dialog .decided", "InterPodAffinity decided alone: affinity-worker3 is 102 points ahead of affinity-worker2.")
	r.WaitForText("dialog .same summary", "The same for every node: 4 plugins")
	if heads := r.Text("dialog .cycle table:last-of-type thead"); strings.Contains(heads, "Image") {
		t.Errorf("the table has a plugin that tells no nodes apart: %s", heads)
	}
	r.Click("dialog .explanation .button")
	r.WaitForText("#map", "✕ TaintToleration: node(s) had untolerated taint(s)", "✓ passes all filters")
	r.WaitUntil(`document.activeElement.dataset.focus === "walk on"`)
	r.Press(kb.Enter)
	// InterPodAffinity tells the nodes apart the most, and the four that give all nodes the same come together at the end.
	const on3 = `#map .node:has([data-domain="affinity-worker3"]) .walked`
	r.WaitForText("#scores .walkwords", "InterPodAffinity gives 0 to 100 points, times its weight, 2. affinity-worker3 gets the most, 200.")
	r.WaitForText(on3, "InterPodAffinity\n100 × 2 = 200")
	r.Press(kb.Enter)
	r.WaitForText(on3, "PodTopologySpread\n100 × 2 = 200", "so far\n400")
	for range 3 {
		r.Press(kb.Enter)
	}
	r.WaitForText("#scores .walkwords", "The other plugins give each node the same. affinity-worker3 has the most points, 873.")
	r.WaitForText(on3, "all others\n300", "sum\n873")
	r.WaitForText("#map", "sum\n771", "sum\n605")
	r.Press(kb.Enter)
	r.WaitUntil(`document.querySelector("#map .node.bound .name")?.textContent === "affinity-worker3"`)
	r.WaitForText("#scores", "InterPodAffinity decided alone")
	r.Press(kb.Enter)
	r.WaitUntil(`!document.querySelector("#map .walked") && document.querySelector("#scores").innerText === ""`)
}

// The page sends a dump once. The dump's workloads have levers, which copy a workload into a step of its own.
func TestDump(t *testing.T) {
	dump := map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "large"}, "data": map[string]any{"a": strings.Repeat("x", 100_000)}},
		map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n-1"}, "status": map[string]any{"allocatable": map[string]any{"cpu": "4", "memory": "8Gi", "pods": "9"}}},
		map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "default", "uid": "1"}, "spec": map[string]any{
			"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}},
			},
		}, "status": map[string]any{"replicas": 2}},
	}}
	text, err := json.Marshal(dump)
	if err != nil {
		t.Fatal(err)
	}
	in := playground.Input{Main: "scenario.yaml", Files: map[string]string{
		"scenario.yaml": "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- files: [dump.json]\n", "dump.json": string(text),
	}}
	var large atomic.Int32
	r := openPage(t, browsertest.Start(t), startServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > 100_000 {
				large.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	}), linkTo(t, "test", in, map[string]any{}))
	r.WaitForText("#verdict", "All 2 pods run.")
	r.choose(leverSelector("replicas"), "3")
	r.waitForText("name: change-web")
	r.WaitForText("#verdict", "All 3 pods run.", "change-web")
	r.choose(leverSelector("rule"), "hard")
	r.waitForText("requiredDuringSchedulingIgnoredDuringExecution:")
	if n := large.Load(); n != 1 {
		t.Errorf("the dump was sent %d times", n)
	}
}

func TestExplainAPod(t *testing.T) {
	r := openSmallScenario(t)
	r.Click(`#map [data-domain="b-b-1"]`)
	r.WaitForText("#panel", "Node b-b-1 fails")
	r.Press(kb.Escape)
	r.Click(`#map .chip[data-pod]`)
	r.WaitForText("dialog", "web-5b9b766dcb-", "→ a-a-1", "3 searched → 3 feasible → 3 scored")
	r.Press(kb.Escape)
	r.WaitUntil(`!document.querySelector("dialog")`)
	r.CheckText("#panel", "What if something fails?")
}

func TestLinkOfAnotherVersion(t *testing.T) {
	b, address := browsertest.Start(t), startServer(t)
	r := openPage(t, b, address, linkTo(t, "v0.0.1", smallScenario(t), map[string]any{"step": "web", "failed": map[string]any{"key": "topology.kubernetes.io/zone", "domains": []string{"c"}}}))
	r.WaitForText("#notice", "This link was made with Faultline v0.0.1; this is test, whose answer may differ.")
	r.WaitForText("#panel", "Zone c fails", "1 not back")
	r = openPage(t, b.Tab(), address, "/#v=test&s=cut")
	r.WaitForText("#notice", "Nothing was opened: this link is damaged")
	r.WaitForText("#home", "Lessons")
}

func TestErrorsStandAtTheirLines(t *testing.T) {
	r := openSmallScenario(t)
	r.typeAtLine("replicas: 3", kb.Backspace+"x")
	r.WaitForText("#problems", "1 problem", "scenario.yaml:19")
	r.WaitUntil(`document.body.matches(".stale") && ` + lines + `.find((line) => line.querySelector(".cm-lintRange-error")).textContent.includes("replicas: x")`)
	r.CheckText("#verdict", "All 3 pods run.")
	r.Press(kb.Backspace + "2")
	r.WaitForText("#verdict", "All 2 pods run.")
	r.WaitUntil(`!document.body.matches(".stale") && document.querySelector("#problems").innerText === "" && !` + editor + `.querySelector(".cm-lintRange-error")`)
}

// checkHarmless fails the test if a text became an element. A script that ran has already failed the test.
func (r *pageUser) checkHarmless() {
	r.t.Helper()
	for _, only := range []string{"script:not([src='playground.js'])", "img", "iframe", "b > script", "a[href^='http']", "[onerror]"} {
		if n := browsertest.Evaluate[int](r.Browser, fmt.Sprintf("document.querySelectorAll(%q).length", only)); n > 0 {
			r.t.Errorf("%d elements %s", n, only)
		}
	}
}

// The page treats everything from an engine as text. This engine has script in every name and message.
func TestHostileAnswers(t *testing.T) {
	var told struct{ Report, Explain json.RawMessage }
	if err := json.Unmarshal(reporttest.ReadFile(t, "../report/format/page/testdata/hostile.json"), &told); err != nil {
		t.Fatal(err)
	}
	const script = `<img src=x onerror=alert(1)><script>alert(2)</script>`
	answers := map[string]any{
		"load": map[string]any{
			"version": script, "scheduler": script, "schema": map[string]any{}, "example": script,
			"examples": []any{map[string]any{"name": script, "title": script, "description": script, "lesson": true, "steps": 1, "minutes": 5}},
			"input":    playground.Input{Main: script + ".yaml", Files: map[string]string{script + ".yaml": "description: '" + script + "'\nsteps: [{name: one, description: '**" + script + "**'}]\n", script: script}},
		},
		"run":     map[string]any{"report": told.Report},
		"fail":    playground.Failure{Error: &playground.Error{Kind: playground.KindInput, Message: script + reporttest.Hostile}},
		"explain": map[string]any{"explain": told.Explain},
		"quiz": map[string]any{"steps": []any{map[string]any{"step": "one's <step>", "questions": []any{
			map[string]any{"ask": script, "kind": "message", "fields": []string{script}, "answers": [][]string{{script}}, "said": script, "why": script + " **" + script + "**"},
		}}}},
	}
	var wrong atomic.Bool
	address := startServer(t, func(files http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			method, is := strings.CutPrefix(r.URL.Path, "/api/")
			answer := answers[method]
			if !is {
				files.ServeHTTP(w, r)
				return
			}
			if method == "run" && wrong.Load() {
				answer = map[string]any{"problems": []playground.Problem{{File: script + ".yaml", Line: 2, Message: script + reporttest.Hostile}}}
			}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		})
	})
	b := browsertest.Start(t)
	r := openPage(t, b, address, "/")
	r.WaitForText("#home", script)
	r.checkHarmless()
	r.Click("#home .card")
	r.WaitForText("#map", "<script>alert(1)</script>")
	r.checkHarmless()
	r.WaitForText("#asked", script)
	r.Click("#asked input")
	r.Click("#asked [type=submit]")
	r.WaitForText("#lesson .predict", script)
	r.WaitForText("#verdict", "one's <step>")
	r.checkHarmless()
	r.Click(`[data-domain="c & d"]`)
	r.WaitForText("#panel", "Zone c & d fails", script)
	r.checkHarmless()
	r.Press(kb.Escape)
	r.Click(`#map .chip[data-pod]`)
	r.WaitForText("dialog", "web-1")
	r.checkHarmless()
	r.Press(kb.Escape)
	wrong.Store(true)
	r.Click(`#files [role=tab]:last-child`)
	r.typeAtLine("<img", " ")
	r.WaitForText("#problems", script)
	r.checkHarmless()
}

// The engine's own messages quote the wrong input.
func TestHostileScenario(t *testing.T) {
	in := smallScenario(t)
	const script = `<img src=x onerror=alert(1)>`
	text := in.Files["scenario.yaml"]
	in.Files["scenario.yaml"] = strings.NewReplacer("{name: small}", "{name: '"+script+"'}\ndescription: '**"+script+"**'", "- name: web\n  apply", "- name: '"+script+"'\n  description: '"+script+"'\n  apply").Replace(text)
	b, address := browsertest.Start(t), startServer(t)
	r := openPage(t, b, address, linkTo(t, "test", in, map[string]any{}))
	r.WaitForText("#verdict", "All 3 pods run.", script)
	r.checkHarmless()
	for _, place := range []string{"name: a, nodeGroups", "metadata: {name: web}\n      spec", "app: web}}\n        template", "cpu: 1}"} {
		in.Files["scenario.yaml"] = strings.Replace(text, place, strings.NewReplacer("name: a,", "name: '"+script+"',", "web", "'"+script+"'", "1", "'"+script+"'").Replace(place), 1)
		r := openPage(t, b.Tab(), address, linkTo(t, "test", in, map[string]any{}))
		r.WaitForText("#problems", "problem", "scenario.yaml")
		r.checkHarmless()
	}
}

// While the engine works on ten thousand pods, the page still reacts.
func TestLargeScenario(t *testing.T) {
	in := playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": string(reporttest.ReadFile(t, "testdata/large.yaml"))}}
	var held atomic.Bool
	release := make(chan struct{})
	address := startServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if held.Load() && strings.HasPrefix(r.URL.Path, "/api/") {
				select {
				case <-release:
				case <-r.Context().Done():
					return
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	r := openPage(t, browsertest.Start(t), address, linkTo(t, "test", in, map[string]any{}))
	r.WaitForText("#verdict", "All 10,000 pods run.")
	held.Store(true)
	r.typeAtLine("replicas: 10000", kb.Backspace+"1")
	r.WaitUntil(`document.body.matches(".waiting")`)
	r.Click(zone + `[data-domain="a"]`)
	r.WaitForText("#panel", "Zone a fails", "500 nodes of 1,000; 5,000 of 10,000 pods lost.")
	if waits := browsertest.Evaluate[bool](r.Browser, `document.body.matches(".waiting")`); !waits {
		t.Error("the answer is there while the engine is held")
	}
	r.Press(kb.Escape)
	close(release)
	r.WaitForText("#verdict", "All 10,001 pods run.")
}

func TestPageInTheDark(t *testing.T) {
	r := openSmallScenario(t)
	const light = `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number); return r + g + b > 382; })()`
	for _, colours := range []string{"light", "dark", "light"} {
		r.SetMedia("screen", colours)
		if got := browsertest.Evaluate[bool](r.Browser, light); got != (colours == "light") {
			t.Errorf("%s: the page's ground is light: %t", colours, got)
		}
	}
	r.Click("#theme")
	if browsertest.Evaluate[bool](r.Browser, light) {
		t.Error("the page stays light")
	}
}

// The map comes first: on the screen of a laptop and on a projector, all nodes of a lesson are in view, with the zones in one row and the
// labels that the rules name. Words are whole.
func TestMapFirst(t *testing.T) {
	b, address := browsertest.Start(t), startServer(t)
	for _, test := range []struct {
		fragment      string
		width, height int64
		nodes         int
		label         string
		presents      bool
	}{
		{"/#lesson=1-walkthrough&step=hard-region-2", 1280, 800, 4, "topology.kubernetes.io/region=west", false},
		{"/#lesson=2-soft-or-hard&step=soft-zone-fails", 1280, 720, 6, "topology.kubernetes.io/zone=a", false},
		{"/#lesson=6-spreading", 1280, 720, 6, "topology.kubernetes.io/zone=c", false},
		{"/#lesson=2-soft-or-hard&step=soft", 1280, 720, 6, "topology.kubernetes.io/zone=a", true},
	} {
		r := openPage(t, b.Tab(), address, test.fragment)
		r.Resize(test.width, test.height)
		r.Click("#asked .link")
		r.WaitForText("#verdict", "expected.")
		if test.presents {
			r.Click("#present")
		}
		whole := fmt.Sprintf(`[...document.querySelectorAll("#map .node")].filter((node) => node.getBoundingClientRect().bottom <= %d).length`, test.height)
		if got := browsertest.Evaluate[int](r.Browser, whole); got != test.nodes {
			t.Errorf("%s: %d of %d nodes are whole", test.fragment, got, test.nodes)
		}
		const rows = `new Set([...document.querySelectorAll("#map .group:not(:has(.group)) > .title")].map((title) => Math.round(title.parentElement.getBoundingClientRect().top / 60))).size`
		if got := browsertest.Evaluate[int](r.Browser, rows); got != 1 && test.nodes == 6 {
			t.Errorf("%s: the zones are in %d rows", test.fragment, got)
		}
		if labels := browsertest.Evaluate[string](r.Browser, `[...document.querySelectorAll("#map .nodelabels")].map((list) => list.textContent).join()`); !strings.Contains(labels, test.label) {
			t.Errorf("%s: no label %s among %s", test.fragment, test.label, labels)
		}
		r.Click("#map " + zone)
		r.WaitForText("#panel", "What comes back")
		if broken := browsertest.Evaluate[string](r.Browser, brokenWords); broken != "" {
			t.Errorf("%s: broken words: %s", test.fragment, broken)
		}
	}
}

// brokenWords lists the words of the map, the levers and the answer that are on two lines.
const brokenWords = `[...document.querySelectorAll("#map, #levers, #answer")].flatMap((part) => {
  const broken = [], texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const {0: word, index} of texts.currentNode.data.matchAll(/\w+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map(({top}) => Math.round(top))).size > 1) broken.push(word);
    }
  }
  return broken;
}).join()`

// The legend says what a pale chip is. A Terminating pod counts in no number of the map.
func TestTerminatingPodsOnTheMap(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/#lesson=2-soft-or-hard&step=soft-zone-fails")
	r.Click("#asked .link")
	r.WaitForText("#map .pale", "does not run: 1 Terminating, not counted.")
	r.WaitForText("#map", "a\n0 pods", "c\n2 pods")
	if chips := browsertest.Evaluate[int](r.Browser, `document.querySelectorAll("#map .group:has([data-domain=a]) .chip.off").length`); chips != 1 {
		t.Errorf("%d pale chips in zone a, want 1", chips)
	}
	r.Click("#tab-3")
	r.Click("#asked .link")
	r.WaitForText("#map", "a\n1 pod")
	r.WaitUntil(`!document.querySelector("#map .pale")`)
}

// On a phone nothing is wider than the screen.
func TestPageOnAPhone(t *testing.T) {
	r := openSmallScenario(t)
	r.Resize(360, 800)
	fits := func(when string) {
		t.Helper()
		if wide := browsertest.Evaluate[int](r.Browser, "document.documentElement.scrollWidth"); wide > 360 {
			t.Errorf("%s: the page is %d pixels wide", when, wide)
		}
	}
	fits("at first")
	r.choose(leverSelector("replicas"), "4")
	r.WaitForText("#verdict", "1 Pending.")
	fits("with a Pending pod")
	r.Click(zone + `[data-domain="a"]`)
	r.WaitForText("#panel", "Zone a fails", "One more zone")
	fits("with a zone failed")
	r.Click(`#map .chip[data-pod]`)
	r.WaitForText("dialog", "3 searched → 0 feasible → 0 scored")
	fits("with a pod explained")
	r.Press(kb.Escape)
	r.follow("#lesson=1-walkthrough")
	r.WaitForText("#lesson", "What do you expect?")
	fits("in a lesson")
}

// On a phone, a failure is shown where the finger is, since the panel is below.
func TestTapOnAPhone(t *testing.T) {
	r := openSmallScenario(t)
	r.Resize(390, 844)
	r.Click(zone + `[data-domain="a"]`)
	r.WaitForText("#live", "zone a failed: 1 pod lost, 0 back, 1 not back.")
	r.WaitUntil(`(() => { const box = document.querySelector("#live").getBoundingClientRect(); return box.height > 20 && box.bottom <= innerHeight; })()`)
}

// On a projector, the type is large, and controls for a single reader are hidden.
func TestPresenting(t *testing.T) {
	r := openSmallScenario(t)
	r.Resize(1920, 1080)
	const size = `parseFloat(getComputedStyle(document.querySelector("#verdict b")).fontSize)`
	before := browsertest.Evaluate[float64](r.Browser, size)
	r.Click("#present")
	r.WaitUntil(fmt.Sprintf("%s > 1.3 * %f", size, before))
	r.WaitUntil(`document.querySelector("#source").offsetWidth === 0 && document.documentElement.scrollWidth <= 1920`)
	r.Press("p")
	r.WaitUntil(fmt.Sprintf("%s === %f", size, before))
}

// A lesson is printed with its questions, and with its answers on a separate sheet.
func TestHandout(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/#lesson=2-soft-or-hard&step=hard")
	r.WaitUntil(`document.querySelector("#asked")`)
	browsertest.Evaluate[bool](r.Browser, `dispatchEvent(new Event("beforeprint"))`)
	r.SetMedia("print", "light")
	r.WaitForText("#handout", "1. hard", "How many pods does each zone get?", "a ………… b ………… c …………", "Answers: Soft or hard when a zone fails", "c-worker-2, by chance among equal nodes. The lost pod comes back this time.", "As right: b-worker-2.")
	if sheet := strings.Split(r.Text("#handout"), "Answers: ")[0]; strings.Contains(sheet, "While all is well") || strings.Contains(sheet, "%") {
		t.Errorf("the questions' sheet has answers:\n%s", sheet)
	}
	if seen := browsertest.Evaluate[int](r.Browser, `document.querySelector("#workspace").offsetHeight`); seen > 0 {
		t.Error("the page is printed, too")
	}
	r.SetMedia("screen", "light")
	browsertest.Evaluate[bool](r.Browser, `dispatchEvent(new Event("afterprint"))`)
	r.WaitUntil(`document.querySelector("#handout").innerText === "" && document.querySelector("#workspace").offsetHeight > 0`)
}

// Tab reaches every control. In the editor, where Tab indents, Escape and then Tab leave it.
func TestPageByKeyboard(t *testing.T) {
	r := openSmallScenario(t)
	r.Focus(".skip")
	r.Press(kb.Enter)
	r.WaitUntil(`document.activeElement.id === "answer"`)
	r.Focus(".skip")
	reached := map[string]bool{}
	for range 200 {
		r.Press(kb.Tab)
		const where = `document.activeElement.closest("#choose, #tools, #files, #lesson, #editor, #stepbar, #levers, #map, #answer, #tables")?.id ?? ""`
		at := browsertest.Evaluate[string](r.Browser, where)
		if at == "editor" {
			r.Press(kb.Escape)
		}
		reached[at] = true
		if at == "tables" {
			break
		}
	}
	for _, part := range []string{"choose", "tools", "files", "editor", "levers", "map", "answer", "tables"} {
		if !reached[part] {
			t.Errorf("Tab does not reach #%s", part)
		}
	}

	// The arrow keys go through the steps.
	r.follow("#example=kind-walkthrough")
	r.WaitForText("#verdict", "Step 1 of ")
	r.Focus("#stepbar [role=tab][aria-selected=true]")
	r.Press(kb.ArrowRight)
	r.WaitForText("#verdict", "Step 2 of ")
	r.WaitUntil(`document.activeElement.matches("#stepbar [role=tab][aria-selected=true]")`)
}

// Every control has an accessible name, ids are unique, and the content of the map is also in a table.
func TestPageForAScreenReader(t *testing.T) {
	r := openSmallScenario(t)
	r.choose(leverSelector("replicas"), "4")
	r.WaitForText("#verdict", "1 Pending.")
	r.Click(zone + `[data-domain="a"]`)
	r.WaitForText("#panel", "One more zone")
	named := func(when string) {
		t.Helper()
		for _, element := range r.accessibleElements() {
			switch element.role {
			case "button", "combobox", "textbox", "searchbox", "link", "tab", "checkbox", "spinbutton", "image", "dialog", "region", "complementary", "grid":
				if element.name == "" {
					t.Errorf("%s: a %s has no name", when, element.role)
				}
			}
		}
	}
	named("with a zone failed")
	r.Click(`#map .chip[data-pod]`)
	r.WaitForText("dialog", "3 searched → 0 feasible → 0 scored")
	named("with a pod explained")
	r.Press(kb.Escape)
	if twice := browsertest.Evaluate[string](r.Browser, `[...document.querySelectorAll("[id]")].map(({id}) => id).filter((id, i, all) => all.indexOf(id) < i).join()`); twice != "" {
		t.Errorf("ids of several elements: %s", twice)
	}
	var tables []string
	for _, element := range r.accessibleElements() {
		if element.role == "region" {
			tables = append(tables, element.name)
		}
	}
	if all := strings.Join(tables, "\n"); !strings.Contains(all, "Pods") || !strings.Contains(all, "Nodes") {
		t.Errorf("no tables of pods and of nodes, but %q", tables)
	}
	if diff := cmp.Diff("en", browsertest.Evaluate[string](r.Browser, "document.documentElement.lang")); diff != "" {
		t.Error(diff)
	}
}

type element struct{ role, name string }

// accessibleElements returns the elements as a screen reader gets them.
func (r *pageUser) accessibleElements() (elements []element) {
	r.t.Helper()
	tree, err := chromedp.Call(r.Ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		r.t.Fatal(err)
	}
	text := func(value *accessibility.Value) (text string) {
		if value != nil {
			_ = json.Unmarshal(value.Value, &text) // a name that is no text is none
		}
		return text
	}
	for _, node := range tree.Nodes {
		if !node.Ignored {
			elements = append(elements, element{text(node.Role), strings.TrimSpace(text(node.Name))})
		}
	}
	return elements
}

// The numbers in a lesson's sentences can be dragged, and moved by keys; the sentence and the map follow. All that is dragged at once is one
// change.
func TestNumbersInSentences(t *testing.T) {
	r := openPage(t, browsertest.Start(t), startServer(t), "/#lesson=3-weights&step=one-less")
	r.Click("#asked .link")
	r.WaitForText(".sentences", "deployment/web has 3 replicas, and a soft rule over zone keeps them apart, of weight 49; it wants to be near app=cache, with weight 100. → zone a 2, b 1, c 0")
	const weight = `.sentences [data-focus="handle weight default/deployment/web"]`
	r.drag(weight, -90)
	r.WaitForText(".sentences", "of weight 19;", "→ zone a 3, b 0, c 0")
	r.waitForText("weight: 19\n")
	r.WaitForText("#verdict", "1 claim of the lesson changed by you.")
	r.Focus(weight)
	r.Press(kb.ArrowRight)
	r.WaitForText(".sentences", "of weight 20;")
	r.WaitUntil(fmt.Sprintf(`document.activeElement.matches(%q) && document.activeElement.getAttribute("aria-valuenow") === "20"`, weight))
	r.drag(`.sentences [data-focus="handle replicas default/deployment/web"]`, 15)
	r.WaitForText(".sentences", "has 4 replicas", "→ zone a 3, b 1, c 0")
	r.Click("#undo [data-focus=reset]")
	r.WaitForText(".sentences", "has 3 replicas", "of weight 49;", "→ zone a 2, b 1, c 0")
}

// drag drags the element to the right by so many pixels.
func (r *pageUser) drag(selector string, by float64) {
	r.t.Helper()
	r.WaitUntil(fmt.Sprintf(`document.querySelector(%q)`, selector))
	box := browsertest.Evaluate[[]float64](r.Browser, fmt.Sprintf(`(() => { const it = document.querySelector(%q); it.scrollIntoView({block: "center", behavior: "instant"}); const box = it.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()`, selector))
	r.Do(chromedp.DragAndDropXY(box[0], box[1], box[0]+by, box[1]))
}

// A teacher makes a lesson in a form, which writes the scenario's text, and passes it on as a link or as a file.
func TestMakeALesson(t *testing.T) {
	b, address := browsertest.Start(t), startServer(t)
	r := openPage(t, b, address, "/#example=own-lesson")
	r.WaitForText("#builder", "Your lesson", "Step 1 of 1", "The run answers: zone-1 1, zone-2 1, zone-3 1.")
	built := func(path string) string { return fmt.Sprintf(`#builder [data-focus="built %s"]`, path) }
	r.choose(built("metadata.name"), "Three zones")
	r.WaitForText("#title", "Three zones")
	r.choose(built("cluster.0.synthetic.zones.0.count"), "2")
	r.WaitForText("#builder", "The run answers: zone-1 2, zone-2 1, by chance among equal nodes.")
	r.choose(built("steps.0.apply.objects.0.metadata.name"), "shop")
	r.WaitForText("#map", "deployment/shop")
	r.choose(`#builder [data-lever="rule default/deployment/shop"]`, "hard")
	r.WaitForText("#verdict", "2 of 3 pods run, 1 Pending.")
	r.choose(built("steps.0.questions.0.kind"), "notOn")
	r.WaitForText("#builder", "The run answers: node(s) didn't match pod anti-affinity rules.")
	r.choose(built("steps.0.questions.0.ask"), "Why is the third pod not in zone 1?")
	r.Click(`#builder [data-focus="add step"]`)
	r.WaitForText("#builder", "Step 2 of 2")
	r.choose(built("steps.1.action"), "fail")
	r.choose(built("steps.1.fail.selector"), "topology.kubernetes.io/zone=zone-2")
	r.choose(built("steps.1.name"), "A zone fails")
	r.WaitForText("#stepbar", "a-zone-fails")
	r.Click(`#builder [data-focus="add question"]`)
	r.choose(built("steps.1.questions.0.number.by"), "pending")
	r.choose(built("steps.1.questions.0.ask"), "How many pods are Pending?")
	r.WaitForText("#builder", "The run answers: 2 pods.")
	if problems := r.Text("#problems"); problems != "" {
		t.Error(problems)
	}
	// What the class gets is a lesson, and what the teacher has goes on in the form.
	browsertest.Evaluate[bool](r.Browser, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`)
	r.Click("#builder [data-focus=\"class link\"]")
	r.WaitUntil("window.copied")
	class := openPage(t, b.Tab(), address, "/"+browsertest.Evaluate[string](r.Browser, "new URL(window.copied).hash"))
	class.WaitForText("#lesson", "Three zones · 1 of 2", "What do you expect?", "Why is the third pod not in zone 1?")
	class.answer("node(s) didn't match pod anti-affinity rules")
	class.WaitForText("#lesson", "✓ Why is the third pod not in zone 1? Right:", "1 of 2 steps done")
	r.WaitUntil(`/^#example=own-lesson&step=a-zone-fails&v=test&s=/.test(location.hash)`)
	r.reload()
	r.WaitForText("#builder", "Your lesson", "Step 2 of 2")

	// The opening page opens a file.
	own, err := fs.ReadFile(scenarios.FS, "own-lesson/scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "lesson.yaml")
	if err := os.WriteFile(file, own, 0o600); err != nil {
		t.Fatal(err)
	}
	other := openPage(t, b.Tab(), address, "/")
	other.WaitForText("#home", "Make a lesson", "Open a file")
	other.Do(chromedp.SetUploadFiles(chromedp.CSS("#home input[type=file]"), []string{file}))
	other.WaitForText("#lesson", "A lesson of your own", "What do you expect?")
}
