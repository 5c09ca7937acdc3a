package loader

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/internal/golden"
	"github.com/faultline/faultline/pkg/scenario"
)

// Each file of testdata/err is wrong; the file beside it has the errors.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/err/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s, err := Load(file, Options{})
			if err == nil {
				t.Fatalf("%s is loaded: %+v", file, s)
			}
			golden.Compare(t, file+".txt", err.Error()+"\n")
		})
	}
}

// Each file of testdata/ok is loaded, and the process then has the feature gates that it had before.
func TestLoads(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if _, err := Load(file, Options{}); err != nil {
			t.Errorf("%v", err)
		}
		if gates := sched.FeatureGates(); len(gates) > 0 {
			t.Errorf("%s: the process has the feature gates %q once it is loaded", file, gates)
		}
	}
}

// summary has the parts of a scenario that a test can compare at a glance.
type summary struct {
	Name, Description, FeatureGates    string
	Ties                               sched.Ties
	Schedulers                         []string
	Cluster, Workloads, Steps, Objects int
}

func summarize(s *scenario.Scenario) summary {
	sum := summary{
		Name: s.Name, Description: s.Description, FeatureGates: s.Config.Release().FeatureGates, Ties: s.Ties, Schedulers: s.Config.SchedulerNames(),
		Cluster: len(s.Cluster), Workloads: len(s.Workloads), Steps: len(s.Steps),
	}
	for _, step := range s.Steps {
		sum.Objects += len(step.Objects)
	}
	return sum
}

func TestLoad(t *testing.T) {
	defaults := []string{"default-scheduler"}
	for path, want := range map[string]summary{
		"testdata/ok/least.yaml":            {Name: "least", Ties: sched.Ties{Seed: 1}, Schedulers: defaults, Cluster: 2, Workloads: 1},
		"testdata/ok/head.yaml":             {Name: "a-name", Description: "Two lines\nof text.", Ties: sched.Ties{Random: true, Seed: 7}, Schedulers: defaults, Cluster: 2, Workloads: 1},
		"testdata/ok/scheduler-inline.yaml": {Name: "scheduler-inline", Ties: sched.Ties{Seed: 1}, Schedulers: []string{"default-scheduler", "packed"}, Cluster: 2, Workloads: 1},
		"testdata/ok/feature-gates.yaml": {
			Name: "feature-gates", FeatureGates: "GenericWorkload=true,HPAScaleToZero=false", Ties: sched.Ties{Seed: 1},
			Schedulers: defaults, Cluster: 2, Workloads: 1,
		},
		"../../scenarios/kind-walkthrough": {Name: "kind-walkthrough", Ties: sched.Ties{Seed: 1}, Schedulers: defaults, Cluster: 4, Steps: 8, Objects: 8,
			Description: "Inter-pod anti-affinity on a kind cluster of three workers, from hard rules to weighted soft ones."},
	} {
		s, err := Load(path, Options{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if diff := cmp.Diff(want, summarize(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestLoadFindsNothing(t *testing.T) {
	for path, want := range map[string]string{
		"testdata/none.yaml": "testdata/none.yaml: no such file or folder; give a scenario file, or a folder that holds a scenario.yaml",
		"testdata/ok":        "testdata/ok: there is no scenario.yaml in this folder; give a scenario file, or a folder that holds one",
	} {
		if _, err := Load(path, Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// The API server's code reads objects with the scenario's feature gates.
func TestFeatureGatesHoldWhileReading(t *testing.T) {
	s, err := Load("testdata/ok/feature-gates.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if pod := s.Workloads[0].(*v1.Pod); pod.Spec.SchedulingGroup == nil {
		t.Error("schedulingGroup was dropped")
	}
}

// The settings of a command line for the scheduler are part of the scenario, and are checked with it.
func TestOptions(t *testing.T) {
	const mine = "testdata/files/scheduler-mine.yaml"
	pod := func(load func(Options) (*scenario.Scenario, error), opts Options) string {
		s, err := load(opts)
		if err != nil {
			return err.Error()
		}
		return strings.Join(s.Config.SchedulerNames(), " ") + " " + s.Config.Release().FeatureGates
	}
	file := func(opts Options) (*scenario.Scenario, error) { return Load("testdata/ok/feature-gates.yaml", opts) }
	inline := func(opts Options) (*scenario.Scenario, error) { return Load("testdata/ok/scheduler-inline.yaml", opts) }
	walkthrough := func(opts Options) (*scenario.Scenario, error) {
		return Load("../../scenarios/kind-walkthrough", opts)
	}
	flags := func(opts Options) (*scenario.Scenario, error) {
		return FromFiles(nil, []string{"testdata/files/nodes.yaml"}, []string{"testdata/files/web.yaml"}, opts)
	}
	for name, c := range map[string]struct {
		load func(Options) (*scenario.Scenario, error)
		opts Options
		want string
	}{
		"none":                  {file, Options{}, "default-scheduler GenericWorkload=true,HPAScaleToZero=false"},
		"gates in addition":     {file, Options{FeatureGates: "HPAScaleToZero=true"}, "default-scheduler GenericWorkload=true,HPAScaleToZero=false,HPAScaleToZero=true"},
		"gates of files":        {flags, Options{FeatureGates: "HPAScaleToZero=false"}, "default-scheduler HPAScaleToZero=false"},
		"gates that are wrong":  {file, Options{FeatureGates: "HPAScaleToZeros=true"}, `command line: --feature-gates: kube-scheduler v1.37.1 has no feature gate "HPAScaleToZeros"; did you mean "HPAScaleToZero"?`},
		"no such configuration": {file, Options{SchedulerConfig: "none.yaml"}, "command line: --scheduler-config: none.yaml: no such file or directory"},
		"in place of inline": {inline, Options{SchedulerConfig: mine},
			"mine "},
		"several objects alike": {walkthrough, Options{SchedulerConfig: mine},
			`../../scenarios/kind-walkthrough/scenario.yaml: Deployment default/lorem-ipsum-deployment: spec.template.spec.schedulerName: the scheduler has no profile "default-scheduler"; there is mine`},
		"without the profile": {flags, Options{SchedulerConfig: mine},
			`command line: Deployment default/web: spec.template.spec.schedulerName: the scheduler has no profile "default-scheduler"; there is mine`},
	} {
		if got := pod(c.load, c.opts); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	if got := pod(file, Options{}); !strings.HasSuffix(got, " GenericWorkload=true,HPAScaleToZero=false") {
		t.Errorf("loaded once more: %s", got)
	}
}

func TestFromFiles(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: [{name: one, image: registry.example.com/one:1}]}\n"
	for name, c := range map[string]struct {
		stdin          string
		cluster, files []string
		config         string
		want           summary
		problem        string
	}{
		"nodes apart":        {cluster: []string{"testdata/files/nodes.yaml"}, files: []string{"testdata/files/web.yaml"}, want: summary{Cluster: 2, Steps: 1, Objects: 1}},
		"nodes among others": {files: []string{"testdata/files/nodes.yaml", "testdata/files/web.yaml"}, want: summary{Cluster: 2, Steps: 1, Objects: 1}},
		"standard input":     {stdin: pod, cluster: []string{"testdata/files/nodes.yaml"}, files: []string{"-"}, want: summary{Cluster: 2, Steps: 1, Objects: 1}},
		"no nodes": {files: []string{"testdata/files/web.yaml"},
			problem: "command line: there are no nodes, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump (--cluster or -f)"},
		"no workload": {cluster: []string{"testdata/files/nodes.yaml"},
			problem: "command line: there is no workload, so there is nothing to place; give a Pod, a Deployment or another controller of pods"},
		"no such file": {cluster: []string{"none.yaml"}, files: []string{"testdata/files/web.yaml"}, config: "sched.yaml",
			problem: "command line: --cluster[0]: there is no file or folder none.yaml\ncommand line: --scheduler-config: sched.yaml: no such file or directory"},
		"a class that is missing": {cluster: []string{"testdata/files/nodes.yaml"}, files: []string{"testdata/files/urgent.yaml"}, want: summary{Cluster: 2, Steps: 1, Objects: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromFiles(strings.NewReader(c.stdin), c.cluster, c.files, Options{SchedulerConfig: c.config})
			if c.problem != "" {
				if err == nil || err.Error() != c.problem {
					t.Errorf("got  %v\nwant %s", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.want.Name, c.want.Ties, c.want.Schedulers = "command line", sched.Ties{Seed: 1}, []string{"default-scheduler"}
			if diff := cmp.Diff(c.want, summarize(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTarget(t *testing.T) {
	for target, want := range map[string]string{
		"deployment/web": "Deployment web", "Deploy/web": "Deployment web", "sts/db": "StatefulSet db", "no/worker-1": "Node worker-1",
		"web": "", "deployment/": "", "pod/a/b": "Pod a/b", "pod/a/": "", "pod//b": "", "deployment/a/b/c": "", "configmap/a": "", "": "",
	} {
		kind, name, err := scenario.ParseTarget(target)
		if got := strings.TrimSpace(kind + " " + name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", target, got, err, want)
		}
	}
}
