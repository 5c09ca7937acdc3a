package blast_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
)

const (
	zone     = v1.LabelTopologyZone
	hostname = v1.LabelHostname
)

// nodes returns nodes n1, n2, ... of 4 CPUs and 16Gi, one in each of the listed zones; "-" means none.
func nodes(zones string) []*v1.Node {
	var all []*v1.Node
	for i, z := range strings.Fields(zones) {
		name := fmt.Sprintf("n%d", i+1)
		labels := map[string]string{hostname: name}
		if z != "-" {
			labels[zone] = z
		}
		all = append(all, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("16Gi")}},
		})
	}
	return all
}

// app returns the manifest of a workload whose pods have the label app.
func app(kind, name string, replicas int, annotations string) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, annotations: {%s}}, spec: {replicas: %d, selector: {matchLabels: {app: %[2]s}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: c, image: c}]}}}}`, kind, name, annotations, replicas)
}

func pdb(name, spec string) string {
	return fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {%s}}`, name, spec)
}

// settled returns the state after the controllers have acted. The pods of each app go to the nodes listed for it, in order; a pod whose
// node has a "!" is not ready, one whose node has a "~" waits for its volume.
func settled(t *testing.T, nodes []*v1.Node, place map[string]string, manifests ...string) *cluster.State {
	t.Helper()
	set, err := manifest.Decode("test.yaml", []byte(strings.Join(manifests, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	var objs []cluster.Object
	for _, node := range nodes {
		objs = append(objs, node)
	}
	for _, obj := range set.Objects {
		objs = append(objs, obj.Object)
	}
	state, _, err := admission.Admit(&cluster.State{Now: cluster.Epoch}, objs...)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string][]string{}
	for app, nodes := range place {
		left[app] = strings.Fields(nodes)
	}
	var controllers controller.Controllers
	for range 100 {
		next, err := controllers.Reconcile(state)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range next.Unscheduled() {
			name := pod.Labels["app"]
			if len(left[name]) == 0 {
				continue
			}
			node, waits := strings.CutSuffix(left[name][0], "~")
			node, unready := strings.CutSuffix(node, "!")
			left[name] = left[name][1:]
			pod = cluster.BindPod(pod, node, next.Now.Time)
			if unready {
				pod.Status.Conditions = nil
			}
			if waits {
				pod = cluster.AwaitVolume(pod, cluster.AttachedTo+"n0", "Waiting for detach", next.Now)
			}
			next = next.With(pod)
		}
		if next == state {
			return state
		}
		state = next
	}
	t.Fatal("the controllers do not come to rest")
	return nil
}

// lost returns the analysis of the levels, one domain at a time.
func lost(t *testing.T, state *cluster.State, opts blast.Options) *blast.Analysis {
	t.Helper()
	opts.Simultaneous = max(1, opts.Simultaneous)
	analysis, err := blast.Lost(state, opts)
	if err != nil {
		t.Fatal(err)
	}
	return analysis
}

func owner(kind, name string) cluster.Ref {
	return cluster.Ref{Kind: kind, Namespace: "default", Name: name}
}

func TestLost(t *testing.T) {
	all := nodes("a a b c -")
	all[4].Status.Allocatable[v1.ResourceCPU] = resource.MustParse("8") // 4+4+4+4+8 = 24 CPUs
	state := settled(t, all,
		map[string]string{"web": "n1 n1! n2 n3 n5 n5", "db": "n1 n3 n4", "agent": "n1 n2 n3 n4 n5", "one": "n2", "idle": ""},
		app("Deployment", "web", 7, ""), // one of them Pending
		app("StatefulSet", "db", 3, "faultline.dev/quorum: majority"),
		app("StatefulSet", "idle", 2, ""), // all Pending
		strings.Replace(app("DaemonSet", "agent", 0, ""), "replicas: 0, ", "", 1),
		`{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: one}}, spec: {containers: [{name: c, image: c}]}}`,
	)
	got := lost(t, state, blast.Options{Levels: []string{zone}})

	web := blast.Loss{Ref: owner("Deployment", "web"), Replicas: 6, Even: 2} // ready or not
	db := blast.Loss{Ref: owner("StatefulSet", "db"), Replicas: 3, Lost: 1, Even: 1, Quorum: 2}
	webA, webB := web, web
	webA.Lost, webB.Lost = 3, 1
	radius := blast.Radius{Share: 0.5, Namespace: "default", Workload: "deployment/web", Domains: []string{"a"}, Lost: 3, Replicas: 6}
	want := &blast.Analysis{Workloads: 2, NotRunning: []string{"statefulset/idle"}, Levels: []blast.Level{{
		TopologyKey: zone, Domains: 3, Unlabelled: []string{"n5"},
		Failures: []blast.Failure{
			{ // 3 web, 1 db, 2 agents and the bare pod; of 24 CPUs 8, of 80Gi 32; 3/6 before 1/3.
				Domains: []string{"a"}, Nodes: []string{"n1", "n2"}, Pods: 7, CPU: 8. / 24, Memory: 32. / 80,
				Workloads: []blast.Loss{webA, db},
			},
			{ // 1 web, 1 db, 1 agent; 1/3 before 1/6.
				Domains: []string{"b"}, Nodes: []string{"n3"}, Pods: 3, CPU: 4. / 24, Memory: 16. / 80,
				Workloads: []blast.Loss{db, webB},
			},
			{ // 1 db, 1 agent.
				Domains: []string{"c"}, Nodes: []string{"n4"}, Pods: 2, CPU: 4. / 24, Memory: 16. / 80,
				Workloads: []blast.Loss{db},
			},
		},
		Radius: radius, Replicated: radius,
		Excess: &blast.Excess{Share: 1. / 6, WorkloadRef: web.Ref.Workload(), Domains: []string{"a"}, Lost: 3, Even: 2, Replicas: 6},
		Shares: []blast.Share{{Share: 1. / 3, Failures: 2}, {Share: 1. / 2, Failures: 1}},
		Mean:   ptr.To((1./3 + 1./3 + 1./2) / 3),
	}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(blast.Loss{}, "SharedFate"), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Pods that have ended, are Pending, or whose node is gone cannot be lost; static pods are not a workload.
func TestLostCountsRunningPods(t *testing.T) {
	state := &cluster.State{Nodes: nodes("a b")}
	for i, node := range []string{"n1", "n2", "n2", "", "gone", "n1"} {
		pod := podOf("StatefulSet", "db", i, node)
		switch i {
		case 2:
			pod.Status.Phase = v1.PodFailed
		case 5:
			pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name = "Node", "n1"
		}
		state.Pods = append(state.Pods, pod)
	}
	level := lost(t, state, blast.Options{Levels: []string{zone}}).Levels[0]
	want := blast.Radius{Share: 0.5, Namespace: "default", Workload: "statefulset/db", Domains: []string{"a"}, Lost: 1, Replicas: 2}
	if diff := cmp.Diff(want, level.Radius); diff != "" {
		t.Errorf("radius (-want +got):\n%s", diff)
	}
	if got := []int{level.Failures[0].Pods, level.Failures[1].Pods}; !slices.Equal(got, []int{2, 1}) {
		t.Errorf("pods = %v, want 2 and 1", got)
	}
}

func TestRadiusOfEqualShares(t *testing.T) {
	for _, test := range []struct {
		name  string
		place map[string]string
		want  blast.Radius
	}{
		{"more lost pods", map[string]string{"a": "n1", "b": "n2 n2"}, blast.Radius{Share: 1, Namespace: "default", Workload: "statefulset/b", Domains: []string{"y"}, Lost: 2, Replicas: 2}},
		{"then the first workload", map[string]string{"a": "n2", "b": "n1"}, blast.Radius{Share: 1, Namespace: "default", Workload: "statefulset/a", Domains: []string{"y"}, Lost: 1, Replicas: 1}},
		{"then the first domain", map[string]string{"a": "n1 n2"}, blast.Radius{Share: 0.5, Namespace: "default", Workload: "statefulset/a", Domains: []string{"x"}, Lost: 1, Replicas: 2}},
		{"nothing to lose", nil, blast.Radius{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := &cluster.State{Nodes: nodes("x y")}
			for _, name := range []string{"b", "a"} {
				for i, node := range strings.Fields(test.place[name]) {
					state.Pods = append(state.Pods, podOf("StatefulSet", name, i, node))
				}
			}
			if diff := cmp.Diff(test.want, lost(t, state, blast.Options{Levels: []string{zone}}).Levels[0].Radius); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSharedFate(t *testing.T) {
	// db-0 and db-1 share a zone but no node; db-2 and db-3 share both; db-4 is alone.
	state := settled(t, nodes("a a b c"), map[string]string{"db": "n1 n2 n3 n3 n4"}, app("StatefulSet", "db", 5, ""))
	for _, test := range []struct {
		level        string
		simultaneous int
		want         map[string][]string
	}{
		{zone, 1, map[string][]string{"a": {"db-0", "db-1"}, "b": {"db-2", "db-3"}, "c": nil}},
		{hostname, 1, map[string][]string{"n1": nil, "n2": nil, "n3": {"db-2", "db-3"}, "n4": nil}},
		{zone, 2, map[string][]string{"a b": {"db-0", "db-1", "db-2", "db-3"}, "a c": {"db-0", "db-1"}, "b c": {"db-2", "db-3"}}},
	} {
		got := map[string][]string{}
		for _, failure := range lost(t, state, blast.Options{Levels: []string{test.level}, Simultaneous: test.simultaneous}).Levels[0].Failures {
			got[strings.Join(failure.Domains, " ")] = failure.Workloads[0].SharedFate
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d of %s (-want +got):\n%s", test.simultaneous, test.level, diff)
		}
	}
}

func TestLevels(t *testing.T) {
	state := &cluster.State{Nodes: nodes("a b")}
	state.Nodes[1].Labels["rack"] = "r"
	for _, test := range []struct {
		name string
		opts blast.Options
		want string // the levels, or the error
	}{
		{"those of the labels", blast.Options{Simultaneous: 1}, "zone 2 of 2, hostname 2 of 2"},
		{"and further ones", blast.Options{Simultaneous: 1, LevelKeys: []string{"rack", "row"}}, "zone 2 of 2, rack 1 of 1, hostname 2 of 2"},
		{"named", blast.Options{Simultaneous: 1, Levels: []string{"rack"}}, "rack 1 of 1"},
		{"too small", blast.Options{Simultaneous: 2, LevelKeys: []string{"rack"}},
			"zone 1 of 2, rack 0 of 1 (not looked at: 2 domains cannot fail together where there are 1), hostname 1 of 2"},
		{"named and too small, and unknown", blast.Options{Simultaneous: 2, Levels: []string{"rack", "row"}},
			"level rack: 2 domains cannot fail at once, since there are only 1; let fewer fail, or leave the level out\n" +
				"level row: no node has this label; give a label of the nodes, such as topology.kubernetes.io/zone, kubernetes.io/hostname"},
		{"all too small", blast.Options{Simultaneous: 3}, "simultaneous failures: no level has 3 domains; give at most 2"},
		{"none fails", blast.Options{Levels: []string{"rack"}}, "simultaneous failures: must be at least 1, not 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var levels []string
			analysis, err := blast.Lost(state, test.opts)
			if err != nil {
				levels = append(levels, err.Error())
			} else {
				for _, level := range analysis.Levels {
					text := fmt.Sprintf("%s %d of %d", level.TopologyKey[strings.Index(level.TopologyKey, "/")+1:], len(level.Failures), level.Domains)
					if level.Search != "" {
						text += " (" + level.Search + ")"
					}
					levels = append(levels, text)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(levels, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func podOf(kind, name string, i int, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", name, i), Namespace: "default", Labels: map[string]string{"app": name},
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + name), Controller: ptr.To(true)}},
	}}
	return cluster.BindPod(pod, node, cluster.Epoch.Time)
}

// BenchmarkLost analyzes all levels of 5,000 nodes with 50,000 pods in 500 Deployments, each with a budget.
func BenchmarkLost(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	state := &cluster.State{Nodes: nodes(strings.Repeat("z ", 5000))}
	for i, node := range state.Nodes {
		node.Labels[v1.LabelTopologyRegion] = fmt.Sprint("region-", i%3)
		node.Labels[zone] = fmt.Sprint("zone-", i%9)
		node.Labels["rack"] = fmt.Sprint("rack-", i%72)
	}
	for w := range 500 {
		name := fmt.Sprint("web-", w)
		meta := metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("d" + name), Annotations: map[string]string{blast.QuorumAnnotation: "majority"}}
		state.Deployments = append(state.Deployments, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](100)}})
		state.ReplicaSets = append(state.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("ReplicaSet" + name),
			OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: name, UID: meta.UID, Controller: ptr.To(true)}},
		}})
		state.PodDisruptionBudgets = append(state.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
			Status:     policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 100, DesiredHealthy: 90},
		})
		for i := range 100 {
			state.Pods = append(state.Pods, podOf("ReplicaSet", name, i, state.Nodes[r.IntN(5000)].Name))
		}
	}
	for _, simultaneous := range []int{1, 2, 3} {
		b.Run(fmt.Sprint("simultaneous=", simultaneous), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := blast.Lost(state, blast.Options{Simultaneous: simultaneous, LevelKeys: []string{"rack"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
