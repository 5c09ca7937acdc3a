package page_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/browsertest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
)

const chosenStep = `document.querySelector("[role=tab][aria-selected=true] b").innerText`

func TestHTMLInBrowser(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile(walkthrough(t).html(t))
	b.CheckText(".head", "Where the pods go: kind-walkthrough", "17 of 17 expectations met", "kube-scheduler v1.37.1", "3 zones (1 node without)")

	// The arrow keys walk through the steps, and around the end.
	if got := browsertest.Evaluate[string](b, chosenStep); got != "hard-region-2" {
		t.Errorf("%s is the first step shown, want hard-region-2", got)
	}
	b.Focus("#tab-0")
	for _, step := range []struct{ key, want string }{
		{kb.ArrowLeft, "weighted-3"}, {kb.ArrowRight, "hard-region-2"}, {kb.End, "weighted-3"}, {kb.Home, "hard-region-2"}, {kb.ArrowRight, "hard-region-3"},
	} {
		b.Press(step.key)
		if got := browsertest.Evaluate[string](b, chosenStep); got != step.want {
			t.Errorf("%s is shown, want %s", got, step.want)
		}
	}
	b.CheckText("#step", "Step 2 of 7", "Without a node: 1", "didn't match pod anti-affinity rules", "Expectations: 2 of 2 met")
	if got := browsertest.Evaluate[string](b, `document.activeElement.id + " " + document.querySelectorAll("[role=tab][tabindex='0']").length`); got != "tab-1 1" {
		t.Errorf("focus and number of tabs that Tab reaches: %s, want tab-1 1", got)
	}
	b.Press(kb.ArrowRight)

	// A click fails a zone. In the stored report its pod is stranded, since the rule is hard.
	b.Click(`[data-key="topology.kubernetes.io/zone"][data-domain="east-1b"]`)
	b.CheckText("#panel", "Zone east-1b fails", "1 node of 4, 25% of the CPU", "1 of 3 pods lost", "1 of 3, 33%", "1 not back", "lorem-ipsum-deployment-5569b854b6-4mhxb",
		"2 node(s) didn't match pod anti-affinity rules", "One more zone\n50%", "1 of 2 of deployment/lorem-ipsum-deployment, with zone west-1a")
	b.CheckText("#map", "Without a node: 1", "stranded")
	if got := browsertest.Evaluate[string](b, `[...document.querySelectorAll(".node.failed .name")].map((name) => name.innerText).join()`); got != "affinity-worker3" {
		t.Errorf("%s failed, want affinity-worker3", got)
	}
	if got := browsertest.Evaluate[string](b, `document.getElementById("live").innerText`); got != "zone east-1b failed: 1 pod lost, 0 back, 1 not back." {
		t.Errorf("a screen reader says %q", got)
	}
	b.Press(kb.Escape)
	b.CheckText("#panel", "What if something fails?")
	if n := browsertest.Evaluate[int](b, `document.querySelectorAll(".node.failed").length`); n != 0 {
		t.Errorf("%d nodes are failed after Escape", n)
	}

	// With a soft rule the pod comes back, and the map shows where. Enter on a node's name fails it, and Enter again restores it.
	b.Click("#tab-4")
	b.Focus(`[data-key="kubernetes.io/hostname"][data-domain="affinity-worker3"]`)
	b.Press(kb.Enter)
	b.CheckText("#panel", "Node affinity-worker3 fails", "1 back", "lorem-ipsum-deployment-6df84fc8b8-f7tbb → affinity-worker\n", "67%")
	if got := browsertest.Evaluate[string](b, `document.querySelector(".chip.arrived").closest(".node").querySelector(".name").innerText`); got != "affinity-worker" {
		t.Errorf("the pod comes back on %s, want affinity-worker", got)
	}
	b.Press(kb.Enter)
	b.CheckText("#panel", "What if something fails?")

	// Shift adds a zone. The report has no two zones that fail together, and the page says so.
	b.Focus(`[data-domain="west-1a"]`)
	b.Press(kb.Enter)
	b.Focus(`[data-domain="west-1c"]`)
	b.Do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.CheckText("#panel", "zones west-1a and west-1c fail", "2 of 3, 67%", "simulate blast … --level zone --simultaneous 2")

	// The address keeps step and failure.
	b.OpenFile(walkthrough(t).html(t), browsertest.Evaluate[string](b, "location.hash"))
	b.CheckText("#panel", "zones west-1a and west-1c fail")
	if got := browsertest.Evaluate[string](b, chosenStep); got != "soft-region-3" {
		t.Errorf("%s is shown, want soft-region-3", got)
	}

	// The scores of a pod open: those of all nodes if its cycle was kept, and otherwise those of its own node.
	b.Click(".part-pods tbody tr:nth-child(3) button.scores")
	b.CheckText(".part-pods tbody tr:nth-child(4)", "4 searched → 3 feasible → 3 scored", "The best is ahead by 200.", "-200 → 0 × 2")
	b.Click(".part-pods button.scores")
	b.CheckText(".part-pods tr.below", "Plugin", "NodeResourcesFit", "PodTopologySpread\t\n200")

	// Light and dark.
	before := browsertest.Evaluate[string](b, "getComputedStyle(document.body).backgroundColor")
	b.Click("#theme")
	if after := browsertest.Evaluate[string](b, "getComputedStyle(document.body).backgroundColor"); after == before {
		t.Errorf("the page stays %s in the other theme", after)
	}
}

// The page counts the losses from the placements alone, and gets the same numbers as the analysis.
func TestHTMLCountsAsTheAnalysis(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile(walkthrough(t).html(t))
	const compare = `(() => {
  const {blast, steps, nodesOf, domainOf, lossOf} = faultline;
  const told = [], counted = [];
  for (const looked of blast.steps) for (const level of looked.levels) for (const failure of level.failures) {
    const name = [looked.name, level.topologyKey, ...failure.domains].join(" ");
    const step = steps.find((step) => step.name === looked.name);
    const nodes = nodesOf[steps.indexOf(step)].filter((node) => failure.domains.includes(domainOf(node, level.topologyKey))).map((node) => node.name);
    const loss = lossOf(step, new Set(nodes));
    told.push([name, failure.pods, failure.nodes.toSorted(), (failure.workloads ?? []).map((of) => [of.name, of.lost, of.replicas])]);
    counted.push([name, loss.pods, nodes.toSorted(), loss.workloads.map((of) => [of.workload.split("/")[1], of.lost, of.replicas])]);
  }
  return [told, counted].map((list) => list.map((of) => JSON.stringify(of)).join("\n"));
})()`
	got := browsertest.Evaluate[[]string](b, compare)
	if n := strings.Count(got[0], "\n") + 1; n != 27 { // 3 steps of 2 regions, 3 zones and 4 nodes
		t.Errorf("%d failures compared, want 27", n)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("(-analysis +page):\n%s", diff)
	}
}

func TestHTMLScoresInBrowser(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile(hostile(t).html(t))
	const node = "<script>alert(1)</script>"
	b.CheckText("h1", "Fish & </title><script>alert(3)</script>")
	b.CheckText(".facts", "random, seed 18446744073709551615")
	b.CheckText("#verdict", "1 of 1 expectation not met")
	b.CheckText("#map", node, "c & d", "no zone", "NotReady", "cordoned", "</script><img src=x onerror=alert(2)> & \"quotes\" 'single'")
	b.CheckText("#step", "1 < 2 & 3 > 2", "<x>.yaml:7", "s.yaml:3", "1 <pod>")

	b.Click(`.part-pods button.scores[aria-label="Scores of web-1"]`)
	b.CheckText(".part-pods tr.below:not([hidden])", "4 searched → 3 feasible → 3 scored", "NodeUnschedulable", "The best is ahead by 29.", node+"✓ chosen", "10 → 100 × 2", "200", "290")
	b.Click(".part-pods details.parts summary")
	b.CheckText(".part-pods details.parts", "weight 10", "zone c & d", "1 pod × 10 = 10", `default/"cache"&co`)

	b.CheckText(".part-explain", "web-1 → "+node, "3 of 4 nodes can take web-1.", "none of those", "web-1: "+node+" → a-1")
	b.Click(".part-explain details.explanation:nth-of-type(2) > summary")
	b.CheckText(".part-explain details.explanation:nth-of-type(2)", `web-"2"</script>`, "ask for 500m of CPU instead of 8", "Tried without success (1)", "Insufficient cpu")

	b.Click(`[data-domain="c & d"]`)
	b.CheckText("#panel", "Zone c & d fails", "1 of 2, 50%", "1 pod of DaemonSets or without an owner is lost, too", "Not on this page, which holds placements alone. simulate run … --failures recover --report html=… looks at it.")

	// An explanation can be on a page without a run.
	alone := hostile(t)
	alone.Report = nil
	b.OpenFile(alone.html(t))
	b.CheckText(".head", "Why pods are where they are", "1 of 2 pods are Pending; web-1 is the first.")
	b.CheckText(".part-explain", "web-1 → "+node, "in step one's <step>")
}

// The page gives the reasons why a pod waits in the words of the text report, in every place.
func TestHTMLSaysWhatPodsWaitFor(t *testing.T) {
	r := &run.Report{Steps: []run.Step{{Name: "only", Summary: run.Summary{Pods: 5, Pending: 4}, Pods: []run.Pod{
		{PodRef: cluster.PodRef{Namespace: "default", Name: "gang"}, Status: "Pending", Wait: placement.Wait{Untried: "1 of 2 pods of its gang are there"}},
		{PodRef: cluster.PodRef{Namespace: "default", Name: "other"}, Status: "Pending", Wait: placement.Wait{Untried: `left to the scheduler "other"`}},
		{PodRef: cluster.PodRef{Namespace: "default", Name: "broken"}, Status: "Pending", Wait: placement.Wait{Message: "running Filter: no such key", Reason: v1.PodReasonSchedulerError}},
		{PodRef: cluster.PodRef{Namespace: "default", Name: "gated"}, Status: v1.PodReasonSchedulingGated, Wait: placement.Wait{Message: "Scheduling is blocked due to non-empty scheduling gates"}, Gates: []string{"example.com/quota", "b"}},
		{PodRef: cluster.PodRef{Namespace: "default", Name: "db"}, Status: "NotReady", Node: "b", Waits: "waits for its volume, attached to a", Wait: placement.Wait{Message: `Multi-Attach error for volume "v"`}},
	}}}}
	b := browsertest.Start(t)
	b.OpenFile((&reports{Report: r}).html(t))
	pending := []string{
		"Not tried: 1 of 2 pods of its gang are there (no event and no condition says so)", `Left to the scheduler "other"`,
		"running Filter: no such key", "SchedulerError: a plugin failed, and the scheduler tries the pod again and again",
		"Scheduling is blocked due to non-empty scheduling gates", "Gates: example.com/quota, b",
	}
	b.CheckText(".part-pending", pending...)
	b.Click("#map .tray button.more")
	b.CheckText("#map .tray", pending...)
	for _, part := range []string{".part-pending", "#map"} {
		if text := browsertest.Evaluate[string](b, fmt.Sprintf("document.querySelector(%q).innerText", part)); strings.Contains(text, "gave no message") {
			t.Errorf("%s says that there is no message where it says what there is:\n%s", part, text)
		}
	}
	b.CheckText(".part-starting", "Not started (1)", "db", "Waits for its volume, attached to a", `FailedAttachVolume Multi-Attach error for volume "v"`)
}

// Reports without nodes, steps or pods have pages, too.
func TestHTMLOfEveryReportInBrowser(t *testing.T) {
	b := browsertest.Start(t)
	for name, r := range fixtures(t) {
		b.OpenFile((&reports{Report: r}).html(t))
		if n := browsertest.Evaluate[int](b, `document.querySelectorAll("[role=tab]").length`); n != len(r.Steps) {
			t.Errorf("%s: %d tabs for %d steps", name, n, len(r.Steps))
		}
		for i := range r.Steps {
			if len(r.Steps) > 1 { // a single step cannot be chosen
				b.Click(fmt.Sprintf("#tab-%d", i))
			}
			b.CheckText("#step-title", r.Steps[i].Name)
		}
		for _, complaint := range b.TakeComplaints() {
			t.Errorf("%s: %s", name, complaint)
		}
	}
}

func TestHTMLOfALargeClusterInBrowser(t *testing.T) {
	content := (&reports{Report: wide()}).html(t)
	if size := len(content); size > 4<<20 {
		t.Errorf("%d bytes, want at most 4 MiB", size)
	}
	b := browsertest.Start(t)
	b.OpenFile(content)
	elements := func(when string) {
		t.Helper()
		if n := browsertest.Evaluate[int](b, `document.querySelectorAll("*").length`); n > 3000 {
			t.Errorf("%s: %d elements, want at most 3,000", when, n)
		}
	}
	elements("at first")
	b.CheckText("#step", "20,000", "Pending pods (10)", "Show 15 more of 19,985")
	b.Click(`[data-key="topology.kubernetes.io/zone"][data-domain="eu-2"]`)
	b.CheckText("#panel", "Zone eu-2 fails", "556 nodes of 5,000; 2,223 of 19,990 pods lost.", "55 of 490, 11%")
	elements("with a zone failed")
	if red := browsertest.Evaluate[bool](b, `(() => {
  const zone = document.querySelector('[data-domain="eu-2"]').closest(".group"), canvas = zone.querySelector("canvas");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && data[i] > data[i + 2] + 60) return true;
  return false;
})()`); !red {
		t.Error("the failed zone's cells are not red")
	}
	// The arrow keys walk the cells, and Enter fails a node: the second one of rack-0-0 is node-0072.
	b.Focus("canvas")
	b.Press(kb.ArrowRight)
	b.Press(kb.ArrowRight)
	b.CheckText("#tip", "node-0072, 4 pods")
	b.Press(kb.Enter)
	b.CheckText("#panel", "Node node-0072 fails", "1 node of 5,000; 4 of 19,990 pods lost.")
	b.Click(".group .expand")
	b.CheckText(".group.opened", "node-0000", "dedicated=batch:NoSchedule", "node-0072")
	b.Click("#theme")
	elements("with a rack's nodes listed")
	b.Do(chromedp.SendKeys(chromedp.CSS(".part-pods input"), "service-39"))
	b.CheckText(".part-pods", "service-39-56447b58fb-04c2c", "Show 15 more of 485")
}

// The map of many nodes is coloured by the requests of their pods, and can be grouped by any label. A pod on the map shows its place.
func TestHTMLMapByLabelAndHeat(t *testing.T) {
	r := wide()
	r.Labels = map[string]map[string]string{}
	for i, node := range r.Nodes {
		pool, cpu := "regular", 4.0
		if i%10 == 0 {
			pool, cpu = "spot", 16
		}
		r.Labels[node.Name] = map[string]string{"example.com/pool": pool}
		r.Steps[0].Requested = append(r.Steps[0].Requested, run.Requested{Node: node.Name, CPU: cpu, Memory: 16 << 30})
	}
	b := browsertest.Start(t)
	b.OpenFile((&reports{Report: r}).html(t))
	b.CheckText(".density", "Pods on a node: 0", "4")
	b.Click(`[data-focus="heat CPU"]`)
	b.CheckText(".density", "CPU requested: 0%", "100%")

	const group = `(() => {
  const select = document.querySelector(".choices select");
  select.value = "example.com/pool";
  return select.dispatchEvent(new Event("change"));
})()`
	browsertest.Evaluate[bool](b, group)
	// Nodes have four pods, except for the last ten, which have three; one of these is a spot node.
	b.CheckText("#map", "regular", "4,500 · 17,991", "spot", "500 · 1,999")
	// The nodes of the spot pool are full, and the others use a quarter.
	const shade = `[...document.querySelectorAll("canvas")].map((of) => of.getContext("2d").getImageData(3, 3, 1, 1).data[0])`
	if red := browsertest.Evaluate[[]int](b, shade); len(red) != 2 || red[0] < red[1]+40 {
		t.Errorf("the first cells of the pools have %d of red; the second is darker", red)
	}
	if hash := browsertest.Evaluate[string](b, "location.hash"); !strings.Contains(hash, "by=example.com%2Fpool") {
		t.Errorf("the address is %s", hash)
	}
	b.Click(`[data-domain="spot"]`)
	b.CheckText("#panel", "Pool spot fails", "500 nodes of 5,000; 1,999 of 19,990 pods lost.")

	b.Click(`[aria-label="List the nodes of pool spot"]`)
	b.Click(".node .chip[data-pod]")
	b.CheckText("#panel", "Pod service-", "on node-0000", "CPU requested", "100%, 16 of 16", "Pool", "spot")
	if n := browsertest.Evaluate[int](b, `document.querySelectorAll(".node.failed").length`); n != 0 {
		t.Errorf("%d nodes are failed with a pod in view", n)
	}
}

// wide returns a report of 5,000 nodes in 9 zones of 3 regions, with 8 racks each, and of 20,000 pods: 40 workloads of 500 pods. Pod i of
// workload w is on node 125 w + i, modulo 5,000, so that every node has 4. The last 10 pods of the last workload wait.
func wide() *run.Report {
	const nodes, workloads, size = 5000, 40, 500
	r := &run.Report{Head: report.Head{APIVersion: report.APIVersion, Kind: run.Kind, Version: "dev", Scenario: "wide", Ties: "upstream", Scheduler: report.Scheduler{Version: "v1.37.1"},
		Cluster: report.Cluster{Nodes: nodes, Levels: []report.Level{{TopologyKey: v1.LabelTopologyRegion, Domains: 3}, {TopologyKey: v1.LabelTopologyZone, Domains: 9}, {TopologyKey: "rack", Domains: 72}, {TopologyKey: v1.LabelHostname, Domains: nodes}}}}}
	for i := range nodes {
		z := i % 9
		name := fmt.Sprintf("node-%04d", i)
		where := map[string]string{v1.LabelHostname: name, v1.LabelTopologyRegion: []string{"ap", "eu", "us"}[z/3], v1.LabelTopologyZone: fmt.Sprintf("%s-%d", []string{"ap", "eu", "us"}[z/3], z%3+1), "rack": fmt.Sprintf("rack-%d-%d", z, i/9%8)}
		node := report.Node{Name: name, Topology: where, CPU: 16, Memory: 64 << 30, Pods: 110}
		if i%500 == 0 {
			node.Taints = []string{"dedicated=batch:NoSchedule"}
		}
		r.Nodes = append(r.Nodes, node)
	}
	s := run.Step{Name: "all", Action: "apply -f all.yaml", Summary: run.Summary{Pods: workloads * size, Running: workloads*size - 10, Pending: 10, Placed: workloads*size - 10}, TopologyKeys: []string{v1.LabelTopologyZone}}
	for w := range workloads {
		name := fmt.Sprintf("service-%02d", w)
		s.Workloads = append(s.Workloads, run.Workload{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: name}, Desired: size, Running: size})
		for i := range size {
			pod := run.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprintf("%s-56447b58fb-%05x", name, w*size+i), Workload: "deployment/" + name}, Ready: "1/1", Status: "Running"}
			if w == workloads-1 && i >= size-10 {
				pod.Ready, pod.Status, pod.Message = "0/1", "Pending", "0/5000 nodes are available: 5000 Insufficient cpu."
			} else {
				node := &r.Nodes[(125*w+i)%nodes]
				pod.Node, pod.Topology = node.Name, map[string]string{v1.LabelTopologyZone: node.Topology[v1.LabelTopologyZone]}
				pod.Decision = &placement.Decision{Feasible: 500 - i%7, Scored: 500 - i%7, Ties: 1 + i%5, Margin: int64(i % 11), RunnerUp: r.Nodes[(125*w+i+1)%nodes].Name, Deciders: []string{"PodTopologySpread"},
					Scores: []placement.Score{{Plugin: "NodeResourcesFit", Weighted: int64(90 + i%10), Ahead: 0}, {Plugin: "PodTopologySpread", Weighted: 200, Ahead: int64(i % 11)}}}
			}
			s.Pods = append(s.Pods, pod)
		}
	}
	s.Workloads[workloads-1].Running, s.Workloads[workloads-1].Pending = size-10, 10
	s.Workloads = append(s.Workloads, run.Workload{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "scaled-to-nothing"}, Domains: []run.Distribution{{TopologyKey: v1.LabelTopologyZone, Empty: 9}}})
	r.Steps = []run.Step{s}
	return r
}

// fixtures are the stored reports by name.
func fixtures(t *testing.T) map[string]*run.Report {
	t.Helper()
	files, err := filepath.Glob("../../run/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports in testdata: %v", err)
	}
	all := map[string]*run.Report{}
	for _, file := range files {
		r, err := run.Decode(file, reporttest.ReadFile(t, file))
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return all
}
