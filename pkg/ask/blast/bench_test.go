package blast

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// generated returns a cluster of 3 regions × 3 zones with Deployments of 100 pods each, ten pods per node, dealt to the nodes in turn.
// Placing them with the scheduler would take minutes, and is not what is measured.
func generated(b *testing.B, nodes int) *cluster.State {
	b.Helper()
	three := 3
	spec := &topology.Spec{
		Regions: []topology.Region{{Name: "eu"}, {Name: "us"}, {Name: "ap"}},
		Zones:   []topology.Zone{{Count: &three}},
		NodeGroups: []topology.NodeGroup{{
			Name: "worker", Total: &nodes, CPU: "16", Memory: "64Gi",
		}},
	}
	var workloads scenario.Source
	for i := range nodes / 10 {
		data, err := yaml.YAMLToJSON([]byte(pods("Deployment", fmt.Sprintf("app%d", i), 100, "100m", "")))
		if err != nil {
			b.Fatal(err)
		}
		workloads.Objects = append(workloads.Objects, k8sruntime.RawExtension{Raw: data})
	}
	s, err := loader.New("generated", &scenario.File{Cluster: []scenario.Source{{Synthetic: spec}}, Workloads: []scenario.Source{workloads}})
	if err != nil {
		b.Fatal(err)
	}
	state, _, err := admission.Admit(&cluster.State{Now: cluster.Epoch}, append(s.Cluster, s.Workloads...)...)
	if err != nil {
		b.Fatal(err)
	}
	var controllers controller.Controllers
	for range 4 { // pods are created, then counted
		if state, err = controllers.Reconcile(state); err != nil {
			b.Fatal(err)
		}
		var bound []cluster.Object
		for i, pod := range state.Unscheduled() {
			bound = append(bound, cluster.BindPod(pod, state.Nodes[i%nodes].Name, cluster.Epoch.Add(1)))
		}
		state = state.With(bound...)
	}
	return state
}

// BenchmarkRecoverZones recovers from the loss of each of nine zones, whose nodes are deleted.
func BenchmarkRecoverZones(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		b.Run(fmt.Sprintf("%dNodes_%dPods", nodes, 10*nodes), func(b *testing.B) { recoverZones(b, nodes, node.Deleted) })
	}
}

// BenchmarkRecoverUnreachableZones is the same where nodes do not answer, so that their pods are evicted node by node.
func BenchmarkRecoverUnreachableZones(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		b.Run(fmt.Sprintf("%dNodes_%dPods", nodes, 10*nodes), func(b *testing.B) { recoverZones(b, nodes, node.Unreachable) })
	}
}

func recoverZones(b *testing.B, nodes int, mode node.FailureMode) {
	state := generated(b, nodes)
	config, err := sched.DefaultConfig()
	if err != nil {
		b.Fatal(err)
	}
	opts := Options{Levels: []string{v1.LabelTopologyZone}, Simultaneous: 1, Mode: mode}
	placed := 0
	for b.Loop() {
		analysis, err := Lost(state, opts)
		if err != nil {
			b.Fatal(err)
		}
		if err := Recover(b.Context(), state, &scenario.Scenario{Config: config}, analysis, opts, nil); err != nil {
			b.Fatal(err)
		}
		for _, failure := range analysis.Levels[0].Failures {
			placed += len(failure.Recovery.Recovered)
		}
	}
	b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "pods/s")
}

// BenchmarkPlaceLost places as many pods as a zone has, on a cluster with all others: the minimum cost of a recovery.
func BenchmarkPlaceLost(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		b.Run(fmt.Sprintf("%dNodes_%dPods", nodes, 10*nodes), func(b *testing.B) {
			state := generated(b, nodes)
			config, err := sched.DefaultConfig()
			if err != nil {
				b.Fatal(err)
			}
			domains, _ := topology.Domains(state.Nodes, v1.LabelTopologyZone)
			var names []string
			for _, node := range domains[0].Nodes {
				names = append(names, node.Name)
			}
			failed, err := node.Fail(state, node.Deleted, names...)
			if err != nil {
				b.Fatal(err)
			}
			var controllers controller.Controllers
			for range 3 {
				if failed, err = controllers.Reconcile(failed); err != nil {
					b.Fatal(err)
				}
			}
			engine, err := sched.NewEngine(config, sched.Ties{})
			if err != nil {
				b.Fatal(err)
			}
			defer engine.Close()
			if _, err := engine.Place(b.Context(), failed, nil); err != nil {
				b.Fatal(err)
			}
			lost := failed.Unscheduled()
			for b.Loop() {
				engine.Reset()
				if _, err := engine.Place(b.Context(), failed, lost); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(lost)*b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
}
