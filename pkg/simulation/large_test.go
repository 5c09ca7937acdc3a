package simulation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// A recorded case of 300 nodes and 3,000 pods under ten rules. The recorded runs differ from each other by one or two pods per zone; so may
// this one from each of them.
func TestLargeCaseAgreesWithARealControlPlane(t *testing.T) {
	dir := filepath.Join("testdata", "groundtruth", "h-large")
	data, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Runs []struct {
			Bound, Pending int
			Zones          map[string]map[string]int
			Messages       map[string]int
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("h-large", &scenario.File{
		Cluster:   []scenario.Source{{Files: []string{filepath.Join(dir, "nodes.yaml")}}},
		Workloads: []scenario.Source{{Files: []string{filepath.Join(dir, "01-ten-deployments.yaml")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	step := &runCase(t, s).Steps[0]
	zoneOf := map[string]string{"": "(pending)"}
	for _, node := range step.State.Nodes {
		zoneOf[node.Name] = node.Labels[v1.LabelTopologyZone]
	}
	zones := map[string]map[string]int{}
	for app, nodes := range byApp(step.State) {
		zones[app] = map[string]int{}
		for node, pods := range nodes {
			zone := "(pending)"
			if node != zone {
				zone = zoneOf[node]
			}
			zones[app][zone] += pods
		}
	}
	counts := map[string]int{}
	for _, pending := range step.Pending {
		counts[pending.Message]++
	}
	within2 := cmp.Comparer(func(a, b int) bool { return a-b <= 2 && b-a <= 2 })
	for i, run := range recorded.Runs {
		if got := len(step.Placed); got != run.Bound {
			t.Errorf("run %d: %d pods bound, want %d", i, got, run.Bound)
		}
		if diff := cmp.Diff(run.Messages, counts); diff != "" {
			t.Errorf("run %d: messages (-recorded +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(run.Zones, zones, within2); diff != "" {
			t.Errorf("run %d: pods by zone (-recorded +got):\n%s", i, diff)
		}
	}
}
