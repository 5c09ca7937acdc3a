package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// spread places a pod on the first node without taints that has the fewest pods, DaemonSet pods where they are held.
func spread(s *cluster.State, pod *v1.Pod) string {
	if node := held(s, pod); node != "" {
		return node
	}
	on := map[string]int{}
	for _, other := range s.Pods {
		on[other.Spec.NodeName]++
	}
	best := ""
	for _, node := range s.Nodes {
		if len(node.Spec.Taints) == 0 && (best == "" || on[node.Name] < on[best]) {
			best = node.Name
		}
	}
	return best
}

func failing(t *testing.T) *world {
	w := newWorld(t, 2, spread)
	w.apply(deployment("web", 2, "a", ""))
	w.apply(workload("StatefulSet", "db", 2, "a", "  serviceName: db\n"))
	w.apply(daemonSet("a", "}\n"))
	w.check("start", w.where(), map[string]string{"web": "n1 n2", "db": "n1 n2", "agent": "n1 n2"})
	return w
}

// where tells the nodes of each app's pods, in order of arrival; "!" marks those that end.
func (w *world) where() map[string]string {
	all := map[string]string{}
	for _, pod := range w.state.Pods {
		node := pod.Spec.NodeName
		if pod.DeletionTimestamp != nil {
			node += "!"
		}
		if before, ok := all[pod.Labels["app"]]; ok {
			node = before + " " + node
		}
		all[pod.Labels["app"]] = node
	}
	return all
}

func (w *world) fail(mode FailureMode, nodes ...string) {
	w.t.Helper()
	next, err := Fail(w.state, mode, nodes...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.state = next
	w.settle()
}

func TestNodeDeleted(t *testing.T) {
	w := failing(t)
	lost := w.state.Node("n1")
	w.fail(Deleted, "n1")
	w.check("all but the DaemonSet's come back on the other", w.where(), map[string]string{"web": "n2 n2", "db": "n2 n2", "agent": "n2"})
	w.admit(lost)
	w.settle()
	w.check("nothing moves back", w.where(), map[string]string{"web": "n2 n2", "db": "n2 n2", "agent": "n2 n1"})
}

func TestNodeUnreachable(t *testing.T) {
	w := failing(t)
	started := w.state.Now
	w.fail(Unreachable, "n1")
	w.check("all stay for five minutes", w.where(), map[string]string{"web": "n1 n2", "db": "n1 n2", "agent": "n1 n2"})
	w.check("but are not ready", w.state.ReplicaSets[0].Status.ReadyReplicas, int32(1))
	w.wait()
	if waited := w.state.Now.Sub(started.Time).Seconds(); waited < 300 || waited > 310 {
		t.Errorf("evicted after %v s, want 300", waited)
	}
	w.check("then Deployments replace theirs, StatefulSets wait", w.where(), map[string]string{"web": "n1! n2 n2", "db": "n1! n2", "agent": "n1 n2"})
	w.check("waiting", Rollouts(w.state)[1].Waiting, "pod db-0 is Terminating on node n1, which does not answer")
	if at, ok := Next(w.state); ok {
		t.Errorf("something more waits for the clock at %v", at)
	}

	next, err := Restore(w.state, "n1")
	if err != nil {
		t.Fatal(err)
	}
	w.state = next
	w.settle()
	w.check("restored", w.where(), map[string]string{"web": "n2 n2", "db": "n2 n1", "agent": "n1 n2"})
	w.check("ready again", w.state.DaemonSets[0].Status.NumberReady, int32(2))
	w.check("taints", len(w.state.Node("n1").Spec.Taints), 0)
}

func TestRestoreLeavesPodsWhereTheyAre(t *testing.T) {
	w := failing(t)
	before := w.born()
	w.fail(Unreachable, "n1")
	next, err := Restore(w.state, "n1")
	if err != nil {
		t.Fatal(err)
	}
	w.state = next
	w.settle()
	w.check("pods", w.born(), before)
	for _, r := range Rollouts(w.state) {
		w.check(r.Kind+" is complete", r.Complete, true)
	}
	if at, ok := Next(w.state); ok {
		t.Errorf("something still waits for the clock at %v", at)
	}
	w.admit(decode(t, deployment("more", 2, "a", ""))...)
	w.settle()
	w.check("the node takes new pods", w.where()["more"], "n1 n2")
}

func TestPodLeavesWhenItsTolerationEnds(t *testing.T) {
	w := newWorld(t, 1, anywhere)
	w.apply(pod(", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]"))
	failed := w.state.Now
	w.fail(Unreachable, "n1")
	at, ok := Next(w.state)
	w.check("leaves after", []any{at.Sub(failed.Time).Seconds(), ok}, []any{30.0, true})
	w.wait()
	w.check("pods", w.where(), map[string]string{"": "n1!"})
}

func TestNodeOutOfService(t *testing.T) {
	w := failing(t)
	w.fail(OutOfService, "n1")
	// No pod tolerates the taint by default, so all go at once, and no agent comes back.
	w.check("out of service", w.where(), map[string]string{"web": "n2 n2", "db": "n2 n2", "agent": "n2"})
}

func TestPodThatToleratesForEverStays(t *testing.T) {
	w := newWorld(t, 1, anywhere)
	w.apply(pod(", tolerations: [{operator: Exists}]"))
	w.fail(Unreachable, "n1")
	if at, ok := Next(w.state); ok || len(w.state.Pods) != 1 {
		t.Errorf("evicted at %v", at)
	}
}

func TestCordon(t *testing.T) {
	w := newWorld(t, 2, spread)
	next, err := Cordon(w.state, "n1", "n2")
	if err != nil {
		t.Fatal(err)
	}
	taint := next.Node("n1").Spec.Taints[0]
	w.check("taint", taint.Key+":"+string(taint.Effect), "node.kubernetes.io/unschedulable:NoSchedule")
	if next, err = Uncordon(next, "n1"); err != nil {
		t.Fatal(err)
	}
	w.check("uncordoned", []bool{next.Node("n1").Spec.Unschedulable, next.Node("n2").Spec.Unschedulable}, []bool{false, true})
	w.check("taints", len(next.Node("n1").Spec.Taints), 0)
	if _, err := Cordon(w.state, "n1", "n8", "n9"); err == nil || err.Error() != "no node is named n8, n9: use the names that kubectl get nodes shows" {
		t.Error(err)
	}
	if _, err := Fail(w.state, "melted", "n1"); err == nil {
		t.Error("a failure mode that does not exist is accepted")
	}
}

func TestTemplateNamesItsNode(t *testing.T) {
	pinned := func(kind string) string {
		return strings.Replace(workload(kind, "web", 2, "a", ""), "containers:", "nodeName: n1, containers:", 1)
	}
	const waiting = "no pod is created, because node n1, which the template names, does not exist"
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, 2, spread)
			w.apply(pinned(kind))
			nodes := func() (on []string) {
				for _, p := range w.state.Pods {
					on = append(on, p.Spec.NodeName+" "+string(p.Status.Phase))
				}
				return on
			}
			w.check("no scheduler is asked", nodes(), []string{"n1 Running", "n1 Running"})

			gone := w.state.Node("n1")
			w.state = Delete(w.state, gone)
			w.settle()
			w.check("without the node", nodes(), []string(nil))
			says, _, _ := strings.Cut(Rollouts(w.state)[0].Waiting, ";")
			w.check("the rollout", says, waiting)

			w.admit(gone)
			w.settle()
			w.check("the node is back", nodes(), []string{"n1 Running", "n1 Running"})
		})
	}
	t.Run("of an old ReplicaSet", func(t *testing.T) {
		w := newWorld(t, 2, spread)
		w.apply(pinned("Deployment"))
		w.apply(deployment("web", 2, "b", ""))
		dump := w.state.Objects()
		dump = slices.DeleteFunc(dump, func(obj cluster.Object) bool { return obj.GetName() == "n1" || cluster.KindOf(obj) == "Pod" })
		again := newWorld(t, 0, spread)
		again.admit(dump...)
		again.check("ReplicaSets", len(again.state.ReplicaSets), 2)
	})
}

// Of several tolerations the one that ends first counts, from the first of the taints on; a taint that nothing tolerates counts at once.
func TestShortestTolerationCounts(t *testing.T) {
	added := func(seconds int) *metav1.Time {
		at := metav1.NewTime(cluster.Epoch.Add(time.Duration(seconds) * time.Second))
		return &at
	}
	taints := []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoExecute, TimeAdded: added(5)}, {Key: "b", Effect: v1.TaintEffectNoExecute, TimeAdded: added(0)}}
	tolerates := func(key string, seconds int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}
	}
	for name, test := range map[string]struct {
		tolerations []v1.Toleration
		want        float64 // seconds; -1: never
	}{
		"the shorter first": {[]v1.Toleration{tolerates("a", 30), tolerates("b", 60)}, 30},
		"the shorter last":  {[]v1.Toleration{tolerates("a", 60), tolerates("b", 30)}, 30},
		"one of them":       {[]v1.Toleration{tolerates("a", 60)}, 0},
		"one for ever":      {[]v1.Toleration{tolerates("a", 60), {Key: "b", Operator: v1.TolerationOpExists}}, 60},
		"for ever":          {[]v1.Toleration{{Operator: v1.TolerationOpExists}}, -1},
		"not even a second": {[]v1.Toleration{tolerates("a", -5), tolerates("b", 60)}, 0},
	} {
		at, leaves := evictionTime(&v1.Pod{Spec: v1.PodSpec{Tolerations: test.tolerations}}, taints)
		if got := at.Sub(cluster.Epoch.Time).Seconds(); leaves != (test.want >= 0) || leaves && got != test.want {
			t.Errorf("%s: leaves %v after %v s, want %v", name, leaves, got, test.want)
		}
	}
}
