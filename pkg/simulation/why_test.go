package simulation

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// What decided each step of the walkthrough. Step 5 is due to default spreading alone; in step 8 the zone term and default spreading agree.
func TestWhyOfTheWalkthrough(t *testing.T) {
	s, err := loader.Load(filepath.Join("..", "..", "scenarios", "kind-walkthrough"), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const web = "deployment/lorem-ipsum-deployment: "
	want := map[string][]string{
		"hard-region-2": {web + "1 of 2 pods found only equal nodes (3); 1 of 2 pods had a single node left, since InterPodAffinity and TaintToleration refused the others."},
		"hard-region-3": {web + "1 of 2 pods found only equal nodes (3); 1 of 2 pods had a single node left, since InterPodAffinity and TaintToleration refused the others; " +
			"1 pod is Pending, because the required anti-affinity allows one pod in each topology.kubernetes.io/region, and every one that takes such pods has one (east and west)."},
		"hard-zone-3": {web + "2 of 3 pods found only equal nodes (3); 1 of 3 pods had a single node left, since InterPodAffinity and TaintToleration refused the others."},
		"hard-hostname-4": {web + "2 of 3 pods found only equal nodes (3); 1 of 3 pods had a single node left, since InterPodAffinity and TaintToleration refused the others; " +
			"1 pod is Pending, because the required anti-affinity allows one pod in each kubernetes.io/hostname, and every one that takes such pods has one (affinity-worker, affinity-worker2 and affinity-worker3)."},
		"soft-region-3": {web + "1 of 3 pods found only equal nodes (3); " +
			"the preferred anti-affinity over topology.kubernetes.io/region decided for 1 of 3 pods, by 200 points over affinity-worker2 (without it, 2 equal nodes); " +
			"default PodTopologySpread, not a rule of the pods, decided for 1 of 3 pods, by 68 points over affinity-worker (without it, 3 equal nodes)."},
		"soft-hostname-10": {web + "4 of 10 pods found only equal nodes (3); for 6 of 10 pods several plugins agreed, and none decided alone."},
		"weighted-2": {web + "1 of 2 pods found only equal nodes (3); " +
			"the preferred anti-affinity over topology.kubernetes.io/region and topology.kubernetes.io/zone decided for 1 of 2 pods, by 102 points over affinity-worker2 (without it, 2 equal nodes)."},
		"weighted-3": {web + "for the pod several plugins agreed, and none decided alone."},
	}
	got, spoken := map[string][]string{}, map[string][]string{}
	for _, step := range runCase(t, s).Steps {
		got[step.Name] = sentences(step.Why())
		for _, because := range step.Why() {
			spoken[step.Name] = append(spoken[step.Name], because.Rules...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
	// The rules that the sentences speak of: what refuses is required, what scores is preferred, and where nothing decides there is none.
	required := []string{"affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"}
	preferred := "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
	wantSpoken := map[string][]string{
		"hard-region-2": required, "hard-region-3": required, "hard-zone-3": required, "hard-hostname-4": required,
		"soft-region-3": {preferred + "[0]"}, "soft-hostname-10": nil, "weighted-2": {preferred + "[0]", preferred + "[1]"}, "weighted-3": nil,
	}
	if diff := cmp.Diff(wantSpoken, spoken); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func sentences(all []Because) []string {
	var texts []string
	for _, because := range all {
		texts = append(texts, because.Sentence)
	}
	return texts
}

// A pod whose volume is elsewhere waits for the volume, although its anti-affinity has no domain left either.
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
	if diff := cmp.Diff(want, sentences(steps[len(steps)-1].Why())); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
}
