package simulation

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// Two Deployments of two pods each share a node for two pods; the first to arrive gets both places.
func TestArrivals(t *testing.T) {
	deployment := func(name string) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": %[1]q}, "spec": {"replicas": 2,
			"selector": {"matchLabels": {"app": %[1]q}}, "template": {"metadata": {"labels": {"app": %[1]q}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`, name)}
	}
	node := runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "2"}}}`)}
	first := func(arrivals string, seed uint64) string {
		s, err := loader.New("arrivals", &scenario.File{
			Arrivals: arrivals, Seed: &seed, Cluster: []scenario.Source{{Objects: []runtime.RawExtension{node}}},
			Workloads: []scenario.Source{{Objects: []runtime.RawExtension{deployment("a"), deployment("b")}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		placed := runCase(t, s).Steps[0].Placed
		if len(placed) != 2 || placed[0].Pod.Labels["app"] != placed[1].Pod.Labels["app"] {
			t.Fatalf("seed %d: %d placed, want both pods of one", seed, len(placed))
		}
		return placed[0].Pod.Labels["app"]
	}
	seen := map[string]int{}
	for seed := range uint64(40) {
		if first("", seed) != "a" {
			t.Errorf("seed %d: as listed, a comes first", seed)
		}
		winner := first("random", seed)
		if again := first("random", seed); again != winner {
			t.Errorf("seed %d: %s comes first, and another time %s", seed, winner, again)
		}
		seen[winner]++
	}
	// Both are equally likely; fewer than 8 of 40 has a probability of 1 in 20,000.
	if seen["a"] < 8 || seen["b"] < 8 {
		t.Errorf("first came %v", seen)
	}
}
