package playground_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/scenarios"
)

// ask returns the response to a request of the method.
func ask[Response any](t *testing.T, engine *playground.Engine, method string, request any) Response {
	t.Helper()
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var response Response
	decoder := json.NewDecoder(bytes.NewReader(engine.Answer(context.Background(), method, data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&response); err != nil {
		t.Fatalf("%s: %s", method, err)
	}
	return response
}

// scenario has three nodes in two zones, and three pods that must be on different nodes.
const scenario = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    zones: [{name: a}, {name: b}]
    nodeGroups: [{total: 3, cpu: "4", memory: 8Gi}]
steps:
- name: web
  apply: {files: [web.yaml]}
`

const web = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports: [{port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: web}}
            topologyKey: kubernetes.io/hostname
`

var input = playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": scenario, "web.yaml": web}}

// replaceInInput returns the input with one text in place of another.
func replaceInInput(file, old, new string) playground.Input {
	files := map[string]string{}
	for name, text := range input.Files {
		files[name] = text
	}
	files[file] = strings.Replace(files[file], old, new, 1)
	return playground.Input{Main: input.Main, Files: files}
}

func TestRun(t *testing.T) {
	ran := ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: input})
	step := ran.Report.Steps[0]
	if step.Summary.Running != 3 || step.Summary.Pending != 1 {
		t.Errorf("%d running, %d Pending; want 3 and 1", step.Summary.Running, step.Summary.Pending)
	}
	for _, pod := range step.Pods {
		if pod.Node == "" && !strings.Contains(pod.Message, "3 node(s) didn't match pod anti-affinity rules") {
			t.Errorf("%s is Pending: %s", pod.Name, pod.Message)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name  string
		input playground.Input
		want  []playground.Problem
	}{
		{"unknown field", replaceInInput("scenario.yaml", "cpu:", "cpus:"), []playground.Problem{
			{"scenario.yaml", 6, `unknown field "cluster[0].synthetic.nodeGroups[0].cpus"; did you mean "cpu"?`},
		}},
		{"an object of the second document", replaceInInput("web.yaml", "replicas: 4", "replicas: -4"), []playground.Problem{
			{"web.yaml", 11, `document 2: Deployment default/web: spec.replicas: Invalid value: -4: must be greater than or equal to 0`},
		}},
		{"no file", replaceInInput("scenario.yaml", "web.yaml", "wob.yaml"), []playground.Problem{
			{"scenario.yaml", 9, `steps[0].apply.files[0]: there is no file or folder wob.yaml; paths are relative to the folder of the scenario`},
		}},
		{"no YAML", replaceInInput("scenario.yaml", "steps:", "steps: ["), []playground.Problem{
			{"scenario.yaml", 7, `line 7: not valid YAML: did not find expected node content`},
		}},
		{"a step that the run finds impossible", replaceInInput("scenario.yaml", "[web.yaml]}\n", "[web.yaml]}\n- name: gone\n  delete: {targets: [pod/web-0]}\n"), []playground.Problem{
			{"scenario.yaml", 10, `step "gone": pod/web-0 is not there at this step`},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran := ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: test.input})
			if diff := cmp.Diff(test.want, ran.Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if ran.Report != nil {
				t.Error("there is a report besides")
			}
		})
	}
}

// Only the first of many problems of a file are sent, and a file whose name has a newline is named once.
func TestManyProblems(t *testing.T) {
	var steps strings.Builder
	for i := range 300 {
		fmt.Fprintf(&steps, "- name: s%d\n  scale: {target: deployment/no, replicas: 1}\n", i)
	}
	ran := ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "steps:\n", "steps:\n"+steps.String())})
	if len(ran.Problems) != 100 || ran.Problems[98].Line != 205 || ran.Problems[99].Message != "there are more problems; only the first 99 are listed" {
		t.Errorf("%d problems, the last ones %+v", len(ran.Problems), ran.Problems[max(0, len(ran.Problems)-2):])
	}
	odd := replaceInInput("scenario.yaml", "web.yaml", `"we\nb.yaml"`)
	odd.Files["we\nb.yaml"] = "a: 1\nkind: Pod\n"
	ran = ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: odd})
	want := []playground.Problem{{"we\nb.yaml", 1, "Pod without an apiVersion; every object has both"}}
	if diff := cmp.Diff(want, ran.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Any two of 300 nodes can fail together in a request.
func TestFailAmongMany(t *testing.T) {
	many := replaceInInput("scenario.yaml", "total: 3", "total: 300")
	both := ask[playground.FailResponse](t, playground.New("test"), "fail", playground.FailRequest{
		Input: many, Step: "web", TopologyKey: "kubernetes.io/hostname", Domains: []string{"b-node-150", "a-node-7", "a-node-7"}})
	failures := both.Blast.Steps[0].Levels[0].Failures
	if len(failures) != 1 || strings.Join(failures[0].Domains, " ") != "a-node-7 b-node-150" || both.Blast.Simultaneous != 2 {
		t.Errorf("%d at once, failures %+v; want the one of both nodes", both.Blast.Simultaneous, failures)
	}
}

// Nodes fail as in simulate blast: they do not answer, unless the scenario says otherwise. A StatefulSet creates no pod again while the
// kubelet of the lost pod does not answer. If the node is deleted, it creates the first of two pods, which finds no room, and the second
// waits for it.
func TestFailMode(t *testing.T) {
	for mode, stranded := range map[string]int{"unreachable": 0, "deleted": 1} {
		in := replaceInInput("web.yaml", "kind: Deployment", "kind: StatefulSet")
		if mode != "unreachable" {
			in.Files["scenario.yaml"] += "failures: {mode: " + mode + "}\n"
		}
		got := ask[playground.FailResponse](t, playground.New("test"), "fail", playground.FailRequest{
			Input: in, Step: "web", TopologyKey: "topology.kubernetes.io/zone", Domains: []string{"a"}})
		failure := got.Blast.Steps[0].Levels[0].Failures[0]
		if got.Blast.Mode != mode || failure.Pods != 2 || len(failure.Recovery.Stranded) != stranded {
			t.Errorf("%s: mode %s, %d pods, stranded %+v; want 2 pods, %d stranded", mode, got.Blast.Mode, failure.Pods, failure.Recovery.Stranded, stranded)
		}
	}
}

// A load is answered while a run has the turn, and the input of an example has all files that its scenario names.
func TestLoadTakesNoTurn(t *testing.T) {
	all, err := scenarios.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range all {
		s, err := loader.LoadFS(scenarios.FS, of.File(), loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		named, err := loader.Files(scenarios.FS, s)
		if err != nil {
			t.Fatal(err)
		}
		loaded := ask[playground.LoadResponse](t, playground.New("test"), "load", playground.LoadRequest{Example: of.Name})
		if len(loaded.Input.Files) != len(named) {
			t.Errorf("%s: %d files; the scenario names %q", of.Name, len(loaded.Input.Files), named)
		}
		for _, name := range named {
			found := false
			for file := range loaded.Input.Files {
				found = found || path.Base(file) == path.Base(name)
			}
			if !found {
				t.Errorf("%s: %s is missing", of.Name, name)
			}
		}
	}
}

// Two nodes are in zone a, one is in b; none has room for another pod that must be alone.
func TestFail(t *testing.T) {
	engine := playground.New("test")
	const zone = "topology.kubernetes.io/zone"
	one := ask[playground.FailResponse](t, engine, "fail", playground.FailRequest{Input: input, Step: "web", TopologyKey: zone, Domains: []string{"a"}})
	failures := one.Blast.Steps[0].Levels[0].Failures
	if len(failures) != 1 || failures[0].Pods != 2 || len(failures[0].Recovery.Stranded) != 2 {
		t.Errorf("zone a takes %+v; want one failure that takes 2 pods, which are stranded", failures)
	}
	both := ask[playground.FailResponse](t, engine, "fail", playground.FailRequest{Input: input, Step: "web", TopologyKey: zone, Domains: []string{"b", "a"}})
	if failures := both.Blast.Steps[0].Levels[0].Failures; len(failures) != 1 || failures[0].Pods != 3 {
		t.Errorf("both zones take %+v; want one failure that takes 3 pods", failures)
	}
	all := ask[playground.FailResponse](t, engine, "fail", playground.FailRequest{Input: input, Step: "web"})
	var levels []int
	for _, level := range all.Blast.Steps[0].Levels {
		levels = append(levels, len(level.Failures))
	}
	if diff := cmp.Diff([]int{2, 3}, levels); diff != "" {
		t.Errorf("failures of each level (-want +got):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	engine := playground.New("test")
	ran := ask[playground.RunResponse](t, engine, "run", playground.RunRequest{Input: input})
	for _, pod := range ran.Report.Steps[0].Pods {
		told := ask[playground.ExplainResponse](t, engine, "explain", playground.ExplainRequest{Input: input, Namespace: pod.Namespace, Pod: pod.Name})
		if len(told.Explain.Pods) != 1 || told.Explain.Pods[0].Node != pod.Node {
			t.Errorf("%s on %q: %+v", pod.Name, pod.Node, told.Explain.Pods)
		}
		if pod.Node == "" && len(told.Explain.Pods[0].Fixes) == 0 {
			t.Errorf("nothing would place %s; a soft rule would", pod.Name)
		}
	}
}

func TestCompare(t *testing.T) {
	compared := ask[playground.CompareResponse](t, playground.New("test"), "compare", playground.CompareRequest{
		Input: input, Workload: "deployment/web", Rules: []string{"none", "soft", "hard"}, Keys: []string{"zone"}})
	pending := map[string]int{}
	for _, variant := range compared.Compare.Variants {
		pending[variant.Name] = variant.Pending
	}
	if diff := cmp.Diff(map[string]int{"baseline": 1, "none": 0, "soft": 0, "hard": 2}, pending); diff != "" {
		t.Errorf("Pending (-want +got):\n%s", diff)
	}
}

// The report equals that of simulate run -o json in every byte except for white space, even if a list has no entries.
func TestReportIsThatOfRun(t *testing.T) {
	engine := playground.New("test")
	loaded := ask[playground.LoadResponse](t, engine, "load", playground.LoadRequest{Example: "devices"})
	request, err := json.Marshal(playground.RunRequest{Input: loaded.Input})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Report json.RawMessage }
	if err := json.Unmarshal(engine.Answer(context.Background(), "run", request), &got); err != nil {
		t.Fatal(err)
	}
	s, err := loader.LoadFS(scenarios.FS, "devices/scenario.yaml", loader.Options{FS: scenarios.FS})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	judged, err := expect.Judge(context.Background(), result, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := run.New(result, judged, "test")
	found.AddCycles(result, func(*run.Step) bool { return true })
	causes, err := cause.ExplainRun(context.Background(), result)
	if err != nil {
		t.Fatal(err)
	}
	found.AddCauses(causes)
	var written, want bytes.Buffer
	if err := run.Formats.Write(&written, found, "json", report.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&want, bytes.ReplaceAll(written.Bytes(), []byte(`"devices/`), []byte(`"`))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got.Report)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every example runs.
func TestExamples(t *testing.T) {
	engine := playground.New("test")
	begun := ask[playground.LoadResponse](t, engine, "load", playground.LoadRequest{})
	if begun.Input.Main == "" || len(begun.Examples) == 0 || !json.Valid(begun.Schema) {
		t.Fatalf("the page begins with %+v", begun)
	}
	for _, example := range begun.Examples {
		loaded := ask[playground.LoadResponse](t, engine, "load", playground.LoadRequest{Example: example.Name})
		if ran := ask[playground.RunResponse](t, engine, "run", playground.RunRequest{Input: loaded.Input}); ran.Report == nil {
			t.Errorf("%s: %+v", example.Name, ran.Problems)
		}
	}
}

const barePod = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c, image: i}]}\n---\n"

func TestRefusals(t *testing.T) {
	limited := playground.New("test")
	limited.Limits = playground.Limits{Bytes: 4000, Nodes: 3, Devices: 5, Pods: 4, Versions: 2}
	brief := playground.New("test")
	brief.Limits = playground.Limits{YAML: 1 << 20}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	hurried := playground.New("test")
	hurried.Limits.Time = time.Nanosecond
	within := func(name string) playground.Input {
		return playground.Input{Main: name, Files: map[string]string{name: scenario}}
	}
	for _, test := range []struct {
		name    string
		engine  *playground.Engine
		ctx     context.Context
		method  string
		request any
		want    playground.Error
	}{
		{"method", limited, context.Background(), "walk", struct{}{}, playground.Error{"input", `there is no method "walk"`}},
		{"field", limited, context.Background(), "run", map[string]int{"inputs": 1}, playground.Error{"input", `the request is not what the method takes: json: unknown field "inputs"`}},
		{"main", limited, context.Background(), "run", playground.RunRequest{Input: playground.Input{Main: "x.yaml"}}, playground.Error{"input", `the files do not hold main, "x.yaml"`}},
		{"path", limited, context.Background(), "run", playground.RunRequest{Input: within("../etc/scenario.yaml")}, playground.Error{"input", `"../etc/scenario.yaml" is not a path within the scenario; use names and slashes`}},
		{"step", limited, context.Background(), "fail", playground.FailRequest{Input: input, Step: "no"}, playground.Error{"input", `the scenario has no step "no"`}},
		{"domain", limited, context.Background(), "fail", playground.FailRequest{Input: input, Step: "web", TopologyKey: "topology.kubernetes.io/zone", Domains: []string{"z"}},
			playground.Error{"input", `topology.kubernetes.io/zone has no domains ["z"] after step "web"`}},
		{"example", limited, context.Background(), "load", playground.LoadRequest{Example: "../x"}, playground.Error{"input", `there is no example "../x"`}},
		{"bytes", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("web.yaml", "image: web", "image: "+strings.Repeat("x", 4000))},
			playground.Error{"limit", "the files have 4809 bytes, and the page takes 4000; use the command line"}},
		{"nodes", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "total: 3", "total: 4")},
			playground.Error{"limit", "the scenario has 4 nodes, and the page takes 3; use the command line"}},
		{"nodes of several sources", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "- synthetic:", "- synthetic: {nodeGroups: [{name: x, count: 2}]}\n- synthetic:")},
			playground.Error{"limit", "the scenario has 5 nodes, and the page takes 3; use the command line"}},
		{"nodes that are not made", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "total: 3", "count: 99999")},
			playground.Error{"limit", "the scenario has 99999 nodes, and the page takes 3; use the command line"}},
		{"nodes of a variant", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "steps:", "variants: [{name: v, cluster: [{synthetic: {nodeGroups: [{count: 99999}]}}]}]\nsteps:")},
			playground.Error{"limit", "the scenario has 100002 nodes, and the page takes 3; use the command line"}},
		{"nodes of a point", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "steps:", "sweep: {parameters: [{name: size, values: [99999]}], variant: {cluster: [{synthetic: {nodeGroups: [{count: $(size)}]}}]}}\nsteps:")},
			playground.Error{"limit", "the scenario has 100002 nodes, and the page takes 3; use the command line"}},
		{"nodes of a join", limited, context.Background(), "run", playground.RunRequest{Input: playground.Input{Main: "s.yaml", Files: map[string]string{"s.yaml": `apiVersion: faultline/v1alpha1
kind: Scenario
clusters: [{name: a, cluster: [{synthetic: {nodeGroups: [{count: 1}]}}]}]
steps: [{name: b, join: {name: b, cluster: [{synthetic: {nodeGroups: [{count: 99999}]}}]}}]
`}}},
			playground.Error{"limit", "the scenario has 100000 nodes, and the page takes 3; use the command line"}},
		{"devices", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "total: 3", "devices: [{class: gpu.example.com, count: 2}], total: 3")},
			playground.Error{"limit", "the scenario has 6 devices, and the page takes 5; use the command line"}},
		{"bare pods", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("web.yaml", "---", "---\n"+strings.Repeat(barePod, 5))},
			playground.Error{"limit", "the scenario has 5 pods, and the page takes 4; use the command line"}},
		{"bare pods and others", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("web.yaml", "---", "---\n"+barePod)},
			playground.Error{"limit", "the scenario has 5 pods, and the page takes 4; use the command line"}},
		{"points", limited, context.Background(), "run", playground.RunRequest{Input: replaceInInput("scenario.yaml", "steps:", "sweep: {parameters: [{name: size, range: {from: 1, to: 90000}}], variant: {replicas: {deployment/web: $(size)}}}\nsteps:")},
			playground.Error{"limit", "the scenario has 90000 variants and points of a sweep, and the page takes 2; use the command line"}},
		{"YAML", brief, context.Background(), "run", playground.RunRequest{Input: replaceInInput("web.yaml", "---", "#"+strings.Repeat("x", 1<<20)+"\n---")},
			playground.Error{"limit", "the scenario and its files of YAML have 1.0 MiB, and the page takes 1; give large files as JSON, or use the command line"}},
		{"keys", playground.New("test"), context.Background(), "compare", playground.CompareRequest{Input: input, Rules: []string{"soft"}, Keys: make([]string, 65)},
			playground.Error{"limit", "1 rules over 65 keys are asked for, and the page compares 16 over 64; ask for fewer"}},
		{"domains without a key", playground.New("test"), context.Background(), "fail", playground.FailRequest{Input: input, Step: "web", Domains: []string{"a"}},
			playground.Error{"input", "domains are given without their topologyKey; give it, or leave out domains"}},
		{"canceled", limited, canceled, "run", playground.RunRequest{Input: input}, playground.Error{"canceled", "canceled before it began"}},
		{"time", hurried, context.Background(), "run", playground.RunRequest{Input: input}, playground.Error{"limit", "no answer within 1ns; take a smaller scenario, or use the command line"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, err := json.Marshal(test.request)
			if err != nil {
				t.Fatal(err)
			}
			var failure playground.Failure
			if err := json.Unmarshal(test.engine.Answer(test.ctx, test.method, request), &failure); err != nil {
				t.Fatal(err)
			}
			if failure.Error == nil {
				t.Fatalf("no error, but %.500s", test.engine.Answer(test.ctx, test.method, request))
			}
			if diff := cmp.Diff(test.want, *failure.Error); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("advice", func(t *testing.T) {
		ran := ask[playground.RunResponse](t, limited, "run", playground.RunRequest{Input: replaceInInput("web.yaml", "replicas: 4", "replicas: 5")})
		if len(ran.Problems) != 1 || !strings.HasSuffix(ran.Problems[0].Message, "at most 4; ask for fewer, or use the command line") {
			t.Errorf("problems: %+v", ran.Problems)
		}
	})
	t.Run("pods", func(t *testing.T) {
		ran := ask[playground.RunResponse](t, limited, "run", playground.RunRequest{Input: replaceInInput("web.yaml", "replicas: 4", "replicas: 5")})
		if len(ran.Problems) != 1 || !strings.Contains(ran.Problems[0].Message, "5 pods") {
			t.Errorf("problems: %+v", ran.Problems)
		}
	})
}

// A scenario cannot make the machine call other machines.
func TestExtendersAreNotCalled(t *testing.T) {
	extended := replaceInInput("scenario.yaml", "steps:", `scheduler:
  inline:
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    extenders: [{urlPrefix: "http://127.0.0.1:1/", filterVerb: filter}]
steps:`)
	ran := ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: extended})
	if ran.Report == nil || ran.Report.Steps[0].Summary.Running != 3 {
		t.Fatalf("problems %+v", ran.Problems)
	}
	if notes := strings.Join(ran.Report.Notes, " "); !strings.Contains(notes, "(the playground asks nothing over the network)") || strings.Contains(notes, "--") {
		t.Errorf("notes: %s", notes)
	}
}
