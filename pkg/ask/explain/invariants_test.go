package explain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/variant"
)

// generated returns a small random world in which pods often have no place: nodes in zones, small, tainted or cordoned, and workloads with
// every kind of hard rule; then one is scaled, and a node is drained.
func generated(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	fmt.Fprintf(&b, "ties: %s\nseed: %d\ncluster:\n- objects:\n", []string{"upstream", "random"}[r.IntN(2)], seed)
	for i := range 2 + r.IntN(4) {
		spec := []string{"", "", "", "unschedulable: true", "taints: [{key: dedicated, value: db, effect: NoSchedule}]"}[r.IntN(5)]
		b.WriteString(node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", r.IntN(3)), spec))
	}
	b.WriteString("workloads:\n- objects:\n")
	for i := range 2 {
		app := fmt.Sprintf("app%d", i)
		key := []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)]
		spec := []string{ // no workload has two rules
			"",
			`, nodeSelector: {topology.kubernetes.io/zone: z0}`,
			`, topologySpreadConstraints: [{maxSkew: 1, topologyKey: ` + key + `, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`,
			`, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ` + key + `, labelSelector: {matchLabels: {app: web}}}]}}`,
			`, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n0]}]}]}}}`,
		}[r.IntN(5)]
		requests := fmt.Sprintf("cpu: %dm, memory: %dMi", 100*(1+r.IntN(30)), 512*(1+r.IntN(8)))
		kind := []string{"Deployment", "Deployment", "StatefulSet"}[r.IntN(3)]
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(workload(kind, 1+r.IntN(6), requests, spec), "app: web", "app: "+app), "name: web", "name: "+app))
	}
	b.WriteString("steps:\n- {name: drain, drain: {names: [n0]}}\n")
	return b.String()
}

// Without a rule that decides nothing, every pod of the workload is where it was; and the numbers of an effect are those of its own run.
func TestEffectsHold(t *testing.T) {
	deciding, idle := 0, 0
	for seed := range uint64(30) {
		result := simulated(t, generated(seed))
		for i := range result.Steps {
			step := &result.Steps[i]
			for owner, pods := range podsOf(step.State) {
				effects, err := Effects(context.Background(), result, step.Name, owner, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range effects {
					without, err := runToLastStep(context.Background(), variant.Edit(result.Scenario.CutAfter(step.Name), owner, func(spec *v1.PodSpec) {
						spec.Affinity, spec.NodeSelector, spec.TopologySpreadConstraints = nil, nil, nil // no workload has two
					}))
					if err != nil {
						t.Fatal(err)
					}
					nodes := func(pods []*v1.Pod) string {
						var all []string
						for _, pod := range pods {
							all = append(all, pod.Spec.NodeName)
						}
						return strings.Join(all, " ")
					}
					same := nodes(pods) == nodes(podsOf(without.State)[owner])
					if e.Decides {
						deciding++
					} else if idle++; !same {
						t.Errorf("world %d, step %s: %s of %s decides nothing, and without it the pods are on %s", seed, step.Name, e.Rule, owner, nodes(pods))
					}
					if e.Pending != len(step.Pending) || e.PendingWithout != len(without.Pending) {
						t.Errorf("world %d, step %s: %s of %s has %d and %d Pending, not %d and %d", seed, step.Name, e.Rule, owner,
							len(step.Pending), len(without.Pending), e.Pending, e.PendingWithout)
					}
				}
			}
		}
	}
	if deciding < 10 || idle < 10 {
		t.Errorf("%d rules decide and %d do not: the worlds show nothing", deciding, idle)
	}
}
