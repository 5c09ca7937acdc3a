package explain

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// recorded runs the scenario and keeps every cycle completely.
func recorded(t *testing.T, s *scenario.Scenario) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(context.Background(), s, simulation.Options{
		Record: func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{Before: true} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// flipsOf returns the flips of a step's n-th pod, as "subject: from → to, node".
func flipsOf(t *testing.T, s *scenario.Scenario, step string, n int) []string {
	t.Helper()
	for _, found := range recorded(t, s).Steps {
		if found.Name != step {
			continue
		}
		flips, err := Flips(context.Background(), s.Config, &found.Placed[n])
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range flips {
			if f.To != "" {
				said = append(said, fmt.Sprintf("%s: %s → %s, %s", f.Subject, f.From, f.To, f.Node))
			}
		}
		return said
	}
	t.Fatalf("no step %s", step)
	return nil
}

func TestFlipsOfTheWalkthrough(t *testing.T) {
	for _, c := range []struct {
		step string
		pod  int
		want []string
	}{
		// The third pod is on worker2 with 673 points to worker's 605, of which NodeResourcesBalancedAllocation gives worker one more: -69
		// + weight > 0 from a weight of 70.
		{"soft-region-3", 2, []string{
			"weight of NodeResourcesBalancedAllocation: 1 → 70, affinity-worker",
			"allocatable CPU of affinity-worker2: 8 → 53m, affinity-worker",
			"allocatable memory of affinity-worker2: 16Gi → 138Mi, affinity-worker",
		}},
		// The second is on worker3 with 873 points to worker's 605: -269 + weight > 0 from 270. No weight of either term alone suffices,
		// since the scores are normalised. The pod requests 50m and 128Mi, so worker3 keeps it down to exactly that much free.
		{"weighted-2", 1, []string{
			"weight of NodeResourcesBalancedAllocation: 1 → 270, affinity-worker",
			"allocatable CPU of affinity-worker3: 8 → 49m, affinity-worker2",
			"allocatable memory of affinity-worker3: 16Gi → 127Mi, affinity-worker2",
		}},
	} {
		if diff := cmp.Diff(c.want, flipsOf(t, walkthrough(t).Scenario, c.step, c.pod)); diff != "" {
			t.Errorf("%s, pod %d (-want +got):\n%s", c.step, c.pod, diff)
		}
	}
}

// Two terms pull a pod two ways: away from pods like it over zones, and towards them over hosts. With weights of 10 and 4 the pod goes to
// the other zone; it stays with pods like it once the second weight is larger.
func TestFlipOfATermsWeight(t *testing.T) {
	s := simulated(t, `
apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    regions: [{name: eu}]
    zones: [{name: a}, {name: b}]
    nodeGroups: [{name: node, total: 2, cpu: 8, memory: 16Gi}]
scheduler:
  inline:
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: default-scheduler
      plugins:
        score:
          disabled: [{name: "*"}]
          enabled: [{name: InterPodAffinity, weight: 1}]
workloads:
- objects:
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web}
    spec:
      replicas: 2
      serviceName: web
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: c, image: c}]
          affinity:
            podAntiAffinity:
              preferredDuringSchedulingIgnoredDuringExecution:
              - weight: 10
                podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}
            podAffinity:
              preferredDuringSchedulingIgnoredDuringExecution:
              - weight: 4
                podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
`).Scenario
	// Both terms count twice, once each way. Equal weights leave both nodes equal, so one more is needed.
	want := []string{
		"weight of the preferred affinity over kubernetes.io/hostname: 4 → 11, a-node-1",
		"weight of the preferred anti-affinity over topology.kubernetes.io/zone: 10 → 3, a-node-1",
	}
	if diff := cmp.Diff(want, flipsOf(t, s, scenario.WorkloadsStep, 1)[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each flip holds if the pod is scheduled again with it, and one step nearer to the present value the pod stays: on every recorded step of
// a real control plane.
func TestFlipsHold(t *testing.T) {
	tried := 0
	for _, name := range []string{"a-walkthrough", "b-soft-hetero", "e-pod-affinity"} {
		files, err := filepath.Glob(filepath.Join("../../simulation/testdata/groundtruth", name, "*.yaml"))
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %d files, %v", name, len(files), err)
		}
		for _, file := range files {
			if filepath.Base(file) == "nodes.yaml" {
				continue
			}
			s, err := loader.FromFiles(nil, []string{filepath.Join(filepath.Dir(file), "nodes.yaml")}, []string{file}, loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			placed := recorded(t, s).Steps[0].Placed
			for i := range placed {
				flips, err := Flips(context.Background(), s.Config, &placed[i])
				if err != nil {
					t.Fatal(err)
				}
				for _, flip := range flips {
					switch {
					case flip.To == "":
					case flip.Of == Plugin:
						tried++
						checkPluginFlip(t, s.Config, &placed[i], flip)
					case flip.Of == Capacity:
						tried++
						checkCapacityFlip(t, s.Config, &placed[i], flip)
					}
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d flips were tried", tried)
	}
}

func checkPluginFlip(t *testing.T, config *sched.Config, placed *placement.Placement, flip Flip) {
	t.Helper()
	from, _ := strconv.Atoi(flip.From)
	to, err := strconv.Atoi(flip.To)
	if err != nil {
		t.Fatal(err)
	}
	nearer := to - 1
	if to < from {
		nearer = to + 1
	}
	plugin := strings.TrimPrefix(flip.Subject, "weight of ")
	for weight, stays := range map[int]bool{to: false, nearer: true} {
		checkStays(t, config.WithScoreWeight("default-scheduler", plugin, int32(weight)), placed.Cycle.Before, placed, fmt.Sprint(flip.Subject, " ", weight), stays)
	}
}

func checkCapacityFlip(t *testing.T, config *sched.Config, placed *placement.Placement, flip Flip) {
	t.Helper()
	word, node, _ := strings.Cut(strings.TrimPrefix(flip.Subject, "allocatable "), " of ")
	name, unit := v1.ResourceCPU, resource.MustParse("1m")
	if word == "memory" {
		name, unit = v1.ResourceMemory, resource.MustParse("1Mi")
	}
	from, to := resource.MustParse(flip.From), resource.MustParse(flip.To)
	nearer := to.DeepCopy()
	if to.Cmp(from) < 0 {
		nearer.Add(unit)
	} else {
		nearer.Sub(unit)
	}
	for size, stays := range map[*resource.Quantity]bool{&to: false, &nearer: true} {
		sized := placed.Cycle.Before.Node(node).DeepCopy()
		sized.Status.Allocatable[name] = *size
		checkStays(t, config, placed.Cycle.Before.With(sized), placed, fmt.Sprint(flip.Subject, " ", size), stays)
	}
}

// checkStays schedules the pod on the cluster and checks whether its node is still among the best.
func checkStays(t *testing.T, config *sched.Config, before *cluster.State, placed *placement.Placement, what string, stays bool) {
	t.Helper()
	engine, err := sched.NewEngine(config, sched.Ties{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
	var pods []*v1.Pod
	for _, pod := range before.Unscheduled() {
		if pod.UID == placed.Pod.UID {
			pods = append(pods, pod)
		}
	}
	result, err := engine.Place(context.Background(), before, pods)
	if err != nil {
		t.Fatal(err)
	}
	best := len(result.Placed) > 0 && slices.ContainsFunc(result.Placed[0].Cycle.Candidates, func(c placement.Candidate) bool {
		return c.Node == placed.Node && c.Rank <= 1
	})
	if best != stays {
		t.Errorf("%s on %s: with %s the node is among the best: %t, want %t", placed.Pod.Name, placed.Node, what, best, stays)
	}
}
