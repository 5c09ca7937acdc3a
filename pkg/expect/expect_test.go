package expect

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// zonedCluster has a node of 2 CPUs in each of two zones, a bare pod db-0 in zone a, and a Deployment of two pods of one CPU each, which
// must be in different zones, and whose quorum is both pods.
const zonedCluster = `apiVersion: faultline/v1alpha1
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

// run writes a scenario file and runs it.
func run(t *testing.T, text string) *simulation.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), loader.FileName)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := loader.Load(file, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var hashes = regexp.MustCompile(`web-[0-9a-z]+-[0-9a-z]+`)

// judgeLines returns the judged expectations of the scenario's steps, a line each, without the generated parts of pods' names.
func judgeLines(t *testing.T, text string) []string {
	t.Helper()
	result := run(t, text)
	steps, err := Judge(t.Context(), result, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, step := range steps {
		for _, e := range step {
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

// Each zone has one pod of web, and zone a also has db-0. An unreachable zone still counts as a domain without a pod, so its pod is
// stranded. A deleted zone does not count, and the pod finds room in the other zone.
func TestJudgeFailures(t *testing.T) {
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
			"FAIL: the failure of any zone leaves no pod stranded | 1, by zone a; 1, by zone b | after the failure of zone a, Pending web-*: " +
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
		// db has one replica, which no placement can keep.
		"{level: zone, minReplicas: 2, radius: 0.5, lost: 1, quorumLost: true}": {
			"ok: the failure of any zone takes at most 50% of any workload of 2 or more replicas | 50%, 1 of 2 of deployment/web, by zone a",
			"ok: the failure of any zone takes at most 1 pod of any workload of 2 or more replicas | 1, by zone a",
			"ok: the failure of some zone takes the quorum of any workload of 2 or more replicas | zone a takes 1 of 2 of deployment/web, whose quorum is 2",
		},
		"{level: node, kind: deploy, radius: 0, lost: 0, unreplaced: 0}": {
			"FAIL: the failure of any node takes at most 0% of any deploy | 50%, 1 of 2 of deployment/web, by node a-w-1 | node a-w-1 holds web-*",
			"FAIL: the failure of any node takes no pod of any deploy | 1, by node a-w-1; 1, by node b-w-1 | node a-w-1 holds web-*",
			"ok: the failure of any node leaves no pod of any deploy unreplaced | 0",
		},
		"{level: zone, kind: Deployment, minReplicas: 3, radius: 1}": {
			"FAIL: the failure of any zone takes at most 100% of any Deployment of 3 or more replicas | after this step there is not any Deployment of 3 or more replicas"},
		"{level: zone, kind: Redis, lost: 1}": {
			"FAIL: the failure of any zone takes at most 1 pod of any Redis | after this step there is not any Redis"},
		"{level: zone, simultaneous: 2, radius: 0.9}": {
			"FAIL: the failure of any 2 domains of level zone together takes at most 90% of any workload | 100%, 2 of 2 of deployment/web, by zone a + b | zone a + b holds web-*, web-*"},
	} {
		got := judgeLines(t, zonedCluster+"expect: {failures: ["+bounds+"]}\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", bounds, diff)
		}
	}
}

// Without a workload, the bound ignores pods of a DaemonSet that stay on their lost node. It counts db-0, which nobody creates again.
func TestJudgeUnreplacedWithoutDaemonSets(t *testing.T) {
	agent := `
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: agent}
    spec:
      selector: {matchLabels: {app: agent}}
      template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: c}]}}`
	text := strings.Replace(zonedCluster, "workloads:\n- objects:", "workloads:\n- objects:"+agent, 1)
	want := []string{
		"ok: the failure of any zone takes at most 3 pods | 3, by zone a",
		"ok: the failure of any zone leaves at most 1 pod unreplaced | 1, by zone a",
	}
	if diff := cmp.Diff(want, judgeLines(t, text+"expect: {failures: [{level: zone, lost: 3, unreplaced: 1}]}\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each step has a list of its own: first the step's expectations, then the scenario's, each with its place, and after these the
// expectations that need simulated failures.
func TestJudge(t *testing.T) {
	places := func(file string) scenario.ExpectLines {
		return scenario.ExpectLines{File: file, Lines: map[string]int{
			manifest.LinePath("pending"): 1, manifest.LinePath("pendingAtMost"): 2, manifest.LinePath("findings"): 3,
		}}
	}
	own := scenario.LoadedStep{Step: scenario.Step{Name: "own", Expect: &scenario.Expect{Findings: ptr.To(0), Pending: ptr.To(2)}}, Expects: places("own")}
	s := &scenario.Scenario{Steps: []scenario.LoadedStep{{}, own, {}}, Expect: &scenario.Expect{PendingAtMost: ptr.To(2)}, Expects: places("every")}
	result := &simulation.Result{Scenario: s, Steps: []simulation.Step{*stepInThreeZones(), *stepInThreeZones()}} // the third was not reached
	got, err := Judge(t.Context(), result, nil)
	if err != nil {
		t.Fatal(err)
	}
	every := Judged{Want: "at most 2 pods Pending", Got: "2", Met: true, Source: &manifest.Place{File: "every", Line: 2}}
	want := [][]Judged{{every}, {
		{Want: "2 pods Pending", Got: "2", Met: true, Source: &manifest.Place{File: "own", Line: 1}},
		every,
		{Want: "no finding", Got: "5", Source: &manifest.Place{File: "own", Line: 3}},
	}}
	if got[1][2].Why == "" {
		t.Error("no word on the findings")
	}
	got[1][2].Why = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The step's own expectations come before the scenario's, which apply to both steps, and each has its place.
func TestJudgeFindings(t *testing.T) {
	text := zonedCluster + `steps:
- {name: three, scale: {target: deploy/web, replicas: 5}, expect: {findings: 1}}
expect: {findings: 0}
`
	want := []string{
		"ok: no finding | 0",
		"ok: at most 1 finding | 1",
		"FAIL: no finding | 1 | pods-pending: 1 of 5 pods of deployment/web Pending: 0/2 nodes are available: 2 Insufficient cpu. " +
			"preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod",
	}
	if diff := cmp.Diff(want, judgeLines(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A level that a step has removed is reported.
func TestJudgeNoSuchFailures(t *testing.T) {
	text := zonedCluster + `steps:
- {name: gone, fail: {names: [b-w-1], mode: deleted}, expect: {failures: [{level: zone, simultaneous: 2, radius: 1}]}}
`
	want := []string{"FAIL: the failure of any 2 domains of level zone together takes at most 100% of any workload | after this step the level has 1 domain, and 2 cannot fail together"}
	if diff := cmp.Diff(want, judgeLines(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
