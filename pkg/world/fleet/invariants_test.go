package fleet_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// generatedFederation returns a small random federation: two or three clusters, policies that divide and duplicate, and steps in which
// workloads are scaled and nodes and clusters fail and come back.
func generatedFederation(t *testing.T, seed uint64) *scenario.Scenario {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("apiVersion: faultline/v1alpha1\nkind: Scenario\nclusters:\n")
	clusters := 2 + r.IntN(2)
	for i := range clusters {
		fmt.Fprintf(&b, "- {name: m%d, region: r%d, cluster: [{synthetic: {nodeGroups: [{name: node, count: %d, cpu: %d, memory: 8Gi}]}}]}\n", i+1, i%2, 1+r.IntN(3), 1+r.IntN(3))
	}
	fmt.Fprintf(&b, "federation: {featureGates: {WorkloadAffinity: true}, estimate: %s", []string{"karmada", "scheduler"}[r.IntN(2)])
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, ", failover: {enabled: true, purgeMode: %s}", []string{"Gracefully", "Directly"}[r.IntN(2)])
	}
	b.WriteString("}\nworkloads:\n- objects:\n")
	placements := []string{
		"{}", "{spreadConstraints: [{maxGroups: 1}], workloadAffinity: {antiAffinity: {groupByLabelKey: group}}}",
		"{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}",
		"{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}",
		"{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}}",
	}
	hard := "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}]}}, "
	apps := 2 + r.IntN(3)
	for i := range apps {
		name := fmt.Sprintf("app%d", i)
		fmt.Fprintf(&b, "  - {apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: %[1]s}], placement: %s}}\n",
			name, placements[r.IntN(len(placements))])
		rule := ""
		if r.IntN(3) == 0 {
			rule = fmt.Sprintf(hard, name)
		}
		fmt.Fprintf(&b, "  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, labels: {group: g%d}}, spec: {replicas: %d, selector: {matchLabels: {app: %[1]s}}, "+
			"template: {metadata: {labels: {app: %[1]s}}, spec: {%[4]scontainers: [{name: c, image: c, resources: {requests: {cpu: %dm}}}]}}}}\n",
			name, r.IntN(2), 1+r.IntN(5), rule, 200+r.IntN(5)*200)
	}
	b.WriteString("steps:\n")
	fmt.Fprintf(&b, "- {name: scale, scale: {target: deployment/app%d, replicas: %d}}\n", r.IntN(apps), r.IntN(7))
	b.WriteString("- {name: a node fails, fail: {names: [m1/node-1]}}\n- {name: a cluster fails, fail: {clusters: [m2]}}\n")
	fmt.Fprintf(&b, "- {name: scale again, scale: {target: deployment/app%d, replicas: %d}}\n", r.IntN(apps), r.IntN(7))
	b.WriteString("- {name: it comes back, restore: {clusters: [m2]}}\n")
	s, err := loader.LoadFS(fstest.MapFS{"scenario.yaml": {Data: []byte(b.String())}}, "scenario.yaml", loader.Options{})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, b.String())
	}
	return s
}

// summaryOf returns the result of a run as text.
func summaryOf(t *testing.T, result *simulation.Result) string {
	t.Helper()
	type decided struct {
		Template, Reason, Message string
		Shares                    []world.Share
	}
	var all []any
	for i := range result.Steps {
		step := &result.Steps[i]
		var decisions []decided
		for _, d := range step.Decisions {
			decisions = append(decisions, decided{d.Binding.Template.String(), d.Binding.Reason, d.Binding.Message, d.Shares})
		}
		all = append(all, step.Name, step.State.Now, nodesOf(step), decisions, step.Notes)
	}
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFederationInvariants(t *testing.T) {
	for seed := range uint64(40) {
		s := generatedFederation(t, seed)
		result, err := simulation.Run(t.Context(), s, simulation.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range result.Steps {
			step := &result.Steps[i]
			for _, pod := range step.State.Pods {
				member, _ := cluster.SplitName(pod.Name)
				if on, _ := cluster.SplitName(pod.Spec.NodeName); pod.Spec.NodeName != "" && on != member || pod.Labels[cluster.MemberLabel] != member {
					t.Errorf("seed %d, %s: pod %s is on %s", seed, step.Name, pod.Name, pod.Spec.NodeName)
				}
			}
			for _, d := range step.Decisions {
				assigned := 0
				for _, share := range d.Shares {
					assigned += share.Assigned
					m := step.State.Federation.Member(share.Cluster)
					settled := !m.Lost && !strings.Contains(step.Name, "node fails") // pods on a silent node run until they are evicted
					if got := share.Running + share.Pending; settled && got != share.Assigned {
						t.Errorf("seed %d, %s: %s has %d pods in %s, and was given %d", seed, step.Name, d.Binding.Template, got, share.Cluster, share.Assigned)
					}
				}
				if b := d.Binding; b.Divided() && b.Scheduled() && assigned != int(b.Template.Replicas) {
					t.Errorf("seed %d, %s: %s of %d replicas was given %d", seed, step.Name, b.Template, b.Template.Replicas, assigned)
				}
			}
		}
	}
}

// The same scenario gives the same bytes, whatever ran before and however many threads there are.
func TestFederationsRunAlike(t *testing.T) {
	for seed := range uint64(10) {
		s := generatedFederation(t, seed)
		run := func(s *scenario.Scenario, procs int, prefix *simulation.Result) string {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			result, err := simulation.Run(t.Context(), s, simulation.Options{Prefix: prefix})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return summaryOf(t, result)
		}
		if diff := cmp.Diff(run(s, 1, nil), run(s, 4, nil)); diff != "" {
			t.Errorf("seed %d: with one thread and with four\n%s", seed, diff)
		}
		known, err := simulation.Run(t.Context(), s, simulation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		other := *s
		other.Steps = slices.Clone(s.Steps)
		other.Steps[3].Scale = &scenario.Scale{Target: scenario.Target{Target: "deployment/app0"}, Replicas: 9}
		if common, ok := scenario.CommonSteps(s, &other); !ok || common != 3 {
			t.Fatalf("seed %d: %d common steps, %t; want 3", seed, common, ok)
		}
		if diff := cmp.Diff(run(&other, 2, nil), run(&other, 2, known)); diff != "" {
			t.Errorf("seed %d: afresh and with the first steps known\n%s", seed, diff)
		}
	}
}

func nodesOf(step *simulation.Step) map[string]string {
	nodes := map[string]string{}
	for _, pod := range step.State.Pods {
		nodes[pod.Name] = pod.Spec.NodeName
	}
	return nodes
}
