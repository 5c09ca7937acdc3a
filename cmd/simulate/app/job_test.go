package app

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"sigs.k8s.io/yaml"
)

// TestJob runs a Job as a cluster would: the ConfigMap is laid out as the kubelet does, upstream's code replaces the shard in the
// arguments, and each pod is a process. All eight write to one folder; two are killed midway and retried. Their merged reports equal those
// of one sweep, byte for byte.
func TestJob(t *testing.T) {
	scenario, dir := filepath.Join(t.TempDir(), "spread"), t.TempDir()
	writeSlowSweep(t, scenario)
	options := []string{"--level=zone", "--ties=random", "--seed=7", "--scheduler-config=" + filepath.Join(scenario, "config", "scheduler.yaml")}
	manifest := simulate(t, dir, append([]string{"sweep", scenario, "--job", "--shards=8", "--results-claim=results"}, options...)...)
	c := newTestCluster(t, dir, manifest)

	cut := map[int]int{2: c.kill(2), 5: c.kill(5)} // finished points by shard
	var running sync.WaitGroup
	said := make([]bytes.Buffer, 8)
	failed := make([]error, 8)
	for shard := range 8 {
		running.Go(func() {
			pod := c.pod(shard)
			pod.Stderr = &said[shard]
			failed[shard] = pod.Run()
		})
	}
	running.Wait()
	for shard := range 8 {
		want := ""
		if n := cut[shard]; n > 0 {
			want = fmt.Sprintf("simulate: %d of 6 points were in %s\n", n, c.results)
		}
		if failed[shard] != nil || said[shard].String() != want {
			t.Errorf("shard %d: %v, and prints %q, want %q", shard, failed[shard], said[shard].String(), want)
		}
	}
	if kept := len(c.points()); kept != 48 {
		t.Errorf("%d points kept, want 48", kept)
	}
	whole := simulate(t, dir, append([]string{"sweep", scenario, "-o", "json"}, options...)...)
	reports, err := filepath.Glob(filepath.Join(c.results, "shard-*.json"))
	if err != nil || len(reports) != 8 {
		t.Fatalf("%d reports, %v; want 8", len(reports), err)
	}
	merged := simulate(t, dir, append([]string{"merge", "-o", "json"}, reports...)...)
	if diff := cmp.Diff(string(whole), string(merged)); diff != "" {
		t.Errorf("the merged report differs from that of one sweep (-one +merged)\n%s", diff)
	}
	lost := exec.Command("simulate", append([]string{"merge"}, append(reports[:3:3], reports[4:]...)...)...)
	out, err := lost.CombinedOutput()
	want := "simulate: error: 6 of 48 points are missing: 18, 19, 20, 21, 22, 23; give the reports of all shards, and run those again that have failed\n"
	if err == nil || string(out) != want {
		t.Errorf("without shard 3: %v, %q, want %q", err, out, want)
	}
}

// writeSlowSweep writes a scenario with 48 points of some hundredths of a second each, so that a shard is usually killed midway: 150 pods
// that keep apart, with six weights and eight sizes. The scenario has no name, and reads a folder, a pattern and its scheduler's
// configuration.
func writeSlowSweep(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"scenario.yaml": `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{count: 3}], nodeGroups: [{name: worker, count: 10, cpu: 16}]}
workloads:
- files: [apps]
steps:
- {name: more, apply: {files: ["more*.yaml"]}}
sweep:
  parameters:
  - {name: weight, values: [1, 5, 10, 20, 50, 100]}
  - {name: replicas, range: {from: 150, to: 157}}
  variant:
    replicas: {deployment/web: $(replicas)}
    patches:
    - target: deployment/web
      type: json
      patch: [{op: replace, path: /spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight, value: $(weight)}]
`,
		"apps/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 1, podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}}
      containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]
`,
		"more-1.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: [{name: c, image: i}]}\n",
		"config/scheduler.yaml": `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {score: {disabled: [{name: ImageLocality}]}}}]
`,
	} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// simulate runs a process that must succeed, and returns its output.
func simulate(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("simulate", args...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("simulate %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// testCluster is a node with the volumes of a Job.
type testCluster struct {
	t         *testing.T
	container v1.Container
	root      string // where the volumes are mounted
	results   string // the folder of the Job
}

func newTestCluster(t *testing.T, root string, manifest []byte) *testCluster {
	t.Helper()
	documents := strings.Split(string(manifest), "---\n")
	var config v1.ConfigMap
	var job batchv1.Job
	for i, obj := range []any{&config, &job} {
		if err := yaml.UnmarshalStrict([]byte(documents[i+1]), obj); err != nil {
			t.Fatal(err)
		}
	}
	c := &testCluster{t: t, root: root, container: job.Spec.Template.Spec.Containers[0]}
	scenario := filepath.Join(root, c.container.VolumeMounts[0].MountPath)
	c.results = filepath.Join(root, c.container.VolumeMounts[1].MountPath, job.Name)
	// The kubelet keeps the files in a folder of its own and links to them from the top through a second link:
	for _, item := range job.Spec.Template.Spec.Volumes[0].ConfigMap.Items {
		writeFile(t, filepath.Join(scenario, "..2026", item.Path), config.Data[item.Key])
	}
	for link, target := range map[string]string{"..data": "..2026", "files": filepath.Join("..data", "files")} {
		if err := os.Symlink(target, filepath.Join(scenario, link)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// pod returns the process of a shard, on one core.
func (c *testCluster) pod(shard int) *exec.Cmd {
	variables := expansion.MappingFuncFor(map[string]string{"JOB_COMPLETION_INDEX": fmt.Sprint(shard)})
	var args []string
	for _, arg := range c.container.Args {
		args = append(args, strings.ReplaceAll(expansion.Expand(arg, variables), "=/results", "="+filepath.Join(c.root, "results")))
	}
	pod := exec.Command("simulate", args...)
	pod.Dir = filepath.Join(c.root, c.container.WorkingDir)
	pod.Env = append(os.Environ(), "GOMAXPROCS=1")
	return pod
}

// kill starts a shard, kills it once one of its six points is finished, and returns how many are. If the shard is faster than that, all but
// three points and the report are deleted, as if it had been killed then.
func (c *testCluster) kill(shard int) int {
	c.t.Helper()
	before := c.points()
	pod := c.pod(shard)
	if err := pod.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = pod.Wait() // its points show how far it came
		close(ended)
	}()
	for running := true; running && len(c.points()) == len(before); {
		select {
		case <-ended:
			running = false
		case <-time.After(time.Millisecond):
		}
	}
	_ = pod.Process.Kill() // the process may have ended
	<-ended
	finished := slices.DeleteFunc(c.points(), func(file string) bool { return slices.Contains(before, file) })
	if len(finished) == 0 {
		c.t.Fatalf("shard %d ended before a point was finished", shard)
	}
	kept := min(len(finished), 3)
	for _, file := range append(finished[kept:], filepath.Join(c.results, fmt.Sprintf("shard-%d.json", shard))) {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			c.t.Fatal(err)
		}
	}
	return kept
}

// points returns the files of the finished points. Each must always be complete.
func (c *testCluster) points() []string {
	files, err := filepath.Glob(filepath.Join(c.results, strings.Repeat("[0-9a-f]", 64)+".json"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.HasSuffix(data, []byte("}\n")) {
			c.t.Fatalf("%s: %v, %q", file, err, data)
		}
	}
	return files
}
