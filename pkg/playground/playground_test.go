package playground_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario/loader"
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

// scenario is three nodes in two zones, and three pods that must be on different nodes.
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

// with is the input with one text in place of another.
func with(file, old, new string) playground.Input {
	files := map[string]string{}
	for name, text := range input.Files {
		files[name] = text
	}
	files[file] = strings.Replace(files[file], old, new, 1)
	return playground.Input{Main: input.Main, Files: files}
}

func TestRun(t *testing.T) {
	ran := ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: input, Record: true})
	step := ran.Report.Steps[0]
	if step.Summary.Running != 3 || step.Summary.Pending != 1 {
		t.Errorf("%d running, %d Pending; want 3 and 1", step.Summary.Running, step.Summary.Pending)
	}
	for _, pod := range step.Pods {
		switch {
		case pod.Cycle == nil:
			t.Errorf("%s has no cycle", pod.Name)
		case pod.Node == "" && !strings.Contains(pod.Message, "3 node(s) didn't match pod anti-affinity rules"):
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
		{"unknown field", with("scenario.yaml", "cpu:", "cpus:"), []playground.Problem{
			{"scenario.yaml", 6, `unknown field "cluster[0].synthetic.nodeGroups[0].cpus"; did you mean "cpu"?`},
		}},
		{"an object of the second document", with("web.yaml", "replicas: 4", "replicas: -4"), []playground.Problem{
			{"web.yaml", 11, `document 2: Deployment default/web: spec.replicas: Invalid value: -4: must be greater than or equal to 0`},
		}},
		{"no file", with("scenario.yaml", "web.yaml", "wob.yaml"), []playground.Problem{
			{"scenario.yaml", 9, `steps[0].apply.files[0]: there is no file or folder wob.yaml; paths are relative to the folder of the scenario`},
		}},
		{"no YAML", with("scenario.yaml", "steps:", "steps: ["), []playground.Problem{
			{"scenario.yaml", 7, `line 7: not valid YAML: did not find expected node content`},
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

// Two nodes are in zone a, one in b; none has room for another pod that must be alone.
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

// The report is that of simulate run -o json, to the byte but for the space between values: also where a list has no entries.
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

func TestRefusals(t *testing.T) {
	limited := playground.New("test")
	limited.Limits = playground.Limits{Bytes: 4000, Nodes: 3, Pods: 4}
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
		{"bytes", limited, context.Background(), "run", playground.RunRequest{Input: with("web.yaml", "image: web", "image: "+strings.Repeat("x", 4000))},
			playground.Error{"limit", "the files have 4809 bytes, and the page takes 4000; use the command line"}},
		{"nodes", limited, context.Background(), "run", playground.RunRequest{Input: with("scenario.yaml", "total: 3", "total: 4")},
			playground.Error{"limit", "the scenario has 4 nodes, and the page takes 3; use the command line"}},
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
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, *failure.Error); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("pods", func(t *testing.T) {
		ran := ask[playground.RunResponse](t, limited, "run", playground.RunRequest{Input: with("web.yaml", "replicas: 4", "replicas: 5")})
		if len(ran.Problems) != 1 || !strings.Contains(ran.Problems[0].Message, "5 pods") {
			t.Errorf("problems: %+v", ran.Problems)
		}
	})
}

// A scenario cannot have the machine call others.
func TestExtendersAreNotCalled(t *testing.T) {
	extended := with("scenario.yaml", "steps:", `scheduler:
  inline:
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    extenders: [{urlPrefix: "http://127.0.0.1:1/", filterVerb: filter}]
steps:`)
	ran := ask[playground.RunResponse](t, playground.New("test"), "run", playground.RunRequest{Input: extended})
	if ran.Report == nil || ran.Report.Steps[0].Summary.Running != 3 {
		t.Errorf("problems %+v", ran.Problems)
	}
}
