package gate

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

// world has a node of 2 CPUs in each of two zones, a bare pod db-0 in zone a, and a Deployment of two pods of one CPU each, which have
// to be in different zones, and whose quorum is both.
const world = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{name: a}, {name: b}], nodeGroups: [{name: w, count: 1, cpu: 2}]}
- objects:
  - {apiVersion: v1, kind: Pod, metadata: {name: db-0, labels: {app: db}}, spec: {nodeName: a-w-1, containers: [{name: c, image: c}]}}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, annotations: {faultline.dev/quorum: "2"}}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]
          topologySpreadConstraints:
          - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
`

// load writes a scenario file and reads it.
func load(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	file := filepath.Join(t.TempDir(), loader.FileName)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := loader.Load(file, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var hashes = regexp.MustCompile(`web-[0-9a-z]+-[0-9a-z]+`)

// told is what was found of the scenario's expectations in its steps, a line each, without the generated parts of pods' names.
func told(t *testing.T, text string) []string {
	t.Helper()
	result, err := Run(context.Background(), load(t, text), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, step := range result.Steps {
		for _, e := range step.Expectations {
			line := "ok: "
			if !e.Met {
				line = "FAIL: "
			}
			line += e.Want + " | " + e.Got
			if e.Why != "" {
				line += " | " + e.Why
			}
			lines = append(lines, hashes.ReplaceAllString(line, "web-*"))
		}
	}
	return lines
}

// A zone has one pod of web, and zone a has db-0 besides. An unreachable zone still counts as a domain without a pod, so that its
// pod is stranded; a deleted one does not, and the pod finds room in the other.
func TestFailures(t *testing.T) {
	for bounds, want := range map[string][]string{
		"{level: zone, radius: 0.5, lost: 2, stranded: 1, unreplaced: 1}": {
			"ok: the failure of any zone takes at most 50% of any workload | 50%, 1 of 2 of deployment/web, by zone a",
			"ok: the failure of any zone takes at most 2 pods | 2, by zone a",
			"ok: the failure of any zone leaves at most 1 pod stranded | 1, by zone a",
			"ok: the failure of any zone leaves at most 1 pod unreplaced | 1, by zone a",
		},
		"{level: zone, radius: 0.49, lost: 1, stranded: 0, unreplaced: 0}": {
			"FAIL: the failure of any zone takes at most 49% of any workload | 50%, 1 of 2 of deployment/web, by zone a | zone a holds web-*",
			"FAIL: the failure of any zone takes at most 1 pod | 2, by zone a | zone a holds db-0, web-*",
			"FAIL: the failure of any zone leaves no pod stranded | 1, by zone a | after the failure of zone a, Pending web-*: " +
				"0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) had untolerated taint(s). " +
				"preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling",
			"FAIL: the failure of any zone leaves no pod unreplaced | 1, by zone a | after the failure of zone a, no controller makes another of db-0 (pod/db-0)",
		},
		"{level: zone, workload: deployment/web, lost: 1, unreplaced: 0, mode: deleted, stranded: 0}": {
			"ok: the failure of any zone (deleted) takes at most 1 pod of deployment/web | 1, by zone a",
			"ok: the failure of any zone (deleted) leaves no pod of deployment/web stranded | 0",
			"ok: the failure of any zone (deleted) leaves no pod of deployment/web unreplaced | 0",
		},
		"{level: zone, quorumLost: false}": {
			"FAIL: the failure of any zone leaves a quorum | zone a takes 1 of 2 of deployment/web, whose quorum is 2 | zone b takes 1 of 2 of deployment/web, whose quorum is 2"},
		"{level: node, quorumLost: true, workload: default/deployment/web}": {
			"ok: the failure of some node takes the quorum of default/deployment/web | node a-w-1 takes 1 of 2 of deployment/web, whose quorum is 2"},
		"{level: zone, simultaneous: 2, radius: 0.9}": {
			"FAIL: the failure of any 2 domains of level zone together takes at most 90% of any workload | 100%, 2 of 2 of deployment/web, by zone a + b | zone a + b holds web-*, web-*"},
	} {
		got := told(t, world+"expect: {failures: ["+bounds+"]}\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", bounds, diff)
		}
	}
}

// The step's own expectations stand before the scenario's, which hold in both steps, and each has its place.
func TestFindings(t *testing.T) {
	text := world + `steps:
- {name: three, scale: {target: deploy/web, replicas: 5}, expect: {findings: 1}}
expect: {findings: 0}
`
	want := []string{
		"ok: no finding | 0",
		"ok: at most 1 finding | 1",
		"FAIL: no finding | 1 | pods-pending: 1 of 5 pods of deployment/web Pending: 0/2 nodes are available: 2 Insufficient cpu. " +
			"preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod",
	}
	if diff := cmp.Diff(want, told(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A level that a step has taken away is told, and not passed over.
func TestNoSuchFailures(t *testing.T) {
	text := world + `steps:
- {name: gone, fail: {names: [b-w-1], mode: deleted}, expect: {failures: [{level: zone, simultaneous: 2, radius: 1}]}}
`
	want := []string{"FAIL: the failure of any 2 domains of level zone together takes at most 100% of any workload | after this step the level has 1 domain, and 2 cannot fail together"}
	if diff := cmp.Diff(want, told(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGolden(t *testing.T) {
	run := func(text string) *simulation.Result {
		result, err := Run(context.Background(), load(t, text), simulation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	scale := func(name, replicas string) string {
		return world + "steps: [{name: " + name + ", scale: {target: deploy/web, replicas: " + replicas + "}}]\n"
	}
	file := GoldenFile(filepath.Join(t.TempDir(), loader.FileName))
	if none, err := ReadGolden(file); none != nil || err != nil {
		t.Fatalf("%v, %v where there is no file", none, err)
	}
	before := NewGolden(run(scale("one", "1")))
	if err := before.Write(file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadGolden(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read); diff != "" {
		t.Errorf("what is read is not what was written (-want +got):\n%s", diff)
	}
	for text, want := range map[string][]string{
		scale("one", "1"):  {"the same", "the same"},
		scale("one", "5"):  {"the same", "1 Pending (was 0); deployment/web: a-w-1 2 (was 0), b-w-1 2 (was 1)"},
		scale("once", "1"): {"the same", `the file has no such step; the file has a step "one", and the scenario has none`},
	} {
		result := run(text)
		read.Judge(result, file)
		var got []string
		for _, step := range result.Steps {
			e := step.Expectations[len(step.Expectations)-1]
			if e.Met != (e.Got == "the same") || e.Want != "placements as in placements.golden.yaml" {
				t.Errorf("%+v", e)
			}
			got = append(got, e.Got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if err := os.WriteFile(file, []byte("steps: [{nome: x}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadGolden(file); err == nil || !strings.HasSuffix(err.Error(), `unknown field "steps[0].nome"; did you mean "name"? (simulate test --update writes it anew)`) {
		t.Errorf("%v", err)
	}
	if got := GoldenFile("a/zones.yaml"); got != "a/zones.placements.golden.yaml" {
		t.Error(got)
	}
}

// Scenarios of the same gates run together, and the outcomes are in the order of the cases.
func TestTest(t *testing.T) {
	const gate = "scheduler: {featureGates: {InterPodAffinityHostnameFastPath: true}}\n"
	var cases []Case
	for _, text := range []string{world, world + gate, world + "expect: {pending: 0}\n", world + gate + "expect: {pending: 1}\n", world} {
		cases = append(cases, Case{Scenario: load(t, text)})
	}
	if diff := cmp.Diff([][]int{{0, 2, 4}, {1, 3}}, byGates(cases)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	var done []int
	outcomes := Test(context.Background(), cases, func(n int) { done = append(done, n) })
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	var got [][2]int
	for i := range outcomes {
		if outcomes[i].Err != nil || outcomes[i].Result.Scenario != cases[i].Scenario {
			t.Errorf("case %d: %v", i, outcomes[i].Err)
			continue
		}
		all, unmet := outcomes[i].Counts()
		got = append(got, [2]int{all, unmet})
	}
	if diff := cmp.Diff([][2]int{{0, 0}, {0, 0}, {1, 0}, {1, 1}, {0, 0}}, got); diff != "" {
		t.Errorf("expectations (-want +got):\n%s", diff)
	}
	if gates := sched.FeatureGates(); !slices.Equal(gates, []string{"InterPodAffinityHostnameFastPath=true"}) {
		t.Errorf("the last group ran with %v", gates)
	}
}
