package capacity

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// A plain node has 4 cores, of which an agent takes 1, and a tainted node has 4. Two pods of 2 cores tolerate the taint, and one does not.
// With one node of each, the three need 6 of 3 + 4 cores; without the plain node, the one has no node.
func TestEnough(t *testing.T) {
	four := func() []ZoneNodes {
		return []ZoneNodes{{Nodes: []*v1.Node{{Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("4")}}}}}}
	}
	z := &sizer{groups: []NodeGroup{{Name: "plain", Zones: four()}, {Name: "tainted", Zones: four()}}, numbers: []number{{0, []int{0}, 1}, {1, []int{0}, 1}}}
	z.agents, z.demands = map[*v1.Node]amounts{z.groups[0].Zones[0].Nodes[0]: {"cpu": 1000}}, map[demandKey]*demand{}
	two := v1.ResourceList{"cpu": resource.MustParse("2")}
	for _, groups := range [][]bool{{true, true}, {true, false}, {true, true}} {
		z.addDemand(cluster.Ref{}, groups, returnsMaybe, two)
	}
	for point, want := range map[[2]int]bool{{1, 1}: true, {0, 2}: false, {1, 0}: false, {2, 0}: true, {0, 9}: false} {
		if got := z.hasResources(point[:]); got != want {
			t.Errorf("%v nodes are enough: %t, want %t", point, got, want)
		}
	}
}

// What certainly comes back must fit without the largest domain. What comes back unless it is lost needs further room. With 2 certain, 4
// unless lost and two domains, let x of the 4 be in the first: after its loss 2 + 4 − x must fit into the second, and after the other loss
// 2 + x into the first. Both domains together need 8.
func TestFits(t *testing.T) {
	for _, test := range []struct {
		certain, unlessLost, rest int64
		lost                      []int64
		want                      bool
	}{
		{6, 0, 0, []int64{3, 3, 3}, true},
		{7, 0, 0, []int64{3, 3, 3}, false},
		{6, 0, 0, []int64{5, 2, 2}, false},
		{6, 0, 2, []int64{5, 2, 2}, true},
		{2, 4, 0, []int64{4, 4}, true},
		{2, 4, 0, []int64{4, 3}, false},
		{0, 9, 0, []int64{3, 3, 3}, true},
		{0, 10, 0, []int64{3, 3, 3}, false},
		{1, 1, 2, []int64{0, 0}, true},
		{1, 2, 2, []int64{0, 0}, false},
		{1, 0, 0, []int64{5, 0}, false},
	} {
		if got := fitsAfterLosses(test.certain, test.unlessLost, test.rest, test.lost); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// A comeback is certain only if a controller replaces the pod at once, however it was lost. A pod that stays on its node, or waits for
// others in order, comes back unless it is lost itself.
func TestComebacks(t *testing.T) {
	var objects []cluster.Object
	controlled := func(kind, name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid, Controller: new(true)}}
	}
	pod := func(name, namespace string, by []metav1.OwnerReference, change func(*v1.PodSpec)) {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name), OwnerReferences: by}}
		p.Spec.Priority = new(int32(100))
		if change != nil {
			change(&p.Spec)
		}
		objects = append(objects, p)
	}
	set := func(name, deployment string) []metav1.OwnerReference {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("rs " + name)}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}}
		if deployment != "" {
			rs.OwnerReferences = controlled("Deployment", deployment, types.UID(deployment))
		}
		objects = append(objects, rs)
		return controlled("ReplicaSet", name, rs.UID)
	}
	stateful := func(name string, policy appsv1.PodManagementPolicyType) []metav1.OwnerReference {
		sts := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("sts " + name)}, Spec: appsv1.StatefulSetSpec{PodManagementPolicy: policy}}
		objects = append(objects, sts)
		return controlled("StatefulSet", name, sts.UID)
	}
	low := func(s *v1.PodSpec) { s.Priority = new(int32(0)) }
	stays := func(s *v1.PodSpec) { s.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }
	waits := func(s *v1.PodSpec) {
		s.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}}
	}
	objects = append(objects, &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "limited"}})
	pod("alone", "", set("a", ""), nil)
	pod("after five minutes", "", set("b", "web"), waits)
	pod("stays", "", set("c", "db"), stays)
	pod("old of a rollout", "", set("d1", "api"), nil)
	pod("new of a rollout", "", set("d2", "api"), nil)
	pod("limited", "limited", set("e", ""), nil)
	pod("bare", "", nil, nil)
	pod("of a job", "", controlled("Job", "j", "j"), nil)
	pod("in order", "", stateful("f", appsv1.OrderedReadyPodManagement), nil)
	pod("in order, lower", "", stateful("g", appsv1.OrderedReadyPodManagement), low)
	pod("together, lower", "", stateful("h", appsv1.ParallelPodManagement), low)
	certainly := []string{"alone", "after five minutes"}
	unless := []string{"stays", "in order", "together, lower"}
	for _, mode := range []node.FailureMode{node.Unreachable, node.Deleted} {
		z := &sizer{state: (&cluster.State{}).With(objects...)}
		z.opts.Mode = mode
		want, got := map[string]comeback{}, map[string]comeback{}
		back := z.comebacks()
		for _, pod := range z.state.Pods {
			got[pod.Name] = back(pod)
			switch {
			case slices.Contains(certainly, pod.Name), pod.Name == "stays" && mode == node.Deleted:
				want[pod.Name] = returnsCertainly
			case slices.Contains(unless, pod.Name):
				want[pod.Name] = returnsUnlessLost
			default:
				want[pod.Name] = returnsMaybe
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

// A cluster that the bounds call too small leaves a pod without a node, in worlds of pods that come back and pods that do not, of groups
// that take all pods or some, with zones that are deleted or do not answer.
func TestTooFewAreNotEnough(t *testing.T) {
	refused := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		mode := []node.FailureMode{node.Unreachable, node.Deleted}[seed%2]
		z, objects := sizerOf(t, r, mode)
		lacks, err := z.tryCluster(t.Context(), true, z.presentCounts())
		if err != nil {
			t.Fatal(err)
		}
		if err := z.sumDemands(t.Context(), lacks); err != nil {
			t.Fatal(err)
		}
		if len(lacks) > 0 {
			z.setAside(lacks, false)
		}
		tried := 0
		for range 300 {
			point := make([]int, len(z.numbers))
			for i := range point {
				point[i] = r.IntN(5)
			}
			if z.hasResources(point) || !z.bounds[0].allows(z.counts(point)) {
				continue // or too few without a failure, which is the simpler question
			}
			if tried++; tried > 6 {
				break
			}
			refused++
			lacks, err := z.runCluster(t.Context(), z.world, point, false)
			if err != nil {
				t.Fatal(err)
			}
			if len(lacks) == 0 {
				t.Fatalf("seed %d, %s: %v nodes are called too few, but all has a node and comes back, of\n%s", seed, mode, point, objects)
			}
		}
	}
	if refused < 150 {
		t.Errorf("only %d were refused: too few to test anything", refused)
	}
}

// sizerOf returns a sizer for a cluster with random pods and room for all of them.
func sizerOf(t *testing.T, r *rand.Rand, mode node.FailureMode) (*sizer, string) {
	t.Helper()
	const world = `{"synthetic": {"regions": [{"name": "r", "zones": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}], "nodeGroups": [
		{"name": "plain", "count": 8, "cpu": 4, "memory": "16Gi"},
		{"name": "special", "count": 4, "cpu": 8, "memory": "16Gi", "labels": {"special": "true"}, "taints": [{"key": "special", "effect": "NoSchedule"}]}]}}`
	file := &scenario.File{Cluster: []scenario.Source{{}}}
	if err := json.Unmarshal([]byte(world), &file.Cluster[0]); err != nil {
		t.Fatal(err)
	}
	var objects []runtime.RawExtension
	add := func(format string, args ...any) {
		objects = append(objects, runtime.RawExtension{Raw: fmt.Appendf(nil, format, args...)})
	}
	add(`{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}`)
	if r.IntN(3) == 0 {
		add(`{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"pods": "%d"}}}`, 8+r.IntN(16))
	}
	for i := range 3 + r.IntN(6) {
		tolerations := ""
		switch r.IntN(5) {
		case 0:
			tolerations = `{"operator": "Exists"}`
		case 1:
			tolerations = `{"key": "special"}`
		}
		priority := ""
		if r.IntN(3) == 0 {
			priority = `"priorityClassName": "high", `
		}
		selector := ""
		if r.IntN(4) == 0 {
			selector, tolerations = `"nodeSelector": {"special": "true"}, `, `{"key": "special"}`
		}
		spec := fmt.Sprintf(`{%s%s"tolerations": [%s], "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "%d", "memory": "1Gi"}}}]`,
			priority, selector, tolerations, 1+r.IntN(2))
		template := fmt.Sprintf(`{"metadata": {"labels": {"app": "w%d"}}, "spec": %s}}`, i, spec)
		selects := fmt.Sprintf(`"selector": {"matchLabels": {"app": "w%d"}}, "template": %s`, i, template)
		switch r.IntN(5) {
		case 0:
			policy := []string{"Parallel", "OrderedReady"}[r.IntN(2)]
			add(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "w%d"}, "spec": {"replicas": %d, "podManagementPolicy": %q, %s}}`, i, 1+r.IntN(4), policy, selects)
		case 1:
			add(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "w%d"}, "spec": {"parallelism": %d, "template": {"spec": %s, "restartPolicy": "Never"}}}}`, i, 1+r.IntN(3), spec)
		case 2:
			add(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w%d"}, "spec": %s}}`, i, spec)
		default:
			add(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w%d"}, "spec": {"replicas": %d, %s}}`, i, 1+r.IntN(6), selects)
		}
	}
	file.Workloads = []scenario.Source{{Objects: objects}}
	s, err := loader.New("test", file)
	if err != nil {
		t.Fatal(err)
	}
	z := &sizer{scenario: s, results: map[string]clusterResult{}, weakDomains: map[string]string{}, aside: map[failure]map[cluster.Ref]int{}}
	z.opts.Survive, z.opts.Mode, z.opts.Free = []string{v1.LabelTopologyZone}, mode, r.IntN(2) == 0
	if err := z.prepare(); err != nil {
		t.Fatal(err)
	}
	z.worlds = simulation.NewWorlds(s)
	t.Cleanup(z.worlds.Close)
	if z.world, err = z.worlds.First(); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, obj := range objects {
		text += string(obj.Raw) + "\n"
	}
	return z, text
}
