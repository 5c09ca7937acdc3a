package roll_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// A databaseYAML with one pod on each of three nodes. If a pod claims a volume, the volume is in the zone of the pod's node.
const databaseYAML = `apiVersion: faultline/v1alpha1
kind: Scenario
FIELDS
cluster:
- synthetic:
    zones: [{name: a}, {name: b}, {name: c}]
    nodeGroups: [{name: worker, count: 1, cpu: 4, memory: 16Gi, pricePerHour: 0.5, labels: {pool: general}}]
- objects:
  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      serviceName: db
      replicas: 3
      selector: {matchLabels: {app: db}}
      CLAIMS
      template:
        metadata: {labels: {app: db}}
        spec:
          terminationGracePeriodSeconds: 1200
          affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}}
          containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]
  BUDGET
`

const claimTemplates = `volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]`

func budgetYAML(spec string) string {
	return fmt.Sprintf(`- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db}, spec: {%s, selector: {matchLabels: {app: db}}}}`, spec)
}

// runScenario runs the scenario that precedes the roll.
func runScenario(t *testing.T, fields, claims, budget string) *simulation.Result {
	t.Helper()
	text := strings.NewReplacer("FIELDS", fields, "CLAIMS", claims, "BUDGET", budget).Replace(databaseYAML)
	return runtest.Run(t, text)
}

func rollPool(t *testing.T, result *simulation.Result, opts roll.Options) *roll.Answer {
	t.Helper()
	opts.Pool = "pool=general"
	answers, err := roll.Compare(t.Context(), result, []roll.Options{opts}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}

// summary returns the numbers that the tests derive by hand.
func summary(a *roll.Answer) string {
	text := fmt.Sprintf("%d of %d in %d turns; %d evicted, moves %v; %d Pending at most, %.0f s at the longest", a.Replaced, a.Nodes, len(a.Turns), a.Evicted, a.Moves, a.MostPending, a.Longest().Seconds())
	if a.Worst != nil {
		text += fmt.Sprintf("; %d not ready in turn %d", a.Worst.Unavailable, a.Worst.Turn)
	}
	for _, b := range a.Blocked {
		text += fmt.Sprintf("; %s is node %d, and %s stays: %s", b.Node, b.Number, b.Stays[0].Name, b.Stays[0].Reason)
		if b.Budget != nil {
			text += fmt.Sprintf(" (%s: %d of %d)", b.Budget.Name, b.Budget.Healthy, b.Budget.Needs)
		}
	}
	return text
}

func TestRun(t *testing.T) {
	const refuses = "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs %d healthy pods and has %[1]d currently (default/db: %[1]d of %[1]d)"
	after := scenario.AddNodes{After: "2m"}
	for _, test := range []struct {
		name, fields, claims, budget string
		opts                         roll.Options
		want                         string
	}{
		// Each new node exists before a pod leaves. The StatefulSet creates the next pod of the name after the old pod is gone, a second later,
		// and the new node takes it in the same second.
		{"surge", "", "", budgetYAML("maxUnavailable: 1"), roll.Options{Surge: 1, New: after},
			"3 of 3 in 3 turns; 3 evicted, moves [{1 3}]; 0 Pending at most, 0 s at the longest; 1 not ready in turn 1"},
		// A volume binds each pod to its zone. The new node is in the zone of the old one.
		{"volumes", "", claimTemplates, "", roll.Options{Surge: 1, New: after},
			"3 of 3 in 3 turns; 3 evicted, moves [{1 3}]; 0 Pending at most, 0 s at the longest; 1 not ready in turn 1"},
		// Without a surge, the pod waits for the new node, since a rule keeps it off the other nodes. It waits for one second, after which
		// nothing moves any more and the drain has ended, and then for two minutes.
		{"no surge", "", "", "", roll.Options{MaxUnavailable: 1, New: after},
			"3 of 3 in 3 turns; 3 evicted, moves [{1 3}]; 1 Pending at most, 121 s at the longest; 1 not ready in turn 1"},
		// Two nodes are replaced together, and with them two pods. OrderedReady creates the second pod only after the first is ready.
		{"two at once", "", "", "", roll.Options{MaxUnavailable: 2, New: after},
			"3 of 3 in 2 turns; 3 evicted, moves [{1 3}]; 1 Pending at most, 121 s at the longest; 2 not ready in turn 1"},
		// The budget allows one of the two evictions. The next pod of that name comes a second later and waits for a node, so the second eviction
		// is not allowed, and the drain times out after 15 minutes.
		{"two at once, one allowed", "", "", budgetYAML("maxUnavailable: 1"), roll.Options{MaxUnavailable: 2, New: after, Drain: scenario.Drain{Timeout: "15m"}},
			"0 of 3 in 1 turns; 1 evicted, moves [{1 1}]; 1 Pending at most, 899 s at the longest; 1 not ready in turn 1; b-worker-1 is node 2, and db-1 stays: " + fmt.Sprintf(refuses, 2)},
		{"at its limit", "", "", budgetYAML("minAvailable: 3"), roll.Options{Surge: 1, New: after, Drain: scenario.Drain{Timeout: "15m"}},
			"0 of 3 in 1 turns; 0 evicted, moves []; 0 Pending at most, 0 s at the longest; a-worker-1 is node 1, and db-0 stays: " + fmt.Sprintf(refuses, 3)},
		// Each pod takes its 20 minutes to end.
		{"slow", "terminationSeconds: 3600", "", "", roll.Options{Surge: 1, New: after, Drain: scenario.Drain{Timeout: "15m"}},
			"0 of 3 in 1 turns; 1 evicted, moves [{1 1}]; 0 Pending at most, 0 s at the longest; 1 not ready in turn 1; a-worker-1 is node 1, and db-0 stays: it is still Terminating after 15 min"},
		{"slow enough", "terminationSeconds: 3600", "", "", roll.Options{Surge: 1, New: after, Drain: scenario.Drain{Timeout: "21m"}},
			"3 of 3 in 3 turns; 3 evicted, moves [{1 3}]; 0 Pending at most, 0 s at the longest; 1 not ready in turn 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := runScenario(t, test.fields, test.claims, test.budget)
			a := rollPool(t, result, test.opts)
			if diff := cmp.Diff(test.want, summary(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			runtest.CheckSteps(t, result, a.Steps, a.End)
		})
	}
}

// A node whose drain does not end stays, and its new node replaces a node of the next turn. By hand: db-0 cannot be evicted at any time.
func TestKeepGoing(t *testing.T) {
	result := runScenario(t, "", "", `- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: first}, spec: {maxUnavailable: 0, selector: {matchLabels: {apps.kubernetes.io/pod-index: "0"}}}}`)
	a := rollPool(t, result, roll.Options{Surge: 1, KeepGoing: true, New: scenario.AddNodes{After: "2m"}, Drain: scenario.Drain{Timeout: "15m"}})
	if a.Replaced != 2 || len(a.Blocked) != 1 || a.Blocked[0].Node != "a-worker-1" {
		t.Errorf("%s", summary(a))
	}
	var made [][]string
	for _, turn := range a.Turns {
		made = append(made, turn.New)
	}
	if diff := cmp.Diff([][]string{{"a-worker-1-new-1"}, nil, {"c-worker-1-new-1"}}, made); diff != "" {
		t.Errorf("new nodes (-want +got):\n%s", diff)
	}
	if first, last := a.Turns[0], a.Turns[2]; first.Total != 4 || *first.Price != 2 || last.Total != 3 || *last.Price != 1.5 {
		t.Errorf("%d nodes at %v an hour after the first turn, and %d at %v after the last; want 4 at 2, and 3 at 1.5", first.Total, *first.Price, last.Total, *last.Price)
	}
	runtest.CheckSteps(t, result, a.Steps, a.End)
}

// The new nodes have another size and a label. By hand: zone, name and price are those of the old nodes.
func TestNewNodes(t *testing.T) {
	a := rollPool(t, runScenario(t, "", "", ""), roll.Options{Surge: 1, New: scenario.AddNodes{Labels: map[string]string{"version": "2"}, CPU: "8", Memory: "32Gi"}})
	node := a.End.Node("c-worker-1-new-1")
	if node == nil || node.Status.Allocatable.Cpu().String() != "8" || node.Labels["version"] != "2" || node.Labels["topology.kubernetes.io/zone"] != "c" || node.Labels["pool"] != "general" {
		t.Errorf("the last new node is %+v", node)
	}
	if a.End.Node("c-worker-1") != nil || len(a.End.Nodes) != 3 {
		t.Errorf("%d nodes, and an old one is there", len(a.End.Nodes))
	}
}

// The answers are the same on any number of cores and in each run. By hand, the smallest surge without a Pending pod is 1.
func TestCompare(t *testing.T) {
	result := runScenario(t, "", "", "")
	after := scenario.AddNodes{After: "2m"}
	ways := []roll.Options{
		{Pool: "pool=general", MaxUnavailable: 1, New: after}, {Pool: "pool=general", Surge: 2, New: after, Order: roll.ByZone},
		{Pool: "pool=general", Surge: 1, New: after, Order: roll.FewestPods},
	}
	var texts []string
	for range 2 {
		answers, err := roll.Compare(t.Context(), result, ways, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := roll.NeverPending(answers); got != 1 {
			t.Errorf("the smallest surge without a Pending pod is %d, want 1", got)
		}
		text, err := json.Marshal(answers)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Error("two comparisons differ")
	}
	if _, err := roll.Compare(t.Context(), result, []roll.Options{{Pool: "pool=other", Surge: 1}}, func(int, int) {}); err == nil || !strings.Contains(err.Error(), `"pool=other" matches no node`) {
		t.Errorf("a pool without nodes: %v", err)
	}
}

// By hand, the order is by zones before names, or the node with the fewest pods when a turn begins comes first.
func TestOrder(t *testing.T) {
	text := strings.NewReplacer("FIELDS", "", "CLAIMS", "", "BUDGET", "").Replace(databaseYAML)
	text = strings.Replace(text, "zones: [{name: a}, {name: b}, {name: c}]\n    nodeGroups: [{name: worker, count: 1,", "zones: [{name: b}, {name: a}]\n    nodeGroups: [{name: worker, count: 2,", 1)
	result := runtest.Run(t, text)
	state := result.Steps[0].State
	var empty string // three pods on four nodes
	for _, node := range state.Nodes {
		if !slices.Contains(slices.Collect(func(yield func(string) bool) {
			for _, pod := range state.Pods {
				if !yield(pod.Spec.NodeName) {
					return
				}
			}
		}), node.Name) {
			empty = node.Name
		}
	}
	for order, first := range map[roll.Order]string{roll.ByZone: "a-worker-1", roll.FewestPods: empty} {
		if a := rollPool(t, result, roll.Options{Surge: 1, Order: order}); a.Turns[0].Old[0] != first {
			t.Errorf("by %s the first is %s, want %s", order, a.Turns[0].Old[0], first)
		}
	}
}
