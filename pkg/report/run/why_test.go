package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

func runCase(t *testing.T, s *scenario.Scenario) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The sentences say what decided each step of the walkthrough. In step 5 only default spreading decides; in step 8 the zone term and
// default spreading agree.
func TestWhyOfTheWalkthrough(t *testing.T) {
	s, err := loader.Load(filepath.Join("..", "..", "..", "scenarios", "kind-walkthrough"), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const (
		web      = "deployment/lorem-ipsum-deployment: "
		refused2 = "the first of 2 pods had 3 of 4 nodes left (TaintToleration refused 1), the last had 1 (InterPodAffinity refused 2 and TaintToleration 1); "
		refused3 = "the first of 3 pods had 3 of 4 nodes left (TaintToleration refused 1), the next had 2 (InterPodAffinity refused 1 and TaintToleration 1), " +
			"the last had 1 (InterPodAffinity refused 2 and TaintToleration 1); "
	)
	want := map[string][]string{
		"hard-region-2": {web + refused2 + "1 of 2 pods found only equal nodes; 1 of 2 pods had a single node left."},
		"hard-region-3": {web + refused2 + "1 of 2 pods found only equal nodes; 1 of 2 pods had a single node left; " +
			"1 pod is Pending, because the required anti-affinity allows one pod in each topology.kubernetes.io/region, and every one that takes such pods has one (east and west)."},
		"hard-zone-3": {web + refused3 + "2 of 3 pods found only equal nodes; 1 of 3 pods had a single node left."},
		"hard-hostname-4": {web + refused3 + "2 of 3 pods found only equal nodes; 1 of 3 pods had a single node left; " +
			"1 pod is Pending, because the required anti-affinity allows one pod in each kubernetes.io/hostname, and every one that takes such pods has one (affinity-worker, affinity-worker2 and affinity-worker3)."},
		"soft-region-3": {web + "all 3 pods had 3 of 4 nodes left (TaintToleration refused 1); 1 of 3 pods found only equal nodes; " +
			"the preferred anti-affinity over topology.kubernetes.io/region decided for 1 of 3 pods, by 200 points over affinity-worker2 (without it, 2 equal nodes); " +
			"default PodTopologySpread (not a rule of the pods) decided for 1 of 3 pods, by 68 points over affinity-worker (without it, 3 equal nodes)."},
		"soft-hostname-10": {web + "all 10 pods had 3 of 4 nodes left (TaintToleration refused 1); 4 of 10 pods found only equal nodes; " +
			"NodeResourcesFit, default PodTopologySpread (not a rule of the pods) and the preferred anti-affinity over kubernetes.io/hostname decided together for 4 of 10 pods, by 251 points or more (without them, 3 equal nodes); " +
			"default PodTopologySpread (not a rule of the pods) and the preferred anti-affinity over kubernetes.io/hostname decided together for 2 of 10 pods, by 268 points or more (without them, 3 equal nodes)."},
		"weighted-2": {web + "both pods had 3 of 4 nodes left (TaintToleration refused 1); 1 of 2 pods found only equal nodes; " +
			"the preferred anti-affinity over topology.kubernetes.io/region and topology.kubernetes.io/zone decided for 1 of 2 pods, by 102 points over affinity-worker2 (without it, 2 equal nodes)."},
		"weighted-3": {web + "the pod had 3 of 4 nodes left (TaintToleration refused 1); " +
			"default PodTopologySpread (not a rule of the pods) and the preferred anti-affinity over topology.kubernetes.io/region and topology.kubernetes.io/zone decided together for the pod, by 268 points over affinity-worker (without them, 3 equal nodes)."},
	}
	got, spoken := map[string][]string{}, map[string][]string{}
	for _, step := range runCase(t, s).Steps {
		got[step.Name] = sentences(newWhy(&step))
		for _, because := range newWhy(&step) {
			spoken[step.Name] = append(spoken[step.Name], because.rules...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
	// These rules are mentioned by the sentences: required rules that refuse nodes, and preferred rules that decide scores. If nothing
	// decides, no rule is mentioned.
	required := []string{"affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"}
	preferred := "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
	wantSpoken := map[string][]string{
		"hard-region-2": required, "hard-region-3": required, "hard-zone-3": required, "hard-hostname-4": required,
		"soft-region-3": {preferred + "[0]"}, "soft-hostname-10": {preferred + "[0]"}, "weighted-2": {preferred + "[0]", preferred + "[1]"},
		"weighted-3": {preferred + "[0]", preferred + "[1]"},
	}
	if diff := cmp.Diff(wantSpoken, spoken); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Each zone has two nodes, and can take one pod: the first pod finds all nodes left, each next pod two fewer. With three zones the sentence
// lists all groups of pods, with five only the first and the last. The sentence begins with what the filters left, whatever the scores then
// decide. A DaemonSet's controller names the node of each pod: the other nodes count as refused by the plugin that applies this.
func TestWhySaysWhatFiltersLeft(t *testing.T) {
	const template = `
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
`
	const apart = `
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}]}}
`
	deployment := func(replicas int) string {
		return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: %d", replicas) + template + apart
	}
	for _, test := range []struct {
		zones          int
		workload, want string
	}{
		{1, deployment(1), "deployment/web: the pod found only equal nodes (2)."},
		{3, deployment(3), "deployment/web: the first of 3 pods had 6 of 6 nodes left, the next had 4 (InterPodAffinity refused 2), " +
			"the last had 2 (InterPodAffinity refused 4); all 3 pods found only equal nodes."},
		{5, deployment(5), "deployment/web: the first of 5 pods had 10 of 10 nodes left, the 3 between had 4 to 8, " +
			"the last had 2 (InterPodAffinity refused 8); all 5 pods found only equal nodes."},
		{3, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: web}\nspec:" + template,
			"daemonset/web: all 6 pods had 1 of 6 nodes left (NodeAffinity refused 5)."},
	} {
		t.Run(test.want, func(t *testing.T) {
			var nodes strings.Builder
			for zone := range test.zones {
				for node := range 2 {
					fmt.Fprintf(&nodes, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d%d, labels: {topology.kubernetes.io/zone: z%d}}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}\n", zone, node, zone)
				}
			}
			dir := t.TempDir()
			for file, text := range map[string]string{"nodes.yaml": nodes.String(), "web.yaml": test.workload} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := loader.New("left", &scenario.File{
				Cluster: []scenario.Source{{Files: []string{filepath.Join(dir, "nodes.yaml")}}},
				Steps:   []scenario.Step{{Name: "apply", Apply: &scenario.Source{Files: []string{filepath.Join(dir, "web.yaml")}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{test.want}, sentences(newWhy(&runCase(t, s).Steps[0]))); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}

// If a search stops when it has found enough nodes, the sentence counts the nodes left among the nodes looked at. A sentence that lists
// only the first and the last group still says how few nodes the groups between had.
func TestWhySaysHowManyNodesWereLookedAt(t *testing.T) {
	found := func(feasible, refused int) placement.Placement {
		return placement.Placement{Nodes: 5000, Decision: placement.Decision{Feasible: feasible}, Filtered: map[string]int{"NodeResourcesFit": refused}}
	}
	placed := []placement.Placement{found(500, 100), found(500, 100), found(20, 4980), found(500, 90), found(500, 80), found(500, 70), found(500, 100)}
	want := "the first 2 of 7 pods had 500 of the 600 nodes looked at left (NodeResourcesFit refused 100), the 4 between had 20 to 500, " +
		"the last had 500 (NodeResourcesFit refused 100)"
	if diff := cmp.Diff(want, describeLeft(groupByRefusals(placed))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func sentences(all []because) []string {
	var texts []string
	for _, because := range all {
		texts = append(texts, because.sentence)
	}
	return texts
}

// A pod whose volume is elsewhere is refused because of the volume, although its anti-affinity has no free domain, either.
func TestWhyNamesWhatRefuses(t *testing.T) {
	s, err := loader.New("volume", &scenario.File{
		Cluster:   []scenario.Source{{Files: []string{filepath.Join("testdata", "volume.yaml")}}},
		Workloads: []scenario.Source{{Files: []string{filepath.Join("testdata", "volume-workload.yaml")}}},
		Steps:     []scenario.Step{{Name: "cordon", Cordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: []string{"n1"}}}}, {Name: "delete", Delete: &scenario.Delete{Targets: []string{"pod/db-0"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	steps := runCase(t, s).Steps
	want := []string{"statefulset/db: 1 pod is Pending, because NodeUnschedulable refuses 1 node (node(s) were unschedulable) and " +
		"VolumeBinding refuses 1 node (node(s) didn't match PersistentVolume's node affinity)."}
	if diff := cmp.Diff(want, sentences(newWhy(&steps[len(steps)-1]))); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
}
