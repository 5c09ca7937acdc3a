package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// generated returns a small random world: nodes in zones, some of them without a zone, tainted or small, and workloads with every kind of
// rule, several priorities, and steps that scale, roll out, drain and lose nodes.
func generated(t *testing.T, seed uint64) *scenario.Scenario {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	file := &scenario.File{Ties: []string{"upstream", "random"}[r.IntN(2)], Seed: &seed}
	source := scenario.Source{}
	for i := range 3 + r.IntN(6) {
		name := fmt.Sprintf("n%d", i)
		nodeLabels := map[string]string{v1.LabelHostname: name}
		if r.IntN(5) > 0 {
			nodeLabels[v1.LabelTopologyZone] = fmt.Sprintf("z%d", r.IntN(3))
		}
		spec := map[string]any{}
		if r.IntN(6) == 0 {
			spec["taints"] = []any{map[string]any{"key": "dedicated", "effect": "NoSchedule"}}
		}
		capacity := map[string]any{"cpu": fmt.Sprint(1 + r.IntN(4)), "memory": "8Gi", "pods": fmt.Sprint(3 + r.IntN(10))}
		source.Objects = append(source.Objects, raw(t, map[string]any{
			"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "labels": nodeLabels},
			"spec": spec, "status": map[string]any{"capacity": capacity, "allocatable": capacity},
		}))
	}
	for name, value := range map[string]int{"low": 10, "high": 1000} {
		source.Objects = append(source.Objects, raw(t, map[string]any{
			"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": name}, "value": value,
		}))
	}
	file.Cluster = []scenario.Source{source}
	apps := 1 + r.IntN(4)
	for i := range apps {
		file.Steps = append(file.Steps, scenario.Step{
			Name: fmt.Sprintf("apply-%d", i), Apply: &scenario.Source{Objects: []runtime.RawExtension{workloadOf(t, r, i, apps)}},
		})
	}
	target := scenario.Target{Target: fmt.Sprintf("deployment/app%d", r.IntN(apps))}
	zone := scenario.Nodes{Names: []string{"n0", "n1"}}
	file.Steps = append(file.Steps,
		scenario.Step{Name: "scale", Scale: &scenario.Scale{Target: target, Replicas: int32(r.IntN(8))}},
		scenario.Step{Name: "rollout", Rollout: &scenario.Rollout{Target: target, Restart: true}},
		scenario.Step{Name: "drain", Drain: &scenario.Drain{Nodes: zone}},
		scenario.Step{Name: "uncordon", Uncordon: &scenario.NodesInTurn{Nodes: zone}},
		scenario.Step{Name: "fail", Fail: &scenario.Fail{Nodes: zone, Mode: []string{"unreachable", "out-of-service", "deleted"}[r.IntN(3)]}},
		scenario.Step{Name: "restore", Restore: &scenario.NodesInTurn{Nodes: zone}},
	)
	s, err := loader.New("generated", file)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return s
}

func workloadOf(t *testing.T, r *rand.Rand, i, apps int) runtime.RawExtension {
	keys := []string{v1.LabelHostname, v1.LabelTopologyZone}
	app := fmt.Sprintf("app%d", i)
	matching := func(app string) map[string]any { return map[string]any{"matchLabels": map[string]any{"app": app}} }
	term := func(app string) map[string]any {
		return map[string]any{"topologyKey": keys[r.IntN(2)], "labelSelector": matching(app)}
	}
	spec := map[string]any{
		"priorityClassName": []string{"low", "high", ""}[r.IntN(3)],
		"containers": []any{map[string]any{"name": "c", "image": "c", "resources": map[string]any{
			"requests": map[string]any{"cpu": fmt.Sprintf("%dm", 100*(1+r.IntN(10))), "memory": "64Mi"}}}},
	}
	switch r.IntN(6) {
	case 0:
		spec["affinity"] = map[string]any{"podAntiAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": []any{term(app)}}}
	case 1:
		spec["affinity"] = map[string]any{"podAntiAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{
			map[string]any{"weight": 1 + r.IntN(100), "podAffinityTerm": term(app)}}}}
	case 2:
		spec["affinity"] = map[string]any{"podAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": []any{term(fmt.Sprintf("app%d", r.IntN(apps)))}}}
	case 3:
		spec["topologySpreadConstraints"] = []any{map[string]any{"maxSkew": 1 + r.IntN(2), "topologyKey": keys[r.IntN(2)],
			"whenUnsatisfiable": []string{"DoNotSchedule", "ScheduleAnyway"}[r.IntN(2)], "labelSelector": matching(app)}}
	case 4:
		spec["tolerations"] = []any{map[string]any{"operator": "Exists"}}
	}
	return raw(t, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": app},
		"spec": map[string]any{"replicas": r.IntN(7), "selector": matching(app),
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": app}}, "spec": spec}},
	})
}

func raw(t *testing.T, object map[string]any) runtime.RawExtension {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

const worlds = 150

// In every world, every pod has a node or is Pending, no node holds more than it can, and no pod broke a hard rule when it was placed.
func TestInvariantsOfGeneratedWorlds(t *testing.T) {
	placed, pending := 0, 0
	for seed := range uint64(worlds) {
		result := runCase(t, generated(t, seed))
		for i := range result.Steps {
			step := &result.Steps[i]
			name := fmt.Sprintf("world %d, step %s", seed, step.Name)
			placed, pending = placed+len(step.Placed), pending+len(step.Pending)
			checkAccounts(t, name, step)
			checkCapacity(t, name, step.State)
			for _, p := range step.Placed {
				checkHardRules(t, name, p, step.State)
			}
		}
	}
	if placed == 0 || pending == 0 {
		t.Errorf("%d pods were placed and %d pending: the worlds show nothing", placed, pending)
	}
}

func checkAccounts(t *testing.T, name string, step *Step) {
	t.Helper()
	waits := map[string]bool{}
	for _, p := range step.Pending {
		waits[p.Pod.Name] = true
		if p.Message == "" {
			t.Errorf("%s: pod %s is Pending without a message", name, p.Pod.Name)
		}
	}
	for _, pod := range step.State.Pods {
		if (pod.Spec.NodeName == "") != waits[pod.Name] {
			t.Errorf("%s: pod %s has node %q, and Pending is %t", name, pod.Name, pod.Spec.NodeName, waits[pod.Name])
		}
		if pod.Spec.NodeName != "" && step.State.Node(pod.Spec.NodeName) == nil {
			t.Errorf("%s: pod %s is on node %s, which is gone", name, pod.Name, pod.Spec.NodeName)
		}
	}
}

func checkCapacity(t *testing.T, name string, state *cluster.State) {
	t.Helper()
	for _, node := range state.Nodes {
		var cpu resource.Quantity
		pods := int64(0)
		for _, p := range state.Pods {
			if p.Spec.NodeName == node.Name {
				requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
				cpu.Add(requests[v1.ResourceCPU])
				pods++
			}
		}
		if cpu.Cmp(node.Status.Allocatable[v1.ResourceCPU]) > 0 {
			t.Errorf("%s: node %s has %s CPU and its pods ask for %s", name, node.Name, node.Status.Allocatable.Cpu(), cpu.String())
		}
		if most := node.Status.Allocatable.Pods().Value(); pods > most {
			t.Errorf("%s: node %s takes %d pods and has %d", name, node.Name, most, pods)
		}
	}
}

// checkHardRules checks the state at the end of the step, when there may be more pods than when this one was placed: required anti-affinity
// also keeps later pods away, so it must still hold. Taints are checked if no step added any.
func checkHardRules(t *testing.T, name string, p placement.Placement, state *cluster.State) {
	t.Helper()
	if p.Pod.Spec.Affinity == nil || p.Pod.Spec.Affinity.PodAntiAffinity == nil {
		return
	}
	for _, term := range p.Pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil {
			t.Fatal(err)
		}
		domains, _ := topology.Domains(state.Nodes, term.TopologyKey)
		for _, domain := range domains {
			here := map[string]bool{}
			for _, node := range domain.Nodes {
				here[node.Name] = true
			}
			if !here[p.Node] {
				continue
			}
			for _, other := range state.Pods {
				if other.UID != p.Pod.UID && here[other.Spec.NodeName] && selector.Matches(labels.Set(other.Labels)) {
					t.Errorf("%s: pods %s and %s share %s %s despite a required anti-affinity", name, p.Pod.Name, other.Name, term.TopologyKey, domain.Value)
				}
			}
		}
	}
}

// The fast path for hostname terms changes how InterPodAffinity counts, but must not change any decision.
func TestHostnameFastPathChangesNothing(t *testing.T) {
	outcome := func(gates string) []map[string]int {
		var all []map[string]int
		for seed := range uint64(40) {
			s := generated(t, seed)
			s.Config = configUnder(t, gates)
			for _, step := range runCase(t, s).Steps {
				all = append(all, byNode(step.State))
			}
		}
		return all
	}
	if diff := cmp.Diff(outcome(""), outcome("InterPodAffinityHostnameFastPath=true")); diff != "" {
		t.Errorf("placements without and with the fast path (-without +with):\n%s", diff)
	}
}
