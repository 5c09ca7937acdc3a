package capacity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
)

func size(t *testing.T, s *scenario.Scenario, opts capacity.SizeOptions) *capacity.Sizing {
	t.Helper()
	opts.Most, opts.Mode = 300, node.Unreachable
	sizing, err := capacity.Size(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return sizing
}

// counts returns the nodes of each group by zone; nil if no numbers suffice.
func counts(sizing *capacity.Sizing) [][]int {
	if !sizing.Found {
		return nil
	}
	return byZone(sizing.Groups)
}

func byZone(groups []capacity.Group) [][]int {
	var all [][]int
	for _, g := range groups {
		var zones []int
		for _, z := range g.Zones {
			zones = append(zones, z.Nodes)
		}
		all = append(all, zones)
	}
	return all
}

// cost returns the cost of the nodes or, without prices, their number.
func cost(price *float64, nodes int) float64 {
	if price == nil {
		return float64(nodes)
	}
	return *price
}

func TestSize(t *testing.T) {
	// A small node holds 2 pods for 0.3, a large one 6 for 0.8.
	const two = `{"nodeGroups": [{"name": "small", "count": 1, "cpu": 2, "memory": "32Gi", "pricePerHour": 0.3},
		{"name": "large", "count": 1, "cpu": 6, "memory": "32Gi", "pricePerHour": 0.8}]}`
	for _, test := range []struct {
		name, world string
		replicas    int
		more        string
		opts        capacity.SizeOptions
		want        [][]int
		cost        float64
		fewer       int // pods without a node with one node fewer of the first group that has any
	}{
		// 13 pods of 1 core: with 4 per node and the same number of nodes in each of three zones, 6 nodes hold 24, and 3 hold 12.
		{"the same in all zones", three, 13, "", capacity.SizeOptions{}, [][]int{{2, 2, 2}}, 6, 1},
		// Each zone on its own: 4 nodes hold 16.
		{"free", three, 13, "", capacity.SizeOptions{Free: true}, [][]int{{4, 0, 0}}, 4, 1},
		// 9 pods: 3 nodes hold 12, and 8 when one is lost; so there are 6.
		{"while a zone may fail", three, 9, "", capacity.SizeOptions{Options: capacity.Options{Survive: []string{zone}}}, [][]int{{2, 2, 2}}, 6, 1},
		// 8 pods: one large and one small are 1.1; four small are 1.2, two large 1.6.
		{"a mix is the cheapest", two, 8, "", capacity.SizeOptions{}, [][]int{{1}, {1}}, 1.1, 2},
		// Without the small group the scenario's large node is kept, and 2 pods are left for the small one.
		{"one group", two, 8, "", capacity.SizeOptions{Groups: []string{"small"}}, [][]int{{1}, {1}}, 0.3, 2},
		// Where a price is missing, nodes are counted; the price of a group that is kept does not matter.
		{"an unknown price", strings.Replace(two, `, "pricePerHour": 0.3`, "", 1), 8, "", capacity.SizeOptions{}, [][]int{{1}, {1}}, 2, 2},
		{"an unknown price is kept", strings.Replace(two, `, "pricePerHour": 0.8`, "", 1), 8, "", capacity.SizeOptions{Groups: []string{"small"}}, [][]int{{1}, {1}}, 0.3, 2},
		// The rule requires one node per pod, so the small ones are the cheapest.
		{"a rule", two, 3, apart, capacity.SizeOptions{}, [][]int{{3}, {0}}, 0.9, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			sizing := size(t, scenarioOf(t, test.world, deployment("web", test.replicas, "1", "1Gi", test.more)), test.opts)
			if diff := cmp.Diff(test.want, counts(sizing)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := cost(sizing.Cost, sizing.Nodes); got != test.cost || !sizing.Proven {
				t.Errorf("cost %v, proven %t; want %v, true", got, sizing.Proven, test.cost)
			}
			if len(sizing.Fewer) == 0 || sizing.Fewer[0].Stranded != test.fewer || sizing.Fewer[0].Message == "" {
				t.Errorf("with one node fewer: %+v; want %d pods without a node", sizing.Fewer, test.fewer)
			}
		})
	}
}

// Sizing says what equal zones cost if fewer nodes suffice without them: 9 small pods need one node, and one more if a zone may fail; 13
// pods of 1 core need 4 nodes of 4 cores. 12 pods need the three nodes that they have, one in each zone.
func TestSizeUneven(t *testing.T) {
	for _, test := range []struct {
		name     string
		replicas int
		cpu      string
		opts     capacity.SizeOptions
		want     [][]int
		cost     float64
	}{
		{"one would do", 9, "100m", capacity.SizeOptions{}, [][]int{{0, 0, 1}}, 1},
		{"two, as a zone may fail", 9, "100m", capacity.SizeOptions{Options: capacity.Options{Survive: []string{zone}}}, [][]int{{0, 1, 1}}, 2},
		{"four of six", 13, "1", capacity.SizeOptions{}, [][]int{{0, 2, 2}}, 4},
		{"none can be spared", 12, "1", capacity.SizeOptions{}, nil, 0},
		{"they may differ", 13, "1", capacity.SizeOptions{Free: true}, nil, 0},
	} {
		sizing := size(t, scenarioOf(t, three, deployment("web", test.replicas, test.cpu, "1Mi", "")), test.opts)
		uneven := &capacity.Cheaper{}
		if sizing.Uneven != nil {
			uneven = sizing.Uneven
		}
		got := cost(uneven.Cost, uneven.Nodes)
		if diff := cmp.Diff(test.want, byZone(uneven.Groups)); diff != "" || got != test.cost {
			t.Errorf("%s: cost %v, want %v, nodes (-want +got)\n%s", test.name, got, test.cost, diff)
		}
	}
}

// A pod that is larger than any node fits on no number of nodes.
func TestSizeFindsNone(t *testing.T) {
	sizing := size(t, scenarioOf(t, three, deployment("web", 1, "5", "1Gi", "")), capacity.SizeOptions{})
	if counts(sizing) != nil || len(sizing.Fewer) != 1 || sizing.Fewer[0].Stranded != 1 || sizing.Tried != 1 {
		t.Errorf("found %v, %+v after %d; want none, and the pod that has no node, at once", counts(sizing), sizing.Fewer, sizing.Tried)
	}
}

// Pods that no number of nodes places are set aside and counted, and the rest is sized: 9 pods of 1 core need 3 nodes of 4.
func TestSizeSetsAside(t *testing.T) {
	zoned := strings.Replace(apart, "kubernetes.io/hostname", zone, 1)
	for _, test := range []struct {
		name string
		more runtime.RawExtension
		want string
		opts capacity.SizeOptions
		size [][]int
	}{
		{"larger than any node", deployment("giant", 2, "5", "1Gi", ""), "deployment/giant 2, empty", capacity.SizeOptions{}, [][]int{{1, 1, 1}}},
		{"no node has the label", deployment("picky", 1, "1", "1Gi", `"nodeSelector": {"disk": "ssd"}, `), "deployment/picky 1, empty", capacity.SizeOptions{}, [][]int{{1, 1, 1}}},
		// Five pods, one per zone at most, in three zones: 12 cores for 9 pods and 3.
		{"more than zones", deployment("web", 5, "1", "1Gi", zoned), "deployment/web 2", capacity.SizeOptions{}, [][]int{{1, 1, 1}}},
		// Two zones are left, of which each has one of the three. The 9 pods then need 2 nodes of 4 cores in each, and with the other two 11 of 16.
		{"more than zones that are left", deployment("web", 3, "1", "1Gi", zoned), "deployment/web 1 without a, deployment/web 1 without b, deployment/web 1 without c",
			capacity.SizeOptions{Options: capacity.Options{Survive: []string{zone}}}, [][]int{{2, 2, 2}}},
	} {
		sizing := size(t, scenarioOf(t, three, deployment("rest", 9, "1", "1Gi", ""), test.more), test.opts)
		var aside []string
		for _, a := range sizing.Aside {
			line := fmt.Sprint(a.Workload, " ", a.Pods)
			if a.Empty {
				line += ", empty"
			}
			if a.Domain != "" {
				line += " without " + a.Domain
			}
			aside = append(aside, line)
		}
		if diff := cmp.Diff(test.want, strings.Join(aside, ", ")); diff != "" {
			t.Errorf("%s: set aside (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.size, counts(sizing)); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", test.name, diff)
		}
	}
}

// A bound that is too low for the proof is reported.
func TestSizeReportsItsBound(t *testing.T) {
	s := scenarioOf(t, three, deployment("web", 9, "1", "1Gi", ""))
	sizing, err := capacity.Size(t.Context(), s, capacity.SizeOptions{Most: 1, Free: true,
		Options: capacity.Options{Survive: []string{zone}, Mode: node.Unreachable}})
	if err != nil {
		t.Fatal(err)
	}
	if counts(sizing) == nil || sizing.Proven {
		t.Errorf("counts %v, proven %t; want some, unproven", counts(sizing), sizing.Proven)
	}
}

func TestSizeRefuses(t *testing.T) {
	s, want := scenarioOf(t, three, deployment("web", 1, "1", "1Gi", "")), `no node group "gpu"; there is node`
	nodes := &scenario.NodesInTurn{}
	for _, step := range []scenario.Step{{Name: "cordon", Cordon: nodes}, {Name: "uncordon", Uncordon: nodes}, {Name: "drain", Drain: &scenario.Drain{}},
		{Name: "fail", Fail: &scenario.Fail{}}, {Name: "restore", Restore: nodes}} {
		s = s.AppendStep(step)
		want += fmt.Sprintf("\nstep %q acts on nodes by name; give an earlier one with --step", step.Name)
	}
	_, err := capacity.Size(t.Context(), s, capacity.SizeOptions{Groups: []string{"gpu"}})
	var wrong *capacity.InputError
	if !errors.As(err, &wrong) {
		t.Fatalf("error %v; want an InputError", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, err = capacity.Size(t.Context(), &scenario.Scenario{}, capacity.SizeOptions{})
	if err == nil || !strings.HasPrefix(err.Error(), "no nodes to size") {
		t.Errorf("without nodes: %v", err)
	}
}
