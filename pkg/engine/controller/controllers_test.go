package controller

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// world is a cluster whose scheduler is a function.
type world struct {
	t           *testing.T
	state       *cluster.State
	controllers Controllers
	// place returns a node for the pod; "" leaves the pod Pending.
	place func(s *cluster.State, pod *v1.Pod) string
	// round is called after each round.
	round func(s *cluster.State)
}

func newWorld(t *testing.T, nodes int, place func(*cluster.State, *v1.Pod) string) *world {
	t.Helper()
	w := &world{t: t, state: &cluster.State{Now: cluster.Epoch}, place: place}
	for i := range nodes {
		w.admit(&v1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("n%d", i+1),
			Labels: map[string]string{v1.LabelHostname: fmt.Sprintf("n%d", i+1), v1.LabelTopologyZone: fmt.Sprintf("z%d", i%2+1)},
		}})
	}
	return w
}

// onePerNode places at most one pod of each app on a node, the first node that is free.
func onePerNode(s *cluster.State, pod *v1.Pod) string {
	for _, node := range s.Nodes {
		taken := slices.ContainsFunc(s.Pods, func(other *v1.Pod) bool {
			return other.Spec.NodeName == node.Name && other.Labels["app"] == pod.Labels["app"]
		})
		if !taken && !node.Spec.Unschedulable {
			return node.Name
		}
	}
	return ""
}

// placeAnywhere places every pod on the first node that accepts pods.
func placeAnywhere(s *cluster.State, _ *v1.Pod) string {
	for _, node := range s.Nodes {
		if len(node.Spec.Taints) == 0 {
			return node.Name
		}
	}
	return ""
}

func (w *world) admit(objs ...cluster.Object) []string {
	w.t.Helper()
	next, notes, err := admission.Admit(w.state, objs...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.state = next
	return notes
}

// apply admits the manifests and lets the cluster settle.
func (w *world) apply(manifests string) {
	w.t.Helper()
	w.admit(decode(w.t, manifests)...)
	w.settle()
}

// checkMemory checks that controllers without a memory come to the same next state, and to the same time of the next action.
func (w *world) checkMemory(next *cluster.State) {
	w.t.Helper()
	var fresh Controllers
	want, err := fresh.Reconcile(w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	if (next == w.state) != (want == w.state) || !reflect.DeepEqual(want, next) {
		w.t.Fatalf("controllers that remember what they saw come to another state (-new +these)\n%s", cmp.Diff(want, next))
	}
	wantAt, wantWaits := fresh.Next(next)
	if at, waits := w.controllers.Next(next); !at.Equal(&wantAt) || waits != wantWaits {
		w.t.Fatalf("controllers that remember what they saw look again at %v (%v), new ones at %v (%v)", at, waits, wantAt, wantWaits)
	}
}

// step runs one round and reports whether anything changed.
func (w *world) step() bool {
	w.t.Helper()
	next, err := w.controllers.Reconcile(w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.controllers.Rand == nil {
		w.checkMemory(next)
	}
	var bound []*v1.Pod
	for _, pod := range next.Unscheduled() {
		if node := w.place(next, pod); node != "" {
			bound = append(bound, cluster.BindPod(pod, node, next.Now.Time))
			next = next.With(bound[len(bound)-1])
		}
	}
	next = w.controllers.StartBoundPods(next, bound)
	if next == w.state {
		return false
	}
	later := *next
	later.Now = metav1.NewTime(next.Now.Add(time.Second))
	w.state = &later
	if w.round != nil {
		w.round(w.state)
	}
	return true
}

func (w *world) settle() {
	w.t.Helper()
	for range 1000 {
		if !w.step() {
			return
		}
	}
	w.t.Fatal("the controllers do not come to rest in 1000 rounds")
}

// wait advances the clock to the next action that waits for it, and lets the cluster settle.
func (w *world) wait() {
	w.t.Helper()
	at, ok := w.controllers.Next(w.state)
	if !ok {
		w.t.Fatal("nothing waits for the clock")
	}
	later := *w.state
	later.Now = at
	w.state = &later
	w.settle()
}

// waitOut repeats wait until nothing waits for the clock any more.
func (w *world) waitOut() {
	w.t.Helper()
	for range 20 {
		if _, waits := w.controllers.Next(w.state); !waits {
			return
		}
		w.wait()
	}
	w.t.Error("something still waits for the clock")
}

func (w *world) pods() map[string]string {
	nodes := map[string]string{}
	for _, pod := range w.state.Pods {
		nodes[pod.Name] = pod.Spec.NodeName
	}
	return nodes
}

func (w *world) check(what string, got, want any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func decode(t testing.TB, manifests string) []cluster.Object {
	t.Helper()
	var objs []cluster.Object
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objs
		}
		if err != nil {
			t.Fatal(err)
		}
		obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		objs = append(objs, obj.(cluster.Object))
	}
}

// deployment returns a manifest; more is appended to the spec with an indentation of two spaces.
func deployment(name string, replicas int, image, more string) string {
	return workload("Deployment", name, replicas, image, more)
}

func workload(kind, name string, replicas int, image, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec: {containers: [{name: c, image: %s}]}
%s`, kind, name, replicas, name, name, image, more)
}

func TestFailedPodIsReplaced(t *testing.T) {
	tests := []struct {
		kind, manifest string
		pods           int // afterwards: only a ReplicaSet leaves the failed one for the garbage collector
	}{
		{"ReplicaSet", replicaSet(2), 3},
		{"StatefulSet", statefulSet(2, "a", ""), 2},
		{"DaemonSet", daemonSet("a", "}\n"), 2},
		{"Job", job("Job", "  parallelism: 2\n"), 3},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			w := newWorld(t, 2, spread)
			w.apply(test.manifest)
			failed := w.state.Pods[0].DeepCopy()
			failed.Status = v1.PodStatus{Phase: v1.PodFailed}
			w.state = w.state.With(failed)
			w.settle()
			if _, waits := w.controllers.Next(w.state); waits { // a Job, for its back-off
				w.wait()
			}
			running := slices.DeleteFunc(slices.Clone(w.state.Pods), cluster.IsTerminal)
			w.check("running and all", []int{len(running), len(w.state.Pods)}, []int{2, test.pods})
		})
	}
}

func TestReconcileIsDeterministic(t *testing.T) {
	run := func(rand *rand.Rand) []string {
		w := newWorld(t, 3, placeAnywhere)
		w.controllers.Rand = rand
		w.apply(deployment("web", 6, "a", ""))
		w.apply(deployment("web", 3, "a", ""))
		var left []string
		for _, pod := range w.state.Pods {
			left = append(left, string(pod.UID)+pod.Name)
		}
		return left
	}
	if diff := cmp.Diff(run(nil), run(nil)); diff != "" {
		t.Error(diff)
	}
	seeded := func(seed uint64) []string { return run(rand.New(rand.NewPCG(seed, 1))) }
	if diff := cmp.Diff(seeded(1), seeded(1)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(seeded(1), seeded(2)) {
		t.Error("two seeds left the same pods, UIDs included")
	}
}

func TestReconcileReturnsTheSameStateAtRest(t *testing.T) {
	w := newWorld(t, 3, placeAnywhere)
	w.apply(deployment("web", 3, "a", "") + "---" + workload("StatefulSet", "db", 2, "a", "  serviceName: db\n") + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`)
	fresh := Controllers{} // without memory of what is settled
	next, err := fresh.Reconcile(w.state)
	if err != nil {
		t.Fatal(err)
	}
	if next != w.state {
		t.Errorf("a state at rest was changed:\n%s", cmp.Diff(w.state, next))
	}
}

// BenchmarkReconcile measures 500 Deployments of 100 pods: their creation, and a round in which nothing changes.
func BenchmarkReconcile(b *testing.B) {
	manifests := ""
	for i := range 500 {
		manifests += "---" + deployment(fmt.Sprintf("web-%d", i), 100, "a", "")
	}
	objs := decode(b, manifests[3:])
	create := func() (*cluster.State, *Controllers) {
		s, _, err := admission.Admit(&cluster.State{Now: cluster.Epoch}, objs...)
		if err != nil {
			b.Fatal(err)
		}
		c := &Controllers{}
		for range 4 {
			if s, err = c.Reconcile(s); err != nil {
				b.Fatal(err)
			}
		}
		return s, c
	}
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if s, _ := create(); len(s.Pods) != 50_000 {
				b.Fatal(len(s.Pods))
			}
		}
	})
	b.Run("rest", func(b *testing.B) {
		s, c := create()
		b.ResetTimer()
		for b.Loop() {
			if next, _ := c.Reconcile(s); next != s {
				b.Fatal("not at rest")
			}
		}
	})
}
