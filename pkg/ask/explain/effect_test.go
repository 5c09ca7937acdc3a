package explain

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/simulation"
)

// effectSummary abbreviates an effect: each move as from>to.
type effectSummary struct {
	Rule                    string
	Decides                 bool
	Moved, Others           string
	SameNodes               bool
	Pending, PendingWithout int
}

func summarizeEffects(t *testing.T, result *simulation.Result, step, owner string) []effectSummary {
	t.Helper()
	effects, err := Effects(context.Background(), result, step, deployment(owner), Options{})
	if err != nil {
		t.Fatal(err)
	}
	moves := func(moves []Move) string {
		var all []string
		for _, m := range moves {
			all = append(all, strings.TrimPrefix(m.From, "affinity-")+">"+strings.TrimPrefix(m.To, "affinity-"))
		}
		return strings.Join(all, " ")
	}
	var all []effectSummary
	for _, e := range effects {
		all = append(all, effectSummary{e.Rule, e.Decides, moves(e.Moved), moves(e.Others), e.SameNodes, e.Pending, e.PendingWithout})
	}
	return all
}

// In the walkthrough, worker and worker2 are in the region west and worker3 is in the region east, each in its own zone, and equal nodes
// are taken in that order. So without any rule, default spreading puts the pods on worker, worker2, worker3, worker … Region rules send the
// second pod to worker3, and soft ones leave the third to default spreading: worker2. Zone and hostname rules ask for what default
// spreading does anyway.
func TestEffectsInTheWalkthrough(t *testing.T) {
	const region, zone, host = "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
	want := map[string][]effectSummary{
		"hard-region-2":    {{"required anti-affinity over " + region, true, "worker3>worker2", "", false, 0, 0}},
		"hard-region-3":    {{"required anti-affinity over " + region, true, "worker3>worker2 >worker3", "", false, 1, 0}},
		"hard-zone-3":      {{"required anti-affinity over " + zone, false, "", "", true, 0, 0}},
		"hard-hostname-4":  {{"required anti-affinity over " + host, true, ">worker", "", false, 1, 0}},
		"soft-region-3":    {{"preferred anti-affinity over " + region + " (weight 100)", true, "worker3>worker2 worker2>worker3", "", true, 0, 0}},
		"soft-hostname-10": {{"preferred anti-affinity over " + host + " (weight 100)", false, "", "", true, 0, 0}},
		"weighted-2": {
			{"preferred anti-affinity over " + region + " (weight 100)", true, "worker3>worker2", "", false, 0, 0},
			{"preferred anti-affinity over " + zone + " (weight 99)", false, "", "", true, 0, 0},
		},
		"weighted-3": {
			{"preferred anti-affinity over " + region + " (weight 100)", true, "worker3>worker2 worker2>worker3", "", true, 0, 0},
			{"preferred anti-affinity over " + zone + " (weight 99)", false, "", "", true, 0, 0},
		},
	}
	result := walkthrough(t)
	got := map[string][]effectSummary{}
	for _, step := range result.Steps {
		got[step.Name] = summarizeEffects(t, result, step.Name, "lorem-ipsum-deployment")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// Two nodes take one pod each, and n1 is the first of equal nodes. The node selector of first keeps it off n1, and so decides where second
// goes and, in the second step, after a patch, that its own second replica has no place.
const other = `
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: hdd}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 1}}}
  - {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {disk: ssd}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 1}}}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: first}
    spec:
      replicas: 1
      selector: {matchLabels: {app: first}}
      template: {metadata: {labels: {app: first}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: c}]}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: second}
    spec:
      replicas: 1
      selector: {matchLabels: {app: second}}
      template: {metadata: {labels: {app: second}}, spec: {containers: [{name: c, image: c}]}}
steps:
- {name: scale, scale: {target: deployment/second, replicas: 0}}
- {name: patch, patch: {target: deployment/first, patch: {spec: {replicas: 2, template: {spec: {nodeSelector: {disk: ssd}}}}}}}
`

func TestEffectsOnOthersAndAfterAPatch(t *testing.T) {
	result := simulated(t, other)
	for step, want := range map[string][]effectSummary{
		"workloads": {{"node selector disk=ssd", true, "n2>n1", "n1>n2", false, 0, 0}},
		"scale":     {{"node selector disk=ssd", true, "n2>n1", "", false, 0, 0}},
		"patch":     {{"node selector disk=ssd", true, "n2>n1 >n2", "", false, 1, 0}},
	} {
		if diff := cmp.Diff(want, summarizeEffects(t, result, step, "first")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
		if got := summarizeEffects(t, result, step, "second"); got != nil {
			t.Errorf("%s: pods without rules have the effects %v", step, got)
		}
	}
}

func TestEffectsNamePodsAsTheyAre(t *testing.T) {
	result := simulated(t, other)
	var asked []int
	effects, err := Effects(context.Background(), result, "workloads", deployment("first"), Options{Progress: func(done, total int) { asked = append(asked, done, total) }})
	if err != nil {
		t.Fatal(err)
	}
	pods := podsOf(result.Steps[0].State)
	want := []Effect{{
		Rule: rule.Rule{Path: "nodeSelector", Kind: rule.NodeSelector, Hard: true, Selector: "disk=ssd"}.String(), Path: "nodeSelector", Decides: true,
		Words:  "decides: without it 1 pod of the workload is elsewhere and 1 pod of other workloads is elsewhere",
		Moved:  []Move{{Pod: pods[deployment("first")][0].Name, From: "n2", To: "n1"}},
		Others: []Move{{Pod: pods[deployment("second")][0].Name, From: "n1", To: "n2"}},
	}}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 1, 1, 1}, asked); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestEffectsOfWhatIsNotThere(t *testing.T) {
	result := simulated(t, other)
	for step, want := range map[string]string{
		"nowhere":   `there is no step "nowhere" in the result; ask about one of its steps`,
		"workloads": `step "workloads" has neither deployment/none nor a pod of it`,
	} {
		if _, err := Effects(context.Background(), result, step, deployment("none"), Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", step, err, want)
		}
	}
}

// The first term of web's anti-affinity selects other pods than web's own; the second selects all of them.
const drifted = `
apiVersion: faultline/v1alpha1
kind: Scenario
cluster: [{synthetic: {nodeGroups: [{count: 2}]}}]
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          affinity:
            podAntiAffinity:
              preferredDuringSchedulingIgnoredDuringExecution:
              - {weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: other}}}}
              - {weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}
          nodeSelector: {kubernetes.io/os: linux}
          containers: [{name: web, image: "web:1"}]
`

func TestEffectsCountThePodsThatARuleIsAbout(t *testing.T) {
	effects, err := Effects(context.Background(), simulated(t, drifted), "workloads", deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	for _, e := range effects {
		got = append(got, [2]int{e.Selected, e.Pods})
	}
	if diff := cmp.Diff([][2]int{{0, 2}, {2, 2}, {0, 0}}, got); diff != "" {
		t.Errorf("selected of pods (-want +got):\n%s", diff)
	}
}
