package page_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/browsertest"
	"github.com/faultline/faultline/pkg/report/run"
)

// On a small laptop the map is visible without scrolling; on a phone nothing is wider than the screen.
func TestHTMLMapIsAboveTheFold(t *testing.T) {
	b := browsertest.Start(t)
	for name, r := range map[string]*reports{"walkthrough": walkthrough(t), "hostile": hostile(t), "wide": {Report: wide()}, "daemons": {Report: daemons()}} {
		b.Resize(1280, 800)
		b.OpenFile(r.html(t))
		b.CheckOnScreen(name, ".map", 600, 300)
		b.Resize(360, 800)
		if wide := browsertest.Evaluate[int](b, "document.documentElement.scrollWidth"); wide > 360 {
			t.Errorf("%s: the page is %d pixels wide on a phone", name, wide)
		}
	}
}

// The total of a node's scores is visible, however many plugins there are and however narrow the screen is.
func TestHTMLTotalIsNeverBehindAScroll(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile(hostile(t).html(t))
	for _, width := range []int64{1280, 360} {
		b.Resize(width, 800)
		if right := browsertest.Evaluate[float64](b, `document.querySelector(".part-explain td.total").getBoundingClientRect().right`); right > float64(width) {
			t.Errorf("the total ends at %.0f of %d pixels", right, width)
		}
	}
}

// On paper there is nothing to select, and folded rules are open.
func TestHTMLInPrint(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile((&reports{Report: daemons()}).html(t))
	b.Click("#tab-1")
	seen := func(selector string) bool {
		t.Helper()
		return browsertest.Evaluate[bool](b, fmt.Sprintf("document.querySelector(%q).checkVisibility()", selector))
	}
	browsertest.Evaluate[bool](b, `document.querySelector(".rules").open = false`)
	for media, paper := range map[string]bool{"screen": false, "print": true} {
		b.SetMedia(media, "light")
		if rule, operate := seen(".rules pre"), seen("#panel .operate"); rule != paper || operate == paper {
			t.Errorf("%s shows a rule that is folded up: %t, what to select: %t", media, rule, operate)
		}
	}
}

// daemons returns a report of two nodes with a pod of a DaemonSet each. Its second step moves the pod of web from a to b. The pods of a
// request 1 of 2 cores.
func daemons() *run.Report {
	r := wide()
	r.Nodes, r.Cluster.Levels = r.Nodes[:2], nil
	r.Nodes[0].Name, r.Nodes[1].Name = "a", "b"
	for i := range r.Nodes {
		r.Nodes[i].CPU, r.Nodes[i].Memory, r.Nodes[i].Topology, r.Nodes[i].Taints = 2, 1<<30, nil, nil
	}
	step := func(name, web string) run.Step {
		return run.Step{
			Name: name, Action: "apply", Summary: run.Summary{Pods: 4, Running: 3, Pending: 1}, Requested: []run.Requested{{Node: "a", CPU: 1, Memory: 1 << 28}},
			Pods: []run.Pod{
				{PodRef: cluster.PodRef{Namespace: "default", Name: "agent-1", Workload: "daemonset/agent"}, Status: "Running", Node: "a"},
				{PodRef: cluster.PodRef{Namespace: "default", Name: "agent-2", Workload: "daemonset/agent"}, Status: "Running", Node: "b"},
				{PodRef: cluster.PodRef{Namespace: "default", Name: "web-1", Workload: "deployment/web"}, Status: "Running", Node: web},
				{PodRef: cluster.PodRef{Namespace: "default", Name: "db-0", Workload: "statefulset/db"}, Status: "Pending", Wait: placement.Wait{Message: "no room"}},
			},
			Workloads: []run.Workload{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, Desired: 1, Running: 1, Rules: &run.Rules{
				YAML: "nodeSelector:\n  disk: ssd\ntopologySpreadConstraints:\n- maxSkew: 1\n  topologyKey: zone\n", Terms: []run.Term{{Path: "nodeSelector", From: 1, To: 2}, {Path: "topologySpreadConstraints[0]", From: 4, To: 5}},
			}}},
			Why: []string{"statefulset/db: no room.", "deployment/web: NodeAffinity refused."}, WhyRules: []run.WhyRule{{Sentence: 1, WorkloadRef: cluster.WorkloadRef{Namespace: "default", Workload: "deployment/web"}, Paths: []string{"nodeSelector"}}},
		}
	}
	r.Steps = []run.Step{step("first", "a"), step("second", "b")}
	return r
}

func TestHTMLShowsUseDaemonSetsRulesAndChanges(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile((&reports{Report: daemons()}).html(t))
	texts := func(selector string) []string {
		t.Helper()
		return browsertest.Evaluate[[]string](b, fmt.Sprintf("[...document.querySelectorAll(%q)].map((element) => element.innerText.trim())", selector))
	}
	if diff := cmp.Diff([]string{"a\nCPU 50%\nMemory 25%\nB\n1\n+1 of a DaemonSet", "b\nCPU 0%\nMemory 0%\n+1 of a DaemonSet"}, texts(".node")); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	b.CheckText("#map", "Without a node: 1", "The pods of 1 DaemonSet are counted, not drawn: daemonset/agent.")
	// The rule that a sentence mentions is marked among the rules of its workload.
	if diff := cmp.Diff([]string{"nodeSelector:\n  disk: ssd"}, texts(".rules[open] mark")); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	b.CheckText(".rules", "The rule: nodeSelector", "topologyKey: zone")
	// The step's card and its words show the differences from the step before.
	if diff := cmp.Diff([]string{"1 moved"}, texts(".tabs .change")); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	b.Click("#tab-1")
	b.CheckText(".changes", "Since first: 1 moved", "deployment/web: −1 on a; +1 on b")
	// The map is also a table. In the table of pods, Pending pods come first and those of DaemonSets last.
	if diff := cmp.Diff([]string{"a\t1\t1\t\n50%, 1 of 2\n\t\n25%, 0.25 GiB of 1 GiB\n\t–", "b\t2\t1\t\n0%, 0 of 2\n\t\n0%, 0 GiB of 1 GiB\n\t–"}, texts(".part-nodes tbody tr")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"C\ndb-0", "B\nweb-1", "A\nagent-1", "A\nagent-2"}, texts(".part-pods tbody td:first-child")); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	// A failed node shows its details.
	b.Focus(`#map [data-domain="a"]`)
	b.Press(kb.Enter)
	b.CheckText("#panel", "Node a fails", "CPU requested", "50%, 1 of 2", "1 of 110, 1 of DaemonSets")
}

func TestHTMLSearch(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile(walkthrough(t).html(t))
	search := func(words string, keys ...string) {
		t.Helper()
		b.Press("/") // in a browser without a screen the key is also typed into the field
		browsertest.Evaluate[any](b, `document.activeElement.id === "search" && (document.activeElement.value = "")`)
		b.Press(words)
		for _, key := range keys {
			b.Press(key)
		}
	}
	search("worker2", kb.Enter)
	b.CheckText("#panel", "Node affinity-worker2", "Fail this node")
	if got := browsertest.Evaluate[string](b, `document.querySelector("#map .found .name").innerText`); got != "affinity-worker2" {
		t.Errorf("%s is marked, want affinity-worker2", got)
	}
	b.Click("#panel .fail")
	b.CheckText("#panel", "Node affinity-worker2 fails")
	// The arrow keys choose: the domains come first, then nodes.
	search("east")
	b.CheckText("#hits", "region east", "zone east-1b")
	b.Press(kb.ArrowDown)
	if got := browsertest.Evaluate[string](b, `document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).innerText`); got != "zone east-1b" {
		t.Errorf("%s is chosen, want zone east-1b", got)
	}
	b.Press(kb.Enter)
	b.CheckText("#panel", "Zone east-1b", "Fail this zone")
	b.CheckText("#map .group.found", "east-1b")
	search("deployment/", kb.Enter)
	b.CheckText("#panel", "Workload deployment/lorem-ipsum-deployment", "2 pods wanted, 2 running, 0 Pending.", "affinity-worker3: lorem-ipsum-deployment-")
	b.Press(kb.Escape)
	b.CheckText("#panel", "What if something fails?")
	if n := browsertest.Evaluate[int](b, `document.querySelectorAll("#map .chip.dim, .legend [aria-pressed=true]").length`); n != 0 {
		t.Error("a workload stays marked after Escape")
	}
	search("lorem-ipsum-deployment-", kb.Enter)
	b.CheckText("#panel", "Pod lorem-ipsum-deployment-", "Running, on affinity-worker")
	if n := browsertest.Evaluate[int](b, `document.querySelectorAll("#map .chip.found").length`); n != 1 {
		t.Errorf("%d pods are marked, want 1", n)
	}
	search("nowhere")
	b.CheckText("#hits", "Nothing has such a name.")
	b.Press(kb.Escape)
	if shown := browsertest.Evaluate[bool](b, `!document.getElementById("hits").hidden`); shown {
		t.Error("Escape leaves the list open")
	}

	// A Pending pod can be found, too.
	b.Click("#tab-1")
	search(browsertest.Evaluate[string](b, `faultline.steps[1].pods.find((pod) => !pod.node).name`), kb.Enter)
	b.CheckText("#panel", "Pending, on no node", "didn't match pod anti-affinity rules")
	if n := browsertest.Evaluate[int](b, `document.querySelectorAll("#map .tray .chip.found").length`); n != 1 {
		t.Errorf("%d waiting pods are marked, want 1", n)
	}

	// On a large map the cell is marked, and a pod is found among twenty thousand.
	b.OpenFile((&reports{Report: wide()}).html(t))
	search("service-39-56447b58fb-04c2c", kb.Enter)
	b.CheckText("#panel", "Pod service-39-56447b58fb-04c2c", "Running, on node-")
	if n := browsertest.Evaluate[int](b, `document.querySelectorAll("#map .cells.found").length`); n != 1 {
		t.Errorf("%d groups have the marked cell, want 1", n)
	}
}

// The page says which data it lacks, and which flag adds them.
func TestHTMLSaysWhatItLacks(t *testing.T) {
	b := browsertest.Start(t)
	r := walkthrough(t)
	r.Blast.Recover = false
	b.OpenFile(r.html(t), "#step=soft-region-3")
	const flag = "simulate run … --failures recover --report html=… looks at it."
	b.CheckText("#panel", "What comes back is not on this page. "+flag)
	b.CheckText(".part-radius", "What comes back is not on this page. "+flag)
	b.Click(`[data-domain="east-1b"]`)
	b.CheckText("#panel", "Not on this page, which counts only what failures take. "+flag)
	b.OpenFile((&reports{Report: r.Report}).html(t))
	b.CheckText("#panel", "Budgets, quorums and what comes back are not on this page. "+flag)
}
