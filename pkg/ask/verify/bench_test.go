package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// generateLargeCluster returns the dump of a cluster of 120 nodes to which workloads with many rules came: 1,485 pods exist, and the pods of every fifth
// workload are gone. The facts say when and where all pods were placed.
func generateLargeCluster(tb testing.TB) (*cluster.State, []fact) {
	tb.Helper()
	r := rand.New(rand.NewPCG(11, 0))
	raw := func(format string, args ...any) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, format, args...)}
	}
	var nodes []runtime.RawExtension
	for i := range 120 {
		size := 1 + r.IntN(2)
		nodes = append(nodes, raw(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n%03d", "labels": {"kubernetes.io/hostname": "n%03[1]d",
			"topology.kubernetes.io/zone": "z%d"}}, "status": {"capacity": {"cpu": "%d", "memory": "%dGi", "pods": "110"}}}`, i, i%3, 16*size, 64*size))
	}
	file := &scenario.File{Cluster: []scenario.Source{{Objects: nodes}}}
	workload := func(name string, replicas int) runtime.RawExtension {
		key := []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)]
		term := fmt.Sprintf(`{"topologyKey": %q, "labelSelector": {"matchLabels": {"app": %q}}}`, key, name)
		rule := []string{
			"", "",
			fmt.Sprintf(`, "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": %d, "podAffinityTerm": %s}]}}`, 1+r.IntN(100), term),
			fmt.Sprintf(`, "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": %d, "podAffinityTerm": %s}]}}`, 1+r.IntN(100), term),
			fmt.Sprintf(`, "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": %q, "topologyKey": %q, "labelSelector": {"matchLabels": {"app": %q}}}]`,
				[]string{"DoNotSchedule", "ScheduleAnyway"}[r.IntN(2)], key, name),
		}[r.IntN(5)]
		return raw(`{"apiVersion": "apps/v1", "kind": %q, "metadata": {"name": %q}, "spec": {"replicas": %d, "selector": {"matchLabels": {"app": %[2]q}},
			"template": {"metadata": {"labels": {"app": %[2]q}}, "spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "%[4]dm", "memory": "%[5]dMi"}}}]%[6]s}}}}`,
			[]string{"Deployment", "StatefulSet"}[r.IntN(2)], name, replicas, 50*(1+r.IntN(6)), 128*(1+r.IntN(8)), rule)
	}
	wanted := 1485
	for i := 0; wanted > 0; i++ {
		step := scenario.Step{Name: fmt.Sprintf("step-%d", i), Apply: &scenario.Source{Objects: []runtime.RawExtension{}}}
		n := min(wanted, 1+r.IntN(40))
		wanted -= n
		step.Apply.Objects = append(step.Apply.Objects, workload(fmt.Sprintf("w%d", i), n))
		if i%5 == 0 {
			step.Apply.Objects = append(step.Apply.Objects, workload(fmt.Sprintf("gone%d", i), 1+r.IntN(20)))
		}
		file.Steps = append(file.Steps, step)
	}
	run := runFile(tb, file)
	state := run.State()
	var facts []fact
	for _, step := range run.Steps {
		for _, placed := range step.Placed {
			at := cluster.Epoch.Add(time.Duration(len(facts)) * 50 * time.Millisecond)
			facts = append(facts, fact{kind: podScheduled, at: at, exact: true, pod: cluster.NameOf(placed.Pod), uid: placed.Pod.UID, node: placed.Node, version: fmt.Sprint(len(facts) + 1)})
		}
	}
	var left []cluster.Object
	for _, pod := range state.Pods {
		if strings.HasPrefix(pod.Labels["app"], "gone") {
			left = append(left, pod)
		}
	}
	return state.Without(left...), facts
}

// BenchmarkDump replays a dump in which two thirds of the placements diverge. BenchmarkHistory replays a dump with the time and node of
// every placement, but without the ends of the pods that are gone.
func BenchmarkDump(b *testing.B)    { benchmarkLarge(b, false) }
func BenchmarkHistory(b *testing.B) { benchmarkLarge(b, true) }

func benchmarkLarge(b *testing.B, history bool) {
	state, facts := generateLargeCluster(b)
	s := dump(b, state)
	var opts Options
	if history {
		opts.History = &History{facts: facts}
	}
	for b.Loop() {
		result, err := Run(b.Context(), s, opts)
		if err != nil {
			b.Fatal(err)
		}
		of := result.Count()
		b.ReportMetric(100*float64(of.Explained)/float64(of.Choices), "%explained")
	}
}
