package scenario

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/sched"
)

// Each file of testdata/err is wrong, and what is said of it stands beside it.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/err/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	gates := sched.FeatureGates()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s, err := Load(file)
			if err == nil {
				t.Fatalf("%s is loaded: %+v", file, s)
			}
			golden(t, file+".txt", []byte(err.Error()+"\n"))
			if diff := cmp.Diff(gates, sched.FeatureGates(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("feature gates are left changed (-before +after):\n%s", diff)
			}
		})
	}
}

// Each file of testdata/ok is loaded, and leaves the process as it was.
func TestLoads(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	gates := sched.FeatureGates()
	for _, file := range files {
		if _, err := Load(file); err != nil {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff(gates, sched.FeatureGates(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: feature gates are left changed (-before +after):\n%s", file, diff)
		}
	}
}

// summary is what of a scenario can be compared at a glance.
type summary struct {
	Name, Description, FeatureGates    string
	Ties                               sched.Ties
	Schedulers                         []string
	Cluster, Workloads, Steps, Objects int
}

func summarize(s *Scenario) summary {
	sum := summary{
		Name: s.Name, Description: s.Description, FeatureGates: s.FeatureGates, Ties: s.Ties, Schedulers: s.Config.SchedulerNames(),
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
		s, err := Load(path)
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
		if _, err := Load(path); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Objects are read as the API server reads them with the scenario's feature gates.
func TestFeatureGatesHoldWhileReading(t *testing.T) {
	s, err := Load("testdata/ok/feature-gates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if pod := s.Workloads[0].(*v1.Pod); pod.Spec.SchedulingGroup == nil {
		t.Error("schedulingGroup was dropped")
	}
}

// Gates that were set before a scenario is read are set after it, too, whatever the scenario says of them.
func TestFeatureGatesComeBack(t *testing.T) {
	before := sched.FeatureGates()
	l := &loader{}
	restore := l.switchFeatureGates(map[string]bool{"AllAlpha": true, "AllBeta": true, "HPAScaleToZero": true})
	outer := sched.FeatureGates()
	if len(l.problems) > 0 || len(outer) < 10 {
		t.Fatalf("gates %q, problems %v", outer, l.problems)
	}
	if _, err := Load("testdata/ok/feature-gates.yaml"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(outer, sched.FeatureGates()); diff != "" {
		t.Errorf("after Load (-want +got):\n%s", diff)
	}
	restore()
	if diff := cmp.Diff(before, sched.FeatureGates(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
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
			problem: "command line: there is no workload, so nothing is to be placed; give a Pod, a Deployment or another controller of pods"},
		"no such file": {cluster: []string{"none.yaml"}, files: []string{"testdata/files/web.yaml"}, config: "sched.yaml",
			problem: "command line: --cluster[0]: there is no file or folder none.yaml\ncommand line: --scheduler-config: there is no file or folder sched.yaml"},
		"refused": {cluster: []string{"testdata/files/nodes.yaml"}, files: []string{"testdata/files/urgent.yaml"},
			problem: `command line: apply: deployment default/urgent: spec.template.spec: pods "urgent-" is forbidden: no PriorityClass with name high was found`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromFiles(strings.NewReader(c.stdin), c.cluster, c.files, c.config)
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
		"web": "", "deployment/": "", "deployment/a/b": "", "configmap/a": "", "": "",
	} {
		kind, name, err := ParseTarget(target)
		if got := strings.TrimSpace(kind + " " + name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", target, got, err, want)
		}
	}
}
