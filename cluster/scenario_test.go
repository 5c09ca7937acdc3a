package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// differs has scenarios that kubectl's commands do not repeat, and why.
var differs = map[string]string{
	"scenarios/lessons/8-zonal-volumes": "kubectl creates one StatefulSet after the other, so that chance among equal nodes falls otherwise",
	"scenarios/lessons/9-policies":      "an API server follows a policy a moment after it was created, and the change that it refuses comes at once",
}

// A scenario and the same commands of kubectl end in the same state, after each step.
func TestIsTheScenario(t *testing.T) {
	var files []string
	for _, pattern := range []string{"scenarios/*/scenario.yaml", "scenarios/lessons/*/scenario.yaml", "scenarios/operations/*/scenario.yaml", "scenarios/pending/*/scenario.yaml"} {
		found, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	tried := 0
	for _, file := range files {
		s, err := loader.Load(file, loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Federated() || len(s.Steps) == 0 || s.Autoscaler != nil || len(s.Deciders) > 0 || len(s.Nodes()) > 100 {
			continue
		}
		folder, err := filepath.Rel(repo, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		if differs[folder] != "" {
			continue
		}
		lines := make([][][]string, len(s.Steps))
		for i := range s.Steps {
			if lines[i], err = commandLines(t, s, i, folder); err != nil {
				break
			}
		}
		if err != nil {
			continue
		}
		tried++
		t.Run(folder, func(t *testing.T) { compareSteps(t, s, folder, lines) })
	}
	if tried < 20 {
		t.Errorf("%d scenarios are made of steps that kubectl can do; there were more", tried)
	}
}

// compareSteps compares the states after each step, one in a run, the other in a cluster after the step's command lines.
func compareSteps(t *testing.T, s *scenario.Scenario, folder string, lines [][][]string) {
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, steps := start(t, folder), result.Steps
	steps = steps[len(steps)-len(lines):] // without the one that creates the workloads
	for i, step := range steps {
		var said string
		for _, words := range lines[i] {
			said += c.runWords(t, words...)
		}
		got := decodeAll(t, c.run(t, "kubectl get pods,deployments,statefulsets,daemonsets,jobs,nodes,persistentvolumeclaims,poddisruptionbudgets -A -o json"))
		if diff := gocmp.Diff(describeAll(step.State.Objects()), describeAll(got)); diff != "" {
			t.Fatalf("%s: %q (-scenario +kubectl):\n%s%s", step.Name, lines[i], diff, said)
		}
	}
}

// decodeAll returns the objects of a list.
func decodeAll(t *testing.T, list string) (all []cluster.Object) {
	t.Helper()
	var items v1.List
	if err := json.Unmarshal([]byte(list), &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items.Items {
		obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), item.Raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, obj.(cluster.Object))
	}
	return all
}

// errNoCommand says that neither kubectl nor simulate can do a step.
var errNoCommand = errors.New("no command does this step")

// commandLines returns the commands that do what a step of the scenario in the folder does.
func commandLines(t *testing.T, s *scenario.Scenario, i int, folder string) (lines [][]string, err error) {
	step := &s.Steps[i]
	if slices.ContainsFunc(step.Objects, func(obj cluster.Object) bool { return cluster.KindOf(obj) == "PodGroup" }) {
		return nil, errNoCommand // the API server lacks the kind
	}
	run := func(line string, more ...string) { lines = append(lines, append(strings.Fields(line), more...)) }
	if step.Fresh {
		for _, obj := range slices.Concat(append(objectsOf(s.Steps[:i]), s.Workloads)...) {
			run(fmt.Sprintf("kubectl delete --ignore-not-found -n %s %s/%s", cmp.Or(obj.GetNamespace(), "default"), cluster.KindOf(obj), obj.GetName()))
		}
	}
	switch {
	case step.Apply != nil:
		run("kubectl apply", applyFiles(t, step.Apply, folder)...)
	case step.Patch != nil:
		run("kubectl patch "+step.Patch.Argument()+" --type "+cmp.Or(step.Patch.Type, "strategic")+" -p", string(step.Patch.Patch.Raw))
	case step.Scale != nil:
		run(fmt.Sprintf("kubectl scale %s --replicas=%d", step.Scale.Argument(), step.Scale.Replicas))
	case step.Rollout != nil && step.Rollout.Restart:
		run("kubectl rollout restart " + step.Rollout.Argument())
	case step.Rollout != nil:
		for container, image := range step.Rollout.Images {
			run("kubectl set image " + step.Rollout.Argument() + " " + container + "=" + image)
		}
	case step.Fail != nil:
		run("simulate fail --mode "+cmp.Or(step.Fail.Mode, "unreachable"), nodeNames(s, step.Fail.Nodes)...)
	case step.Restore != nil && step.Restore.Together:
		run("simulate restore", nodeNames(s, step.Restore.Nodes)...)
	case step.Restore != nil:
		for _, name := range nodeNames(s, step.Restore.Nodes) {
			run("simulate restore " + name)
		}
	case step.Cordon != nil:
		run("kubectl cordon", nodeNames(s, step.Cordon.Nodes)...)
	case step.Uncordon != nil:
		run("kubectl uncordon", nodeNames(s, step.Uncordon.Nodes)...)
	case step.Drain != nil && !step.Drain.Together:
		timeout := "20s" // of the clock; kubectl waits for ever for a pod that a budget keeps
		if step.Drain.Timeout != "" {
			timeout = "1s"
		}
		flags := fmt.Sprintf("--ignore-daemonsets --delete-emptydir-data=%t --force=%t --timeout=%s", step.Drain.DeleteEmptyDirData, step.Drain.Force, timeout)
		run("kubectl drain "+flags, nodeNames(s, step.Drain.Nodes)...)
	case step.Delete != nil && len(step.Delete.Targets) > 0 && step.Delete.Pods == nil && len(step.Delete.Files) == 0 && !step.Delete.Together:
		run("kubectl delete -n "+cmp.Or(step.Delete.Namespace, "default"), step.Delete.Targets...)
	case step.AddNodes != nil || step.RemoveNodes != nil || step.ScaleBy != nil || step.Trigger != nil:
		body, err := json.Marshal(step.Step)
		run("kubectl create --raw "+inmemory.APIPath+"steps -f", writeFile(t, body))
		return lines, err
	case len(step.Actions()) > 0:
		return nil, errNoCommand
	}
	return lines, nil
}

// objectsOf returns the objects that the steps apply.
func objectsOf(steps []scenario.LoadedStep) (all [][]cluster.Object) {
	for i := range steps {
		if steps[i].Apply != nil {
			all = append(all, steps[i].Objects)
		}
	}
	return all
}

// applyFiles returns the arguments with which kubectl apply applies a source of the scenario in the folder.
func applyFiles(t *testing.T, source *scenario.Source, folder string) (args []string) {
	for _, file := range source.Files {
		args = append(args, "-f", filepath.Join(folder, file))
	}
	for _, obj := range source.Objects {
		args = append(args, "-f", writeFile(t, obj.Raw))
	}
	return args
}

// writeFile returns the path of a new file with the data.
func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// nodeNames returns the names of the scenario's nodes that are selected, or else those that are named.
func nodeNames(s *scenario.Scenario, nodes scenario.Nodes) (names []string) {
	for _, node := range nodes.Select(s.Nodes()) {
		names = append(names, node.Name)
	}
	for _, name := range nodes.Names { // of nodes that a step has added
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// describeAll says of each object what a user sees of it, sorted. Names of pods are chance in both, unless a StatefulSet gives them.
func describeAll(objects []cluster.Object) []string {
	var all []string
	for _, obj := range objects {
		if obj.GetDeletionTimestamp() != nil || obj.GetNamespace() == "kube-system" {
			continue
		}
		name := cluster.KindOf(obj) + " " + obj.GetNamespace() + "/" + obj.GetName()
		switch o := obj.(type) {
		case *v1.Pod:
			if o.GenerateName != "" { // without the hash of the template, in which a restart writes the time
				name = "Pod " + o.Namespace + "/" + strings.TrimSuffix(o.GenerateName, o.Labels[appsv1.DefaultDeploymentUniqueLabelKey]+"-")
			}
			all = append(all, fmt.Sprintf("%s: %s on %q, ready: %t", name, o.Status.Phase, o.Spec.NodeName, podutil.IsPodReady(o)))
		case *appsv1.Deployment:
			all = append(all, fmt.Sprintf("%s: %d updated, %d ready", name, o.Status.UpdatedReplicas, o.Status.ReadyReplicas))
		case *appsv1.StatefulSet:
			all = append(all, fmt.Sprintf("%s: %d updated, %d ready", name, o.Status.UpdatedReplicas, o.Status.ReadyReplicas))
		case *appsv1.DaemonSet:
			all = append(all, fmt.Sprintf("%s: %d desired, %d ready", name, o.Status.DesiredNumberScheduled, o.Status.NumberReady))
		case *batchv1.Job:
			all = append(all, fmt.Sprintf("%s: %d active, %d succeeded", name, o.Status.Active, o.Status.Succeeded))
		case *v1.Node:
			all = append(all, fmt.Sprintf("%s: unschedulable: %t, taints: %v", name, o.Spec.Unschedulable, taintKeys(o)))
		case *v1.PersistentVolumeClaim:
			all = append(all, fmt.Sprintf("%s: %s", name, o.Status.Phase))
		case *policyv1.PodDisruptionBudget:
			all = append(all, fmt.Sprintf("%s: %d healthy, %d allowed", name, o.Status.CurrentHealthy, o.Status.DisruptionsAllowed))
		}
	}
	slices.Sort(all)
	return all
}

func taintKeys(node *v1.Node) (keys []string) {
	for _, taint := range node.Spec.Taints {
		keys = append(keys, taint.Key+":"+string(taint.Effect))
	}
	slices.Sort(keys)
	return keys
}
