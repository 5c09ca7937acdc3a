package simulation

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// operation is a kubectl command on a real control plane v1.37.1 with nodes of kwok. before.json.gz is a dump before the command,
// real.json.gz has the pods before and after.
type operation struct {
	// Kind and What say what was done, as fields of the scenario file do.
	Kind, What string
	// Equal names the figures that must equal the recorded ones; see [figures].
	Equal []string
	// Chance means that chance decides: one of Seeds seeds, by default 12, must give the recorded figures.
	Chance bool
	Seeds  uint64
}

// operationPods has the pods before and after an operation, by namespace and name, and the zones of the nodes.
type operationPods struct {
	Before, After map[string]operatedPod
	Zone          map[string]string
}

type operatedPod struct {
	UID string
	// Owner is the outermost owner, as namespace/kind/name.
	Owner string `json:"wl"`
	Node  string
	// Ends means that the pod is Terminating.
	Ends bool `json:"term"`
	// Message is the message of the PodScheduled condition.
	Message string `json:"msg"`
}

// Each operation has the result of the real control plane, in all figures that its case names: which pods are Pending and with which
// message, which are gone, and where the others are. If chance decides, some seed gives the recorded figures.
func TestOperationsComeOutAsInReality(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "groundtruth", "operations", "*", "case.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded operations: %v", err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			var op operation
			var happened operationPods
			decodeFile(t, file, &op)
			decodeFile(t, filepath.Join(dir, "real.json.gz"), &happened)
			s, err := loader.Load(filepath.Join(dir, "scenario.yaml"), loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w, err := NewCluster(s)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			diff := op.diff(t, &happened, s, w)
			for seed := uint64(1); diff != "" && op.Chance && seed <= cmp.Or(op.Seeds, 12); seed++ {
				random := *s
				random.Ties.Random, random.Ties.Arrivals, random.Ties.Seed = true, true, seed
				if d := op.diff(t, &happened, &random, w); len(d) < len(diff) {
					diff = d
				}
			}
			if diff != "" {
				t.Errorf("%s %s (-real +predicted):\n%s", op.Kind, op.What, diff)
			}
		})
	}
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	if strings.HasSuffix(path, ".gz") {
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder = json.NewDecoder(unpacked)
	}
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// diff runs the scenario of an operation, and returns how its figures differ from the recorded ones.
func (op *operation) diff(t *testing.T, happened *operationPods, s *scenario.Scenario, w world.World) string {
	t.Helper()
	result, err := Run(t.Context(), s, Options{World: w})
	if err != nil {
		t.Fatal(err)
	}
	step := result.Last()
	predicted := podsAfter(step)
	zones := maps.Clone(happened.Zone)
	for _, node := range step.State.Nodes {
		zones[node.Name] = node.Labels["topology.kubernetes.io/zone"]
	}
	// A pod that was Pending all the time keeps its old message until the scheduler tries it again.
	waited := func(name string) bool {
		was, is, ours := happened.Before[name], happened.After[name], predicted[name]
		return was.UID != "" && was == is && was.Node == "" && !was.Ends && was.UID == ours.UID && ours.Node == ""
	}
	want, got := figures(happened.Before, happened.After, zones, waited), figures(happened.Before, predicted, zones, waited)
	keep := func(figure string, _ map[string]int) bool { return !slices.Contains(op.Equal, figure) }
	maps.DeleteFunc(want, keep)
	maps.DeleteFunc(got, keep)
	return gocmp.Diff(want, got)
}

// podsAfter returns the pods after a step, without pods that have ended.
func podsAfter(step *Step) map[string]operatedPod {
	messages := map[string]string{}
	for _, p := range step.Pending {
		messages[string(p.Pod.UID)] = p.Message
	}
	pods, owner := map[string]operatedPod{}, step.State.Owners()
	for _, pod := range step.State.Pods {
		if cluster.IsTerminal(pod) {
			continue
		}
		of := owner(pod)
		pods[pod.Namespace+"/"+pod.Name] = operatedPod{
			UID: string(pod.UID), Owner: pod.Namespace + "/" + of.String(), Node: pod.Spec.NodeName, Ends: pod.DeletionTimestamp != nil, Message: messages[string(pod.UID)],
		}
	}
	return pods
}

var numbersOf = regexp.MustCompile(`\d+`)

// figures counts pods in several ways: Pending pods by owner and message, also without the message's numbers; Running, Terminating and
// deleted pods by owner; and Running pods by owner and zone, and by owner and node.
func figures(before, after map[string]operatedPod, zones map[string]string, waited func(name string) bool) map[string]map[string]int {
	f := map[string]map[string]int{"pending": {}, "waiting": {}, "running": {}, "terminating": {}, "gone": {}, "zones": {}, "nodes": {}}
	for name, pod := range after {
		switch {
		case pod.Ends:
			f["terminating"][pod.Owner]++
		case pod.Node != "":
			f["running"][pod.Owner]++
			f["zones"][pod.Owner+" "+zones[pod.Node]]++
			f["nodes"][pod.Owner+" "+pod.Node]++
		case !waited(name):
			f["pending"][pod.Owner+" "+pod.Message]++
			f["waiting"][pod.Owner+" "+numbersOf.ReplaceAllString(pod.Message, "#")]++
		}
	}
	for name, pod := range before {
		if is := after[name]; is.UID != pod.UID || is.Ends {
			f["gone"][pod.Owner]++
		}
	}
	return f
}

// Four pods are Pending, the two of b-older five minutes longer than the two of a-younger, which are listed first. A node with room for two
// pods is added. kube-scheduler placed both pods of b-older in two of three runs, and one pod of each in the third.
func TestPodsThatWaitTheLongestComeFirst(t *testing.T) {
	s, err := loader.Load(filepath.Join("testdata", "groundtruth", "operations", "pending-order", "scenario.yaml"), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	older := func(s *scenario.Scenario) string {
		apps := byApp(runCase(t, s).Steps[0].State)
		return fmt.Sprintf("%d of b-older, %d of a-younger", apps["b-older"]["n2"], apps["a-younger"]["n2"])
	}
	if got := older(s); got != "2 of b-older, 0 of a-younger" {
		t.Errorf("in the order of the queue: %s", got)
	}
	seen := map[string]int{}
	for seed := range uint64(30) {
		random := *s
		random.Ties.Random, random.Ties.Arrivals, random.Ties.Seed = true, true, seed
		seen[older(&random)]++
	}
	if both, one := seen["2 of b-older, 0 of a-younger"], seen["1 of b-older, 1 of a-younger"]; both < 8 || one < 4 {
		t.Errorf("of 30 seeds %v", seen)
	}
}

// A rollout with maxSurge 0 creates the new pod while the old pod is still Terminating, so the new pod preempts the Job's pod. That
// happened in all of three real runs, although the kubelets ended pods long before their grace period was over.
func TestARolloutPreemptsBeforeAPodHasEnded(t *testing.T) {
	s, err := loader.Load(filepath.Join("testdata", "groundtruth", "operations", "rollout-preempts", "scenario.yaml"), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const trials = 50
	preempted := 0
	for seed := range uint64(trials) {
		random := *s
		random.Ties.Random, random.Ties.Seed = true, seed
		if len(runCase(t, &random).Steps[1].Preempted) > 0 {
			preempted++
		}
	}
	// One pod in four ends before anything reacts; both do in 1 of 16 trials. A count below 42 of 50 has a probability of 1 in 250.
	if preempted < trials-8 {
		t.Errorf("%d of %d trials preempt", preempted, trials)
	}
}
