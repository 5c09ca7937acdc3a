package dumptest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app"
	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/internal/dumptest"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/drain"
)

// withoutBudgets has all kinds of a dump except budgets, which block a drain but no failure.
var withoutBudgets = []string{
	"Node", "Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service", "PersistentVolume", "PersistentVolumeClaim", "StorageClass",
	"PriorityClass", "Namespace",
}

// For a node with pods of a StrimziPodSet, a Workflow, Deployments and DaemonSets, drain, blast and run count the same pods as lost, as
// replaced, as Pending and as lost work. As many more pods as capacity finds room for have a node in run, and one more has none. All this
// holds with and without the controllers that kubectl can dump.
func TestQuestionsAgreeOnUnknownOwners(t *testing.T) {
	type counts struct{ Lost, Placed, Pending, Unreplaced, LostWork int }
	want := counts{Lost: 6, Placed: 5, LostWork: 1}
	const node = "ip-10-0-1-16"
	dir := t.TempDir()
	file, scenario := filepath.Join(dir, "dump.json"), filepath.Join(dir, "scenario.yaml")
	fails := "{apiVersion: faultline/v1alpha1, kind: Scenario, cluster: [{files: [dump.json]}], steps: [{name: fails, fail: {names: [" + node + "], mode: deleted}}]}"
	if err := os.WriteFile(scenario, []byte(fails), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, kinds := range map[string][]string{"nodes and pods": {"Node", "Pod"}, "all but budgets": withoutBudgets} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24, Operators: true, Kinds: kinds}), 0o600); err != nil {
				t.Fatal(err)
			}
			var drained drain.Report
			ask(t, &drained, "drain", file, "node/"+node)
			of := drained.Nodes[0]
			got := counts{Lost: len(of.Evicted), Placed: len(of.Placed), LostWork: len(of.LostWork)}
			for _, pod := range of.Pending {
				if !pod.Before {
					got.Pending++
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("drain (-want +got):\n%s", diff)
			}
			var blasted blast.Report
			ask(t, &blasted, "blast", file, "--level", "node", "--mode", "deleted", "--worst", "100")
			level := &blasted.Steps[0].Levels[0]
			i := slices.IndexFunc(level.Failures, func(f askblast.Failure) bool { return f.Domains[0] == node })
			r := level.Recovery(&level.Failures[i])
			got = counts{r.Lost - r.OfDaemonSets, len(r.Recovered), len(r.Stranded), r.CountNotReplaced(), len(r.LostWork)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("blast (-want +got):\n%s", diff)
			}
			var before, after struct {
				Steps []struct {
					Summary struct{ Pods, Pending, Placed int }
				}
			}
			ask(t, &before, "run", file)
			ask(t, &after, "run", scenario)
			was, is := before.Steps[0].Summary, after.Steps[0].Summary
			if is.Placed != want.Placed || is.Pending-was.Pending != want.Pending || was.Pods-is.Pods != want.LostWork+r.OfDaemonSets {
				t.Errorf("run: %+v becomes %+v, and %d pods of DaemonSets are gone", was, is, r.OfDaemonSets)
			}
			var more struct {
				Mixes []struct {
					Workloads []struct {
						Kind, Namespace, Name string
						Now                   int
					}
					Fit struct{ More int }
				}
			}
			ask(t, &more, "capacity", file, "--workload", "strimzipodset/events-kafka", "--workload", "cluster/orders", "--workload", "replicaset/checkout-7d9f8")
			now := map[string]int{}
			for _, mix := range more.Mixes {
				of := mix.Workloads[0]
				now[of.Kind] = of.Now
				scale := func(more int) string {
					return fmt.Sprintf("{name: more-%d, scale: {target: %s/%s, namespace: %s, replicas: %d}}", more, strings.ToLower(of.Kind), of.Name, of.Namespace, of.Now+more)
				}
				scaled := "{apiVersion: faultline/v1alpha1, kind: Scenario, cluster: [{files: [dump.json]}], steps: [" + scale(mix.Fit.More) + ", " + scale(mix.Fit.More+1) + "]}"
				if err := os.WriteFile(filepath.Join(dir, "scaled.yaml"), []byte(scaled), 0o600); err != nil {
					t.Fatal(err)
				}
				ask(t, &after, "run", filepath.Join(dir, "scaled.yaml"))
				fits, oneMore := after.Steps[len(after.Steps)-2].Summary.Pending-was.Pending, after.Steps[len(after.Steps)-1].Summary.Pending-was.Pending
				if fits != 0 || oneMore != 1 {
					t.Errorf("capacity has room for %d more of %s; with these run has %d more Pending pods, and with one more %d", mix.Fit.More, of.Name, fits, oneMore)
				}
			}
			if diff := cmp.Diff(map[string]int{"StrimziPodSet": 3, "Cluster": 3, "ReplicaSet": 4}, now); diff != "" {
				t.Errorf("capacity (-want +got):\n%s", diff)
			}
		})
	}
}

// ask decodes the JSON report of a command.
func ask(t *testing.T, into any, args ...string) {
	t.Helper()
	var out, errors bytes.Buffer
	if code := app.Main(append(args, "-o", "json"), strings.NewReader(""), &out, &errors); code != 0 {
		t.Fatalf("%v: exit status %d\n%s", args, code, errors.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}
