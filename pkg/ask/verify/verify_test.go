package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// dump writes the state as kubectl get -o json does, and reads it as simulate verify does.
func dump(t testing.TB, state *cluster.State) *scenario.Scenario {
	t.Helper()
	var items []json.RawMessage
	for _, obj := range state.Objects() {
		obj = obj.DeepCopyObject().(cluster.Object)
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			t.Fatal(err)
		}
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, data)
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return readDump(t, string(data))
}

func readDump(t testing.TB, data string) *scenario.Scenario {
	t.Helper()
	s, err := loader.FromFiles(strings.NewReader(data), []string{"-"}, nil, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func verified(t testing.TB, s *scenario.Scenario) *Result {
	t.Helper()
	result, err := Run(context.Background(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// scheduled returns the state with its bound pods' times a second apart, in the given order, and with the messages of its Pending pods.
// Pods that are not in the order are unchanged.
func scheduled(state *cluster.State, order []types.UID, pending map[types.UID]string) *cluster.State {
	var changed []cluster.Object
	for _, pod := range state.Pods {
		pod = pod.DeepCopy()
		if at := slices.Index(order, pod.UID); at >= 0 {
			setTimes(pod, cluster.Epoch.Add(time.Duration(at)*time.Second))
		}
		if message, is := pending[pod.UID]; is {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message}}
		}
		changed = append(changed, pod)
	}
	return state.With(changed...)
}

func setTimes(pod *v1.Pod, at time.Time) {
	now := metav1.NewTime(at)
	pod.Status.StartTime = &now
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = now
	}
}

// verdictLines lists every divergence, and every Pending pod that is not Pending for the same reason.
func verdictLines(r *Result) []string {
	var all []string
	for _, p := range r.Placements {
		if d := p.Divergence; d != nil {
			all = append(all, fmt.Sprintf("%s on %s, best %s, rank %d, behind %d: %s", p.Pod.Name, p.Pod.Spec.NodeName, d.Best, d.Rank, d.Behind, d.Class))
		}
	}
	for _, p := range r.Pending {
		if p.Node != "" || p.Recorded != p.Message {
			all = append(all, fmt.Sprintf("%s would go to %q; message %q, recorded %q", p.Name, p.Node, p.Message, p.Recorded))
		}
	}
	return all
}

const groundtruth = "../../simulation/testdata/groundtruth"

// recordedStep is a step of a case, as recorded on a real control plane v1.37.1.
type recordedStep struct {
	Name   string
	Fresh  bool
	File   string
	Do     []any
	Expect struct {
		Placements, PlacementsWithRandomTies []struct{ Nodes map[string]int }
		Messages                             []string
	}
}

func recordedCase(t *testing.T, name string) (steps []recordedStep, run *simulation.Result) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(groundtruth, name, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Steps []recordedStep }
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	file := &scenario.File{Cluster: []scenario.Source{{Files: []string{filepath.Join(groundtruth, name, "nodes.yaml")}}}}
	for _, step := range c.Steps {
		file.Steps = append(file.Steps, scenario.Step{
			Name: step.Name, Fresh: step.Fresh, Apply: &scenario.Source{Files: []string{filepath.Join(groundtruth, name, step.File)}},
		})
	}
	return c.Steps, runFile(t, file)
}

func runFile(t testing.TB, file *scenario.File) *simulation.Result {
	t.Helper()
	s, err := loader.New("test", file)
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Every recorded distribution of one workload's pods on a real control plane consists of best nodes, in some order of the pods: all pods
// came in one second. Pending pods are Pending with the recorded message.
func TestRecordedPlacementsAreAmongTheBest(t *testing.T) {
	placements, pending := 0, 0
	for _, name := range []string{"a-walkthrough", "b-soft-hetero", "c-rolling-hard-hostname", "e-pod-affinity", "i1-missing-label"} {
		steps, run := recordedCase(t, name)
		for i, step := range steps {
			state := run.Steps[i].State
			last := i+1 == len(steps) || steps[i+1].Fresh
			if !step.Fresh || !last || len(step.Expect.Messages) > 1 || !haveOneController(state.Pods) {
				continue // what was placed before, and what left, is not recorded
			}
			for _, seen := range append(step.Expect.Placements, step.Expect.PlacementsWithRandomTies...) {
				if len(seen.Nodes) == 0 {
					continue // all of them are Pending
				}
				result := verified(t, dump(t, distributed(t, state, seen.Nodes, step.Expect.Messages)))
				for _, line := range verdictLines(result) {
					t.Errorf("%s, %v: %s", step.Name, seen.Nodes, line)
				}
				placements, pending = placements+len(result.Placements), pending+len(result.Pending)
			}
		}
	}
	if placements < 300 || pending < 10 {
		t.Errorf("%d placements and %d Pending pods show nothing", placements, pending)
	}
}

func haveOneController(pods []*v1.Pod) bool {
	for _, pod := range pods {
		if alikeUID(pod) != alikeUID(pods[0]) {
			return false
		}
	}
	return len(pods) > 0
}

// distributed gives each node as many of the pods as were recorded on it, all in one second. The other pods are Pending with the messages.
func distributed(t *testing.T, state *cluster.State, nodes map[string]int, messages []string) *cluster.State {
	t.Helper()
	var names []string
	for _, node := range state.Nodes {
		for range nodes[node.Name] {
			names = append(names, node.Name)
		}
	}
	var changed []cluster.Object
	for i, pod := range state.Pods {
		pod = pod.DeepCopy()
		pod.Spec.NodeName = ""
		if i < len(names) {
			pod = cluster.BindPod(pod, names[i], cluster.Epoch.Time)
		} else {
			pod.Status = v1.PodStatus{Phase: v1.PodPending, Conditions: []v1.PodCondition{
				{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: messages[0]},
			}}
		}
		changed = append(changed, pod)
	}
	return state.With(changed...)
}

// eachState calls do with each step and with a dump of its state that has the order in which pods got their nodes, and the messages of the
// Pending pods.
func eachState(result *simulation.Result, do func(step *simulation.Step, dumped *cluster.State)) {
	var order []types.UID
	for i := range result.Steps {
		step := &result.Steps[i]
		for _, placed := range step.Placed {
			order = append(order, placed.Pod.UID)
		}
		pending := map[types.UID]string{}
		for _, p := range step.Pending {
			pending[p.Pod.UID] = p.Message
		}
		do(step, scheduled(step.State, order, pending))
	}
}

// The states of a simulated run, in the order in which the pods were placed, agree completely as long as no pod is gone.
func TestOwnRunsAgree(t *testing.T) {
	for _, name := range []string{"a-walkthrough", "b-soft-hetero", "e-pod-affinity", "i1-missing-label"} {
		_, run := recordedCase(t, name)
		eachState(run, func(step *simulation.Step, dumped *cluster.State) {
			if len(step.State.Pods) == len(step.Pending) {
				return
			}
			for _, line := range verdictLines(verified(t, dump(t, dumped))) {
				t.Errorf("%s: %s", step.Name, line)
			}
		})
	}
}

// generated returns a random world in which no pod ever leaves.
func generated(t *testing.T, seed uint64) *simulation.Result {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	file := &scenario.File{Ties: []string{"upstream", "random"}[r.IntN(2)], Seed: &seed, Cluster: []scenario.Source{{}}}
	for i := range 3 + r.IntN(6) {
		taints := []string{"", "", "", `, "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}`}[r.IntN(4)]
		file.Cluster[0].Objects = append(file.Cluster[0].Objects, raw(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n%d",
			"labels": {"kubernetes.io/hostname": "n%[1]d", "topology.kubernetes.io/zone": "z%d"}}%s,
			"status": {"capacity": {"cpu": "%d", "memory": "8Gi", "pods": "%d"}}}`, i, r.IntN(3), taints, 1+r.IntN(4), 3+r.IntN(10))))
	}
	for i := range 1 + r.IntN(4) {
		key := []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)]
		matching := fmt.Sprintf(`{"matchLabels": {"app": "app%d"}}`, i)
		term := fmt.Sprintf(`{"topologyKey": %q, "labelSelector": %s}`, key, matching)
		rule := []string{
			"",
			`, "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [` + term + `]}}`,
			fmt.Sprintf(`, "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": %d, "podAffinityTerm": %s}]}}`, 1+r.IntN(100), term),
			`, "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [` + term + `]}}`,
			fmt.Sprintf(`, "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": %q, "topologyKey": %q, "labelSelector": %s}]`,
				[]string{"DoNotSchedule", "ScheduleAnyway"}[r.IntN(2)], key, matching),
		}[r.IntN(5)]
		kind := []string{"Deployment", "StatefulSet", "DaemonSet"}[r.IntN(3)]
		replicas := fmt.Sprintf(`"replicas": %d, `, 1+r.IntN(7))
		if kind == "DaemonSet" {
			replicas = ""
		}
		file.Steps = append(file.Steps, scenario.Step{Name: fmt.Sprintf("apply-%d", i), Apply: &scenario.Source{Objects: []runtime.RawExtension{raw(fmt.Sprintf(
			`{"apiVersion": "apps/v1", "kind": %q, "metadata": {"name": "app%d"}, "spec": {%s"selector": %s, "template": {"metadata": {"labels": {"app": "app%[2]d"}},
			"spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "%[5]dm", "memory": "64Mi"}}}]%[6]s}}}}`,
			kind, i, replicas, matching, 100*(1+r.IntN(10)), rule))}}})
	}
	return runFile(t, file)
}

// A dump of any simulated run without deletions agrees completely.
func TestDumpsOfGeneratedWorldsAgree(t *testing.T) {
	placements, pending, only, ties := 0, 0, 0, 0
	for seed := range uint64(60) {
		eachState(generated(t, seed), func(step *simulation.Step, dumped *cluster.State) {
			if len(step.State.Pods) == len(step.Pending) {
				return
			}
			result := verified(t, dump(t, dumped))
			for _, line := range verdictLines(result) {
				t.Errorf("world %d, step %s: %s", seed, step.Name, line)
			}
			placements, pending = placements+len(result.Placements), pending+len(result.Pending)
			for _, p := range result.Placements {
				if p.Only {
					only++
				} else if p.Ties > 1 {
					ties++
				}
			}
		})
	}
	if placements < 500 || pending < 50 || only < 50 || ties < 50 {
		t.Errorf("%d placements, %d Pending, %d only nodes and %d ties: the worlds show nothing", placements, pending, only, ties)
	}
}

// The same dumps with the times of the run, many of which are equal: a round takes one second, regardless of how many pods it places.
func TestOrderWithinASecondIsFound(t *testing.T) {
	reordered, diverging := 0, 0
	for seed := range uint64(60) {
		run := generated(t, seed)
		last := run.Last()
		if len(last.State.Pods) == len(last.Pending) {
			continue
		}
		state := *last.State
		state.Pods = slices.Clone(state.Pods)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(state.Pods), func(i, j int) { state.Pods[i], state.Pods[j] = state.Pods[j], state.Pods[i] })
		result := verified(t, dump(t, &state))
		for _, p := range result.Placements {
			if p.Reordered {
				reordered++
			}
			if d := p.Divergence; d != nil {
				diverging++
				t.Logf("world %d: %s: %s", seed, p.Pod.Name, d.Class)
			}
		}
	}
	if reordered < 50 || diverging > 0 {
		t.Errorf("%d reordered and %d diverging", reordered, diverging)
	}
}
